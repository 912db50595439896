"""The columns of ARC's boards, and what tasks are filtered by."""

from functools import partial

from evaluator.arc.labels import MISLED, NOWHERE, PARTLY, SOLVED, SOLVED_BY_FEEDBACK
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import Facet, Facets

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
        description="Share of tasks that only candidates solve which came after feedback on an earlier one. What a "
        "planner tries by itself is not known.",
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
"""The last four are labels of results (`evaluator.arc.labels`)."""
