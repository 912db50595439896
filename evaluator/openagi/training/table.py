"""The table of variants, as OpenAGI's Table 5: means over seeds and test draws with 95 % intervals. Pure.

A task's results of all seeds and draws are one cluster, which is resampled as a whole: they share the request. The
intervals so tell how the means would change with other tasks, and not with other seeds; those stand beside them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.scoring.metrics.statistics import DIFFERENCES, UNIT, Bounds, Interval, clustered_mean

METRICS = ("CLIP", "BERT", "ViT", "overall")
OVERALL = "overall"
HEADINGS = ("variant", *METRICS, "valid plans", "gold plans", "overall by seed")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a variant scored at one task."""

    metric: str
    score: float
    """In [0, 1]; 0 for an invalid plan."""
    is_valid: bool
    is_gold: bool
    """Whether the plan is the gold plan."""


@dataclass(frozen=True, slots=True)
class SeedResults:
    """All that was measured with one seed."""

    seed: int
    tests: tuple[tuple[str, ...], ...]
    """Tasks of each test draw."""
    results: Mapping[str, Mapping[str, TaskResult]]
    """By variant and task."""


@dataclass(frozen=True, slots=True)
class Row:
    """One variant."""

    variant: str
    metrics: Mapping[str, Interval]
    """A metric that no test draw holds is absent."""
    valid: float
    gold: float
    by_seed: tuple[float, ...]
    """Overall score of each seed, over its test draws."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One variant minus another on the same tasks, seeds and draws."""

    better: str
    worse: str
    metrics: Mapping[str, Interval]
    by_seed: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether the whole interval of the overall difference lies above 0; without an interval nothing is known."""
        ends = self.metrics[OVERALL].ends
        return ends is not None and ends[0] > 0


def make_row(*, variant: str, seeds: Sequence[SeedResults]) -> Row:
    """A row of the table."""
    found = [result for one in seeds for _, result in _occurrences(one, variant)]
    return Row(
        variant=variant,
        metrics=_intervals(
            [(key, result.metric, result.score) for one in seeds for key, result in _occurrences(one, variant)]
        ),
        valid=_mean([float(result.is_valid) for result in found]),
        gold=_mean([float(result.is_gold) for result in found]),
        by_seed=tuple(_mean([result.score for _, result in _occurrences(one, variant)]) for one in seeds),
    )


def make_difference(*, better: str, worse: str, seeds: Sequence[SeedResults]) -> Difference:
    """The paired difference of two variants."""
    pairs = [list(_pairs(one, better, worse)) for one in seeds]
    return Difference(
        better=better,
        worse=worse,
        metrics=_intervals([pair for several in pairs for pair in several], bounds=DIFFERENCES),
        by_seed=tuple(_mean([value for _, _, value in several]) for several in pairs),
    )


def cells(*, rows: Sequence[Row], differences: Sequence[Difference]) -> list[tuple[str, ...]]:
    """The table as text, under `HEADINGS`."""
    found = []
    for row in rows:
        by_seed = ", ".join(f"{value:.3f}" for value in row.by_seed)
        means = (_cell(row.metrics.get(metric)) for metric in METRICS)
        found.append((row.variant, *means, f"{row.valid:.1%}", f"{row.gold:.1%}", by_seed))
    for one in differences:
        by_seed = ", ".join(f"{value:+.3f}" for value in one.by_seed)
        means = (_cell(one.metrics.get(metric), signed=True) for metric in METRICS)
        found.append((f"{one.better} - {one.worse}", *means, "", "", by_seed))
    return found


def markdown(*, table: Sequence[Sequence[str]], seeds: Sequence[int]) -> str:
    """The cells of the table as Markdown."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([*lines, "", caption(seeds)]) + "\n"


def caption(seeds: Sequence[int]) -> str:
    """What the table's figures are."""
    return f"Seeds {', '.join(map(str, seeds))}. Means with 95 % intervals, bootstrapped over tasks."


def to_json(*, rows: Sequence[Row], differences: Sequence[Difference], seeds: Sequence[int]) -> dict[str, JsonValue]:
    """The table as a JSON object."""
    return {
        "seeds": list(seeds),
        "variants": [asdict(row) for row in rows],
        "differences": [{**asdict(one), "holds": one.holds} for one in differences],
    }


def _cell(interval: Interval | None, *, signed: bool = False) -> str:
    if interval is None:
        return "not measured"
    form = "+.4f" if signed else ".4f"
    span = interval.in_words(form=form)
    return f"{interval.mean:{form}} {span if interval.ends is None else f'({span})'}"


def _occurrences(one: SeedResults, variant: str) -> Iterator[tuple[str, TaskResult]]:
    """Every task of every draw; a task that two draws hold counts twice."""
    return ((key, one.results[variant][key]) for test in one.tests for key in test)


def _pairs(one: SeedResults, better: str, worse: str) -> Iterator[tuple[str, str, float]]:
    for (key, first), (_, second) in zip(_occurrences(one, better), _occurrences(one, worse), strict=True):
        yield key, first.metric, first.score - second.score


def _intervals(found: Sequence[tuple[str, str, float]], *, bounds: Bounds = UNIT) -> dict[str, Interval]:
    """By metric, of values with the task and the metric that they belong to."""
    intervals = {}
    for metric in METRICS:
        clusters = defaultdict(list)
        for key, own, value in found:
            if metric in {OVERALL, own}:
                clusters[key].append(value)
        if clusters:
            intervals[metric] = clustered_mean(list(clusters.values()), bounds=bounds)
    return intervals


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
