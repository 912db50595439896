"""The columns of ARC's leaderboards, and the facets that filter and group its tasks and results."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from evaluator.arc.scoring import content_text, helpers_in, views_seen
from evaluator.arc.tools import VIEW
from evaluator.arc.views import View
from evaluator.core.records import ResultRecord
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import Facet, Facets

SOLVED, SOLVED_BY_FEEDBACK, MISLED, PARTLY, NOWHERE = "solved", "solved_by_feedback", "misled", "partly", "nowhere"
_AND = "+"
"""Separates the views of an agent of the multi-expert system."""


def labels(record: ResultRecord) -> Mapping[str, Sequence[str]]:
    """The values of the facets `reached`, `failure`, `helper` and `view` of a result; malformed records have none."""
    transcript = record.transcripts[0] if record.transcripts else None
    if transcript is None or not record.indicators:
        return {}
    try:
        answer = json.loads(transcript.answer or "[]")
    except (ValueError, RecursionError):
        answer = []
    candidates: list[Mapping[str, Any]] = [candidate for candidate in _list(answer) if isinstance(candidate, dict)]
    contents = [candidate.get("content") for candidate in candidates]
    programs = [content_text(content) for content in contents if isinstance(content, str | list)]
    outputs = [
        output
        for candidate in candidates
        for part in ("demonstrations", "tests")
        for output in _list(candidate.get(part))
        if isinstance(output, dict)
    ]
    views = {name.partition(",")[0].strip(" '\"") for name in views_seen(transcript, tool=VIEW)}
    for agent in _list(record.planner_notes.get("agents")):
        replies = agent.get("replies") if isinstance(agent, dict) else None
        written = (reply.get("program") for reply in replies or () if isinstance(reply, dict))
        if any(isinstance(program, str) and program and program in programs for program in written):
            # Every agent sees the grid.
            views.update((View.GRID, *str(agent.get("view")).split(_AND)))
    values = {
        "failure": {output["failure"] for output in outputs if isinstance(output.get("failure"), str)},
        "helper": {name for text in programs for name in helpers_in(text)},
        "view": views & set(View),
    }
    reached = {"reached": [_reached(record.indicators)]} if candidates else {}
    return {**reached, **{name: sorted(members) for name, members in values.items() if members}}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _reached(indicators: Mapping[str, float]) -> str:
    if indicators.get("solved_3", 0.0) == 1:
        return SOLVED_BY_FEEDBACK if indicators.get("by_feedback", 0.0) == 1 else SOLVED
    if indicators.get("misled", 0.0) == 1:
        return MISLED
    return PARTLY if indicators.get("demonstrations_passed", 0.0) > 0 else NOWHERE


_share = partial(Column, indicator=True, interval=IntervalMethod.WILSON)
_mean = partial(Column, indicator=True)
_size = partial(Column, indicator=True, ordered=False, fault=None, high=None)

COLUMNS = (
    _share(
        key="solved_3", label="Solved@3", primary=True, title="Solved", good="solved", bad="not solved",
        description="Share of tasks for which one of up to three candidates gives every test output: the rule of the "
        "multi-expert paper.",
    ),
    _share(
        key="solved_2", label="Solved@2",
        description="The same with the first two candidates; ARC Prize allows two for each test input.",
    ),
    _share(key="solved_1", label="Solved@1", description="The same with the first candidate."),
    _mean(
        key="tests_right", label="Test outputs",
        description="Share of a task's test outputs that its best candidate gives.",
    ),
    _mean(
        key="demonstrations_passed", label="Demonstrations",
        description="Share of a task's demonstrations that its best program or steps get right.",
    ),
    _share(
        key="misled", label="Misled", fault=None, higher_is_better=False,
        description="Share of tasks on which a candidate gets all demonstrations right, and none that does solves the "
        "tests.",
    ),
    _share(
        key="by_program", label="By program", ordered=False, fault=None,
        description="Share of tasks whose first candidate is a program.",
    ),
    _share(
        key="by_steps", label="By steps", ordered=False, fault=None,
        description="Share of tasks whose first candidate is calls of helpers.",
    ),
    _share(
        key="by_grids", label="By grids", ordered=False, fault=None,
        description="Share of tasks whose first candidate is the output grids themselves.",
    ),
    _share(
        key="errors", label="Errors", fault=None, higher_is_better=False,
        description="Share of tasks whose first candidate ends in an error on a demonstration or a test.",
    ),
    _share(
        key="by_feedback", label="By feedback", ordered=False, fault=None,
        description="Share of tasks solved only by candidates that came after feedback on an earlier one. What a "
        "planner tries outside the episode is not counted.",
    ),
    _size(
        key="helpers", label="Helpers",
        description="Mean number of different helpers that the first candidate names, if it is a program or steps.",
    ),
    _size(
        key="views", label="Views",
        description="Mean number of different views of the task that the planner asked for.",
    ),
    _size(key="turns", label="Turns", description="Mean number of turns."),
)  # fmt: skip
_REACHED = {
    SOLVED: "solves the tests",
    SOLVED_BY_FEEDBACK: "solves the tests, after feedback",
    MISLED: "right on all demonstrations, wrong on a test",
    PARTLY: "right on some demonstrations",
    NOWHERE: "right on none",
}
_ERRORS = {
    "syntax": "Syntax error", "refused": "Uses what is not allowed", "entry": "Defines no transform_grid",
    "error": "Exception", "steps": "Too many steps", "size": "Value too large", "memory": "Too much memory",
    "time": "Too much time", "result": "Result is no grid", "lost": "Process ended",
}  # fmt: skip
FACETS = Facets(
    filters=(
        Facet(name="tests", label="Tests", attribute="tests", heading="Test inputs"),
        Facet(name="keeps_size", label="Keeps size", attribute="keeps_size", heading="Keeps size"),
        Facet(name="reached", label="Best candidate", words=_REACHED, order=tuple(_REACHED)),
        Facet(name="failure", label="Candidate error", heading="Error of a candidate", words=_ERRORS,
              order=tuple(_ERRORS), stands_alone=True),
        Facet(name="helper", label="Helper", heading="Helper that a candidate uses", verbatim=True),
        Facet(name="view", label="View", heading="View that the planner used", verbatim=True),
    ),
    facts=("tests",), breakdowns=("keeps_size", "failure", "helper", "view"), comparisons=("keeps_size",),
)  # fmt: skip
"""The last four filters take their values from `labels`."""
