"""Runs as tasks of one's own: the request, its inputs by name and type, and the plan that ran and was accepted.

A task names the suite whose tools its plan calls. `planarena new suite --task FILE` makes a private suite of them,
which compares plans with the accepted ones and executes nothing, so that no file of a request is needed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, plan_to_json
from evaluator.core.records import Reason
from evaluator.core.suites.base import Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.registry import Entry, suite_of
from evaluator.core.tools.types import Catalogue, ResourceType
from evaluator.episodes.judgement import JudgedPlans, Judgement
from evaluator.episodes.parts import Planned
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.plan_equality import edge_f1, is_same_plan
from evaluator.workbench.events import Ending

FORMAT = "planarena-task/1"
_PARTS = ("format", "suite", "request", "resources", "plan")
_COLUMNS = (
    Column(
        key="same", label="Same plan", description="Share of plans that equal the accepted plan as graphs.",
        primary=True, indicator=True, interval=IntervalMethod.WILSON, good="the accepted plan", bad="another plan",
    ),
    Column(
        key="overlap", label="Overlap", description="Mean F1 of the edges of plan and accepted plan.", indicator=True
    ),
)  # fmt: skip


class OwnTaskError(ValueError):
    """A file is no task, or its task cannot be used; the message is a sentence that names it."""


def task_of_run(*, suite: str, request: str, events: Sequence[Mapping[str, Any]]) -> dict[str, JsonValue] | None:
    """A run as a task, whose plan is taken as right; None unless its plan ran to the end.

    Args:
        suite: slug of the suite whose tools the plan calls.
        request: in words.
        events: of the run.
    """
    by_kind = {event["kind"]: event for event in events}
    plan = by_kind.get("plan", {}).get("plan")
    if plan is None or by_kind.get("ended", {}).get("ending") != Ending.MADE:
        return None
    files = by_kind.get("given", {}).get("files", {})
    resources: dict[str, JsonValue] = {name: file["type"] for name, file in files.items()}
    return {"format": FORMAT, "suite": suite, "request": request, "resources": resources, "plan": plan}


def checked_task(text: str, *, where: str) -> dict[str, JsonValue]:
    """A task in the form that `task_of_run` gives, with its plan in canonical form.

    Args:
        text: JSON.
        where: names it in errors.

    Raises:
        OwnTaskError: it is none, names a suite that this release does not have, or its plan cannot run.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise OwnTaskError(f"{where} is no JSON: {error}.") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT or set(value) != set(_PARTS):
        raise OwnTaskError(
            f"{where} is no task of the workbench: it must be an object with {', '.join(_PARTS)}, and the format "
            f"{FORMAT!r}."
        )
    request = value["request"]
    if not isinstance(request, str) or not request.strip():
        raise OwnTaskError(f"{where}: request must be a text.")
    catalogue = _tools(value["suite"], where=where)
    resources = _resources(value["resources"], where=where)
    plan = _plan(value["plan"], catalogue=catalogue, resources=resources, where=where)
    kinds: dict[str, JsonValue] = {name: str(kind) for name, kind in resources.items()}
    return {
        "format": FORMAT, "suite": value["suite"], "request": request.strip(), "resources": kinds,
        "plan": plan_to_json(plan),
    }  # fmt: skip


def suite_entry(slug: str, *, file: Path) -> Entry:
    """The entry of a suite whose tasks are the lines of a file.

    Raises:
        OwnTaskError: when the suite is built, if a line is no task, or its tasks call tools of several suites.
    """
    return Entry(slug=slug, build=lambda: suite_of_tasks(slug, text=file.read_text("utf-8")), episode=_EPISODE)


def suite_of_tasks(slug: str, *, text: str) -> Suite:
    """The suite of tasks in lines of JSON; see `suite_entry`."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [checked_task(line, where=f"task {number} of {slug}") for number, line in enumerate(lines, start=1)]
    suites = {str(one["suite"]) for one in found}
    if len(suites) != 1:
        of_several = f"its tasks call tools of {', '.join(sorted(suites))}: make a suite for each"
        raise OwnTaskError(f"{slug}: {of_several if suites else 'it has no task'}.")
    catalogue = _tools(suites.pop(), where=slug)
    return Suite(
        slug=slug, version="1", title=slug.replace("-", " ").capitalize(),
        description=f"{len(found)} requests of the workbench with accepted plans.", metrics=_COLUMNS,
        catalogue=catalogue,
        tasks=tuple(_task(str(number), one, catalogue=catalogue) for number, one in enumerate(found, start=1)),
        conditions=Conditions(experts=False, samples=False, splits=("all",)), panels=(Panel.INDICATORS,),
    )  # fmt: skip


class _AcceptedPlan:
    """Compares a plan with the accepted plan of its task. Names and order of steps do not matter."""

    def digest(self) -> str:
        """Names the rules: equality and overlap of graphs, which boards of other suites use, too."""
        return "accepted-plan/1"

    def not_judged(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:  # noqa: ARG002 - the interface
        """Every task has an accepted plan."""
        return {}

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:  # noqa: ARG002 - the interface
        plan, accepted = planned.plan.plan, planned.task.gold
        assert accepted is not None, "every task has one"
        if planned.record.problems:
            why = f"the plan is invalid: {planned.record.problems[0].message}"
            return Judgement(score=0.0, indicators={"same": 0.0, "overlap": 0.0}, explanations={"same": why})
        same = float(is_same_plan(plan=plan, other=accepted))
        return Judgement(
            score=same,
            indicators={"same": same, "overlap": edge_f1(plan=plan, other=accepted)},
            explanations={"same": f"the plan is {'the' if same else 'not the'} accepted plan"},
        )


_EPISODE = JudgedPlans(judge=_AcceptedPlan())


def _tools(slug: object, *, where: str) -> Catalogue:
    try:
        return suite_of(str(slug)).catalogue
    except LookupError as error:
        raise OwnTaskError(f"{where}: there is no suite {str(slug)[:60]!r} here, whose tools it calls.") from error


def _resources(value: object, *, where: str) -> dict[str, ResourceType]:
    kinds = {str(kind): kind for kind in ResourceType}
    if not isinstance(value, dict) or not all(str(kind) in kinds for kind in value.values()):
        raise OwnTaskError(f"{where}: resources must give each input one of the types {', '.join(kinds)}.")
    return {str(name): kinds[str(kind)] for name, kind in value.items()}


def _plan(value: object, *, catalogue: Catalogue, resources: Mapping[str, ResourceType], where: str) -> Plan:
    context = PlanContext(catalogue=catalogue, resources=resources, expects=None, known=catalogue)
    try:
        plan = read_plan(value=value, context=context).plan
    except PlanSyntaxError as error:
        raise OwnTaskError(f"{where}: its plan cannot be read: {error}.") from error
    if problems := check_plan(plan=plan, context=context):
        raise OwnTaskError(f"{where}: its plan cannot run: {problems[0].message}.")
    return plan


def _task(key: str, own: Mapping[str, JsonValue], *, catalogue: Catalogue) -> Task:
    resources = _resources(own["resources"], where=key)
    plan = _plan(own["plan"], catalogue=catalogue, resources=resources, where=key)
    types = {ref: catalogue[step.tool].outputs[name] for step in plan.steps for name, ref in step.outputs.items()}
    answers = [types[answer] for answer in plan.answers if answer in types]
    return Task(
        key=key, text=str(own["request"]), structure="linear" if _is_chain(plan) else "nonlinear", metric="same",
        resources=resources, expects=answers[0] if len(answers) == 1 else None, gold=plan,
    )  # fmt: skip


def _is_chain(plan: Plan) -> bool:
    """Whether each step takes results of the step before it only."""
    before: set[str] = set()
    made: set[str] = set()
    for step in plan.steps:
        if any(value in made and value not in before for value in step.inputs.values()):
            return False
        if before and not before & set(step.inputs.values()):
            return False
        before = set(step.outputs.values())
        made |= before
    return True
