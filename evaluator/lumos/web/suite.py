"""The suite `mind2web`: prediction of the steps of recorded walks through web sites."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from evaluator.core.suites.base import Column, Conditions, Panel, Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.tools.types import ResourceType
from evaluator.episodes.base import Setting
from evaluator.lumos.mounted import digest_of
from evaluator.lumos.tasks import EPISODES, GoldTurn, TurnTask, mean, plan_of_turns, share
from evaluator.lumos.web.environment import TOOLS, WalkEnvironment
from evaluator.lumos.web.steps import POOL, STEPS, StepFileError, Walk, read_walks

VERSION = "1"
COLUMNS = (
    Column(
        key="step_success", label="Step success", primary=True, indicator=True,
        description="Share of a task's steps with the right element, operation and text; the mean over tasks (macro).",
    ),
    mean(
        key="element_accuracy", label="Element accuracy",
        description="Share of a task's steps with the right element; the mean over tasks.",
    ),
    share(key="solved", label="Task success", description="Share of tasks of which every step is right."),
    *EPISODES,
)  # fmt: skip
_DOMAIN = Facet(name="domain", label="Domain", attribute="domain", heading="Domain")
_SITE = Facet(name="website", label="Website", attribute="website", heading="Website", is_searched=True)
_SCORING = (
    f"Teacher-forced: whatever a planner does, the recorded action is taken. The first action of each step counts, on "
    f"the best {POOL} elements by rank; a step whose recorded element is not among them, or that has none, counts as "
    f"failed. LUMOS reads the first {POOL} elements with the right one in front, so its figures are not comparable."
)


def mind2web_suite() -> Suite:
    """The tasks of the operator's file.

    Raises:
        LookupError: it is missing or has another form.
    """
    tasks = tuple(map(_task, _walks().values()))
    return Suite(
        slug=STEPS.suite, version=VERSION, title="Mind2Web",
        description="Tasks on recorded web sites: which element is used next, and how.", metrics=COLUMNS,
        catalogue=TOOLS, tasks=tasks, conditions=Conditions(experts=False, samples=False, splits=("test",)),
        panels=(Panel.TRANSCRIPT,), scoring=_SCORING,
        facets=Facets(
            filters=(_DOMAIN, _SITE), facts=("domain", "website"), breakdowns=("domain",), plots=("domain",),
            comparisons=("domain",),
        ),
    )  # fmt: skip


def environment(_: Setting) -> WalkEnvironment:
    """The environment of the recorded walks.

    Raises:
        LookupError: the file is missing or has another form.
    """
    return WalkEnvironment(walks=_walks(), data=digest_of(_path()))


def _walks() -> Mapping[str, Walk]:
    STEPS.check()
    return _read(_path(), digest_of(_path()))


def _path() -> Path:
    return STEPS.path(STEPS.files[0])


@lru_cache(maxsize=2)
def _read(path: Path, digest: str) -> Mapping[str, Walk]:
    del digest
    try:
        return {walk.key: walk for walk in read_walks(path)}
    except StepFileError as error:
        raise LookupError(str(error)) from error


def _task(walk: Walk) -> TurnTask:
    return TurnTask(
        key=walk.key, text=f"{walk.text}\nWebsite: {walk.website}. Begin with R1 = OPEN(start).", structure="linear",
        metric="solved", resources=MappingProxyType({}), expects=ResourceType.TEXT,
        gold=plan_of_turns(_gold(walk), catalogue=TOOLS),
        answer="\n".join(step.recorded for step in walk.steps),
        facts=MappingProxyType({"domain": walk.domain, "website": walk.website}), scope=walk.key,
    )  # fmt: skip


def _gold(walk: Walk) -> tuple[GoldTurn, ...]:
    """The recorded steps, with a page's first element if none is right. Empty if a text cannot be an argument."""
    turns = [GoldTurn("Look at the first page.", "R1 = OPEN(start)")]
    for number, step in enumerate(walk.steps, start=1):
        if _UNFIT.search(step.value):
            return ()
        place = step.right[0] if step.right else 0
        text = "" if step.operation == "CLICK" else f", TEXT: {step.value}"
        turns.append(GoldTurn(f"Step {number}.", f"R{number + 1} = {step.operation}(R{number}, {place}{text})"))
    return tuple(turns)


_UNFIT = re.compile(r"[()\[\]{}\"'`;\n]")
