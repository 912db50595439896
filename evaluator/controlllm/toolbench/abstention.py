"""The suite `toolmini-abstain`: 240 requests, half of which no plan can meet."""

import random
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from evaluator.controlllm.toolbench.abstain_requests import Need, Request, abstain_requests, drawn_abstain_requests
from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.hidden_abstain import hidden_abstain_requests
from evaluator.controlllm.toolbench.suite import COLUMNS as TOOL_COLUMNS
from evaluator.controlllm.toolbench.suite import STEP_PROBLEMS, reworded, right_plans
from evaluator.controlllm.toolbench.tasks import ToolTask, tool_task, with_outage
from evaluator.controlllm.toolbench.terms import type_of_file
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import ABSTENTION, Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.secrets import derived
from evaluator.core.tools.catalogues import CONTROLLLM

SLUG = "toolmini-abstain"
VERSION = "1"
SOLVABLE = "SE"
"""The metric of solvable requests; that of the others is `ABSTENTION`."""

COLUMNS = (
    Column(
        key="accuracy",
        label="Accuracy",
        description="Share of requests with the right answer: a plan that solves the request (SE), or abstention if "
        "no plan can meet it.",
        primary=True,
        indicator=True,
        interval=IntervalMethod.WILSON,
        title="Right answer",
        good="right",
        bad="wrong",
        undecided="accuracy_undecided",
    ),
    Column(
        key="accuracy_undecided",
        label="Undecided",
        description="Share of requests for which it is not known whether the answer is right; they count 0 in "
        "accuracy.",
        indicator=True,
        ordered=False,
        interval=IntervalMethod.WILSON,
    ),
    Column(
        key="false_refusals",
        label="False refusals",
        description="Share of solvable requests on which the planner abstained (compare When2Call, arXiv:2504.18851). "
        "An unreadable plan does not count as abstention.",
        metric=SOLVABLE,
        indicator=True,
        higher_is_better=False,
        interval=IntervalMethod.WILSON,
        title="Abstained on a solvable request",
    ),
    Column(
        key="misses",
        label="Misses",
        description="Share of the requests that no plan can meet on which the planner did not abstain (1 minus the "
        "accuracy on irrelevant tools of BFCL, Patil et al. 2025).",
        metric=ABSTENTION,
        indicator=True,
        higher_is_better=False,
        fault=1.0,
        interval=IntervalMethod.WILSON,
        title="Did not abstain on a request that no plan can meet",
    ),
    *(
        replace(
            column,
            metric=SOLVABLE,
            primary=False,
            good="",
            bad="",
            description=f"{column.description} Only solvable requests count.",
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
            heading="What is missing",
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
    "Plans of this suite are judged, not executed. Half of the requests are solvable; their plans are judged as on the "
    "other suites of this kind. No plan can meet the other half: a file is missing, the catalogue has no tool for the "
    "request, or one part of it excludes another. The right answer is then to abstain, with a null plan or one "
    "without steps. Accuracy is the share of right answers."
)
_WHY = {
    Need.MISSING_FILE: "no plan can meet this: a file that the request mentions is not given",
    Need.NO_TOOL: "no plan can meet this: the catalogue has no tool for it",
    Need.CONTRADICTION: "no plan can meet this: one part of the request excludes another",
}


@dataclass(frozen=True, kw_only=True)
class AbstainTask(ToolTask):
    """A request of the suite. If no plan can meet it, its goal has no parts and its gold plan no steps."""

    need: Need

    @property
    def attributes(self) -> dict[str, JsonValue]:
        attributes: dict[str, JsonValue] = {**super().attributes, "need": str(self.need)}
        return attributes if self.need is Need.SOLVABLE else {**attributes, "parts": [_WHY[self.need]]}


def toolmini_abstain_suite() -> Suite:
    """The public requests; bundled, so always available."""
    return Suite(
        slug=SLUG,
        version=VERSION,
        title=SLUG,
        description="240 requests, half of which no plan can meet.",
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
        public_draws=lambda count: map(abstain_task, drawn_abstain_requests(count=count)),
        hidden_requests=lambda _, seed: tuple(
            map(abstain_task, hidden_abstain_requests(seed=derived("requests", SLUG, seed=seed)))
        ),
        right_plans=partial(right_plans, executed=False),
    )


def _reworded(task: Task, rng: random.Random) -> str | None:
    # toolmini has no sentence patterns for requests that no tool can meet, nor for contradictions.
    is_worded = isinstance(task, AbstainTask) and task.need in (Need.SOLVABLE, Need.MISSING_FILE)
    return reworded(task, rng) if is_worded else None


def abstain_task(request: Request) -> AbstainTask:
    """The task of a request."""
    files = {name: frozenset({type_of_file(name)}) for name in request.files}
    if request.solvable is None:
        facts: dict[str, Any] = {
            "structure": "linear", "metric": ABSTENTION, "expects": None, "gold": Plan(steps=(), answers=()),
            "group": str(request.need), "level": "", "flags": (), "active": True, "goal": Goal(parts=()),
            "uncovered": "", "decomposition": None,
        }  # fmt: skip
    else:
        task = tool_task(request.solvable)
        facts = {field.name: getattr(task, field.name) for field in fields(task)}
        files |= dict(task.files)
    if request.other_words:
        # The order of the decomposition would tell more than the request.
        files = dict(sorted(files.items()))
    facts |= {
        "key": request.key, "text": request.text, "need": request.need, "files": MappingProxyType(files),
        "other_words": request.other_words,
        "resources": MappingProxyType({name: min(kinds) for name, kinds in files.items()}),
    }  # fmt: skip
    return AbstainTask(**facts)
