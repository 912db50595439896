"""The suite `toolmini-abstain`: 120 requests that no plan can meet among 120 that plans can meet."""

import random
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from evaluator.controlllm.toolbench.abstain.requests import Need, Request, abstain_requests, hidden_abstain_requests
from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.outage import with_outage
from evaluator.controlllm.toolbench.suite import COLUMNS as TOOL_COLUMNS
from evaluator.controlllm.toolbench.suite import STEP_PROBLEMS, reworded, right_plans
from evaluator.controlllm.toolbench.tasks import ToolTask, tool_task
from evaluator.controlllm.toolbench.terms import type_of_file
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import ABSTENTION, Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.core.suites.hidden import HIDDEN, derived
from evaluator.core.tools.catalogues import CONTROLLLM

SLUG = "toolmini-abstain"
VERSION = "1"
SOLVABLE = "SE"
"""The metric of the requests that plans can meet; that of the others is `ABSTENTION`."""

COLUMNS = (
    Column(
        key="accuracy",
        label="Accuracy",
        description="Share of requests that are answered rightly: solved (SE) where plans can meet them, abstained "
        "from where no plan can.",
        primary=True,
        indicator=True,
        interval=IntervalMethod.WILSON,
        title="Answered rightly",
        good="right",
        bad="wrong",
        undecided="accuracy_undecided",
    ),
    Column(
        key="accuracy_undecided",
        label="Undecided",
        description="Share of requests for which it is not known whether they are answered rightly; they count 0 in "
        "accuracy.",
        indicator=True,
        ordered=False,
        interval=IntervalMethod.WILSON,
    ),
    Column(
        key="false_refusals",
        label="False refusals",
        description="Share of the requests that plans can meet from which the planner abstained (compare When2Call, "
        "arXiv:2504.18851). An unreadable plan does not abstain.",
        metric=SOLVABLE,
        indicator=True,
        higher_is_better=False,
        interval=IntervalMethod.WILSON,
        title="Abstained from a request that plans can meet",
    ),
    Column(
        key="misses",
        label="Misses",
        description="Share of the requests that no plan can meet from which the planner did not abstain (1 minus the "
        "accuracy on irrelevant tools of BFCL, Patil et al. 2025).",
        metric=ABSTENTION,
        indicator=True,
        higher_is_better=False,
        fault=1.0,
        interval=IntervalMethod.WILSON,
        title="Did not abstain from a request that no plan can meet",
    ),
    *(
        replace(
            column,
            metric=SOLVABLE,
            primary=False,
            good="",
            bad="",
            description=f"{column.description} Only of requests that plans can meet.",
        )
        for column in TOOL_COLUMNS
    ),
)
_NEEDS = {str(need): need.replace("_", " ") for need in Need}
FACETS = Facets(
    filters=(
        Facet(
            name="need",
            label="Lacks",
            attribute="need",
            heading="What is lacking",
            words={**_NEEDS, Need.SOLVABLE: "nothing", Need.CONTRADICTION: "consistency"},
            order=tuple(Need),
            tells_gold=True,
            stands_alone=True,
        ),
        STRUCTURE,
        MODALITY,
    ),
    facts=("need", "structure", "modality"),
    breakdowns=("need", "structure", "modality"),
    plots=("need",),
    comparisons=("need",),
)
SCORING = (
    "On this suite nothing is executed. Half of the requests can be met by a plan, which is judged as on the other "
    "suites of this kind. No plan can meet the other half: a file is not there, there is no tool for it, or one part "
    "of the request excludes another. There the right answer is to abstain, with a null plan or one without steps. "
    "Accuracy is the share of requests that are answered rightly."
)
_WHY = {
    Need.MISSING_FILE: "no plan can meet this: a file that the request speaks of is not given",
    Need.NO_TOOL: "no plan can meet this: the catalogue has no tool for it",
    Need.CONTRADICTION: "no plan can meet this: one part of the request excludes another",
}


@dataclass(frozen=True, kw_only=True)
class AbstainTask(ToolTask):
    """A request that plans can meet or cannot. Where they cannot, its goal has no parts and its gold plan no steps."""

    need: Need

    @property
    def attributes(self) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {**super().attributes, "need": str(self.need)}
        return found if self.need is Need.SOLVABLE else {**found, "parts": [_WHY[self.need]]}


def toolmini_abstain_suite() -> Suite:
    """Requests of both kinds; always there."""
    return Suite(
        slug=SLUG,
        version=VERSION,
        title=SLUG,
        description="120 requests that no plan can meet among 120 that plans can meet.",
        metrics=COLUMNS,
        catalogue=CONTROLLLM,
        tasks=tuple(map(abstain_task, abstain_requests())),
        conditions=Conditions(experts=False, samples=False, splits=("all", HIDDEN)),
        panels=(Panel.GOAL, Panel.INDICATORS),
        scoring=SCORING,
        facets=FACETS,
        step_problems=STEP_PROBLEMS,
        may_abstain=True,
        with_outage=with_outage,
        reworded=_reworded,
        hidden_requests=_hidden,
        right_plans=partial(right_plans, executed=False),
    )


def _reworded(task: Task, rng: random.Random) -> str | None:
    # toolmini has no sentence patterns for requests that no tool can meet, nor for contradictions.
    is_worded = isinstance(task, AbstainTask) and task.need in (Need.SOLVABLE, Need.MISSING_FILE)
    return reworded(task, rng) if is_worded else None


def _hidden(_: Suite, seed: str) -> tuple[Task, ...]:
    return tuple(map(abstain_task, hidden_abstain_requests(seed=derived("requests", SLUG, seed=seed))))


def abstain_task(request: Request) -> AbstainTask:
    """Derive everything about one request."""
    files = {name: frozenset({type_of_file(name)}) for name in request.files}
    if request.solvable is None:
        made: dict[str, Any] = {
            "structure": "linear", "metric": ABSTENTION, "expects": None, "gold": Plan(steps=(), answers=()),
            "group": str(request.need), "level": "", "flags": (), "active": True, "goal": Goal(parts=()),
            "uncovered": "", "decomposition": None,
        }  # fmt: skip
    else:
        task = tool_task(request.solvable)
        made = {field.name: getattr(task, field.name) for field in fields(task)}
        files |= dict(task.files)
    resources = MappingProxyType({name: min(kinds) for name, kinds in files.items()})
    return AbstainTask(
        **{
            **made,
            "key": request.key,
            "text": request.text,
            "files": MappingProxyType(files),
            "resources": resources,
            "need": request.need,
        }
    )
