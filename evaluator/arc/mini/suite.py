"""The suite `arc-mini`: twelve families of ten drawn tasks."""

from dataclasses import replace
from functools import lru_cache

from evaluator.arc.columns import FACETS
from evaluator.arc.environment import ArcEnvironment
from evaluator.arc.mini.draws import EACH, Drawn, Source, draw_tasks
from evaluator.arc.mini.draws import VERSION as DRAWS
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.plan_forms import PROGRAM
from evaluator.arc.suite import arc_suite, environment_of
from evaluator.arc.tasks import ArcTask, arc_task
from evaluator.arc.tools import TOOLS
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.base import Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.episodes.base import Setting
from evaluator.episodes.executed import hidden_seed
from evaluator.miniature.seeds import Split

SLUG = "arc-mini"
SPLITS = ("public", HIDDEN)
"""Splits of evaluations: the registry's suite has the public tasks, and `hidden_requests` the hidden ones. The
generators have two more, `train` and `validation`, for training planners."""
TRAIN = "train"
VERSION = "2"
"""In version 1, hidden tasks had the rules of public ones."""
_FAMILY = Facet(
    name="family", label="Family", attribute="family", heading="Family", order=tuple(FAMILIES), stands_alone=True
)
_FACETS = Facets(
    filters=(_FAMILY, *FACETS.filters), facts=("family", *FACETS.facts), breakdowns=("family", *FACETS.breakdowns),
    plots=("family",), comparisons=("family", *FACETS.comparisons),
)  # fmt: skip


def first_version() -> Suite:
    """Version 1 of the suite, with its public tasks."""
    return mini_suite("1")


def mini_suite(version: str = VERSION) -> Suite:
    """The suite with its public tasks.

    Args:
        version: an earlier one has the hidden tasks of its time.
    """
    suite = arc_suite(
        slug=SLUG, title="ARC mini", tasks=tasks_of(Source(split=Split.PUBLIC)),
        description=f"Twelve families of {EACH} small tasks like ARC's, drawn from a seed: {', '.join(FAMILIES)}.",
    )  # fmt: skip
    return replace(
        suite, version=version, conditions=replace(suite.conditions, splits=SPLITS), facets=_FACETS,
        training_splits=(TRAIN,), hidden_requests=_hidden, public_draws=_public_draws,
    )  # fmt: skip


_DRAWN = 50
"""Tasks of each family that are drawn at most: a task takes some hundredths of a second."""


def _public_draws(count: int) -> tuple[ArcTask, ...]:
    each = min(-(-count // len(FAMILIES)), _DRAWN)
    return tuple(map(task_of, draw_tasks(Source(split=Split.TRAIN), count=each)))


def _hidden(suite: Suite, seed: str) -> tuple[ArcTask, ...]:
    return tasks_of(Source(split=Split.HIDDEN, hidden_seed=seed), composed=suite.version != "1")


def environment(setting: Setting) -> ArcEnvironment:
    """The environment of the setting's split.

    Raises:
        ValueError: there is no such split, or the hidden one lacks its seed.
    """
    source = source_of(setting)
    outputs = {drawn.key: tuple(pair.output for pair in drawn.tests) for drawn in draw_tasks(source)}
    # Version, split and seed determine the outputs; site and workers compare digests without the seed.
    return environment_of(tasks=tasks_of(source), expected=outputs.__getitem__, data=f"drawn/{DRAWS}")


def source_of(setting: Setting) -> Source:
    """The random source of the setting's split.

    Raises:
        ValueError: there is no such split.
    """
    split = setting.split or SPLITS[0]
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    return Source(split=Split(split), hidden_seed=hidden_seed(setting))


@lru_cache(maxsize=8)
def tasks_of(source: Source, *, composed: bool = True) -> tuple[ArcTask, ...]:
    """The tasks of a split; keys are the same on each. See `draw_tasks`.

    Raises:
        ValueError: the hidden split lacks its seed, or another split has a seed.
    """
    return tuple(map(task_of, draw_tasks(source, composed=composed)))


def task_of(drawn: Drawn) -> ArcTask:
    """A drawn task for the suite, without the test outputs, which only the environment holds."""
    return arc_task(
        key=drawn.key, demonstrations=drawn.demonstrations, test_inputs=tuple(pair.input for pair in drawn.tests),
        facts={"family": drawn.family, "kind": drawn.kind}, gold=gold_plan(drawn.rule.program()),
    )  # fmt: skip


def gold_plan(program: str) -> Plan:
    """A plan of one step, which tries a program."""
    tool = TOOLS[PROGRAM]
    outputs = dict.fromkeys(tool.outputs, "R1")
    return Plan(
        steps=(Step(id="s1", tool=PROGRAM, inputs=dict.fromkeys(tool.inputs, program), outputs=outputs),),
        answers=("R1",),
    )  # fmt: skip
