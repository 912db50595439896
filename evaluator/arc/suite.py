"""ARC's suites of released tasks."""

from collections.abc import Callable
from functools import cache

from evaluator.arc.candidates.forms import CANDIDATES
from evaluator.arc.columns import COLUMNS, FACETS
from evaluator.arc.environment import ArcEnvironment
from evaluator.arc.expected import expected_digest, expected_of
from evaluator.arc.grids import Grid
from evaluator.arc.labels import labels
from evaluator.arc.splits import CONTAMINATION, Split
from evaluator.arc.tasks import ArcTask, tasks_of
from evaluator.arc.tools import TOOLS
from evaluator.arc.views.named import named_view
from evaluator.core.suites.base import Conditions, Panel, Suite

VERSION = "1"
_SCORING = (
    "A planner gives up to three candidates, best first: programs, steps, or the output grids themselves. A task is "
    "solved if one candidate gives every test output. Up to three candidates can be tried on the demonstrations before."
)
_TITLES = {
    Split.PAPER: ("arc-111", "ARC, the paper's 111"),
    Split.TRAINING: ("arc-training", "ARC training"),
    Split.EVALUATION: ("arc-evaluation", "ARC evaluation"),
}
_WORDS = {
    Split.PAPER: "The 111 public training tasks that the multi-expert system was measured on.",
    Split.TRAINING: "The 400 public training tasks of ARC-AGI-1.",
    Split.EVALUATION: "The 400 public evaluation tasks of ARC-AGI-1, which are harder than those for training.",
}


def slug_of(split: Split) -> str:
    """The suite's name."""
    return _TITLES[split][0]


@cache
def released_suite(split: Split) -> Suite:
    """A suite of released tasks.

    Raises:
        LookupError: the files were not fetched.
    """
    slug, title = _TITLES[split]
    return arc_suite(slug=slug, title=title, description=f"{_WORDS[split]} {CONTAMINATION}", tasks=tasks_of(split))


def arc_suite(*, slug: str, title: str, description: str, tasks: tuple[ArcTask, ...], split: str = "public") -> Suite:
    """A suite of this family."""
    return Suite(
        slug=slug, version=VERSION, title=title, description=description, metrics=COLUMNS, catalogue=TOOLS, tasks=tasks,
        conditions=Conditions(experts=False, samples=False, splits=(split,)), panels=(Panel.GRIDS, Panel.TRANSCRIPT),
        scoring=_SCORING, facets=FACETS, candidates=CANDIDATES, views=named_view, labels=labels,
    )  # fmt: skip


def released_environment(split: Split) -> ArcEnvironment:
    """The tools on a split's tasks.

    Raises:
        LookupError: the files were not fetched.
    """
    return environment_of(tasks=tasks_of(split), expected=expected_of, data=expected_digest(split))


def environment_of(
    *, tasks: tuple[ArcTask, ...], expected: Callable[[str], tuple[Grid, ...]], data: str
) -> ArcEnvironment:
    """The tools on these tasks; see `ArcEnvironment`."""
    return ArcEnvironment(tasks={task.key: task for task in tasks}, expected=expected, data=data)
