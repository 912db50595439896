"""PromQL as its parser reads it, and the metrics that a site gives."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import promql_parser
from promql_parser import AggregateExpr, BinaryExpr, Matcher, MatchOp, VectorSelector

from leaderboard.monitoring.connections import PoolWatch
from leaderboard.monitoring.figures import DatabaseFigures
from leaderboard.monitoring.models import Moment, ToolUsage
from leaderboard.monitoring.registry import REGISTRY
from leaderboard.monitoring.requests import LATENCY
from leaderboard.site.clock import database_now

Given = dict[str, dict[str, set[str]]]
"""Values of labels, by label, by name of a series."""
SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds."""


@dataclass(frozen=True)
class Query:
    """What a query names."""

    selectors: tuple[VectorSelector, ...]
    grouped: frozenset[str]
    """Labels of `by`, `on` and the like."""

    @property
    def names(self) -> set[str]:
        return {selector.name for selector in self.selectors}


def parsed(text: str) -> Query:
    """Raises ValueError for what Prometheus would refuse."""
    selectors: list[VectorSelector] = []
    grouped: set[str] = set()

    def visit(node) -> None:
        if isinstance(node, VectorSelector):
            selectors.append(node)
        if isinstance(node, AggregateExpr) and node.modifier:
            grouped.update(node.modifier.labels)
        if isinstance(node, BinaryExpr) and node.modifier and node.modifier.matching:
            grouped.update(node.modifier.matching.labels)

    promql_parser.walk(promql_parser.parse(text), visit)
    return Query(tuple(selectors), frozenset(grouped))


def given_series() -> Given:
    """Every series that a site with something of everything gives."""
    ToolUsage.objects.create(tool="Deblur", steps=2, cached=1, seconds=1.5)
    Moment.objects.create(name="task:sweep", at=database_now())
    for view in ("api:lease", "api:finish"):
        LATENCY.labels(view=view, method="POST").observe(0.01)
    PoolWatch().note({"pool_size": 2, "pool_available": 1, "pool_max": 10})
    given: Given = {"up": {}}
    for family in [*DatabaseFigures().collect(), *REGISTRY.collect()]:
        for sample in family.samples:
            labels = given.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return given


def faults(text: str, given: Given) -> Iterator[str]:
    """Names, labels and values of a query that no series has."""
    query = parsed(text)
    for selector in query.selectors:
        if selector.name not in given:
            yield f"{selector.name} does not exist"
            continue
        labels = given[selector.name]
        for matcher in selector.matchers.matchers:
            if matcher.name in SCRAPED:
                continue
            if matcher.name not in labels:
                yield f"{selector.name} has no label {matcher.name}"
                continue
            for value in _alternatives(matcher):
                if not any(re.fullmatch(value, one) for one in labels[matcher.name]):
                    yield f"{selector.name} has no {matcher.name}={value}"
    known = SCRAPED.union(*(given.get(name, {}) for name in query.names))
    yield from (f"no series has the label {label}" for label in query.grouped - known)


def _alternatives(matcher: Matcher) -> list[str]:
    if matcher.op not in (MatchOp.Re, MatchOp.NotRe):
        return [re.escape(matcher.value)]
    # `a:(b|c)` is two, `b|c` too.
    found = re.fullmatch(r"([^(|]*)\((.*)\)", matcher.value)
    start, rest = found.groups() if found else ("", matcher.value)
    return [start + end for end in rest.split("|")]
