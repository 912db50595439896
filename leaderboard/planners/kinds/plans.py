"""Plans from a file, or from an imported run of another harness. They are judged or executed like those of any planner,
and the board marks these rows.
"""

from collections.abc import Sequence
from dataclasses import replace

from django import forms

from evaluator.core.plans_file import PlansFileError
from evaluator.core.suites.hidden import HIDDEN
from gpu_jobs.contract import PlansPlanner
from leaderboard.catalog.library import split_of
from leaderboard.catalog.models import Suite
from leaderboard.people.models import User
from leaderboard.planners import plans_files
from leaderboard.planners.data import DECLARED, Errors, PlannerData, without_prices
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.platform.fields import Json, Text
from leaderboard.platform.problems import FieldErrors

PLANS = Json(
    "plans",
    label="Plans",
    noun="plans",
    help="An object with a plan for each task key, in any accepted form; or with "
    '`{"plan": ..., "alternatives": [...]}`.',
    example=None,
    is_kept=False,
)
"""The plans themselves, in the API only."""
PLANS_DIGEST = Text(
    "plans_digest",
    label="",
    noun="plans file",
    example="",
    in_api=False,
    widget=forms.HiddenInput,
    template="submissions/kinds/plans.html",
)
"""Digest of the stored plans. The page has it as a hidden field, since browsers do not send a file again with a
corrected form."""


def refusal_of_plans_files(suites: Sequence[str]) -> str:
    """Why these suites take imported runs only, as a sentence; empty: they take plans files too."""
    suite = Suite.objects.filter(slug__in=suites, current=True, conditions__experts=True).order_by("slug").first()
    if suite is None:
        return ""
    return (
        f"{suite.title} executes plans, and its board ranks runs; a plans file is judged only. Choose a suite that "
        "judges plans, import a run (`planarena import`), or submit an endpoint."
    )


class PlansKind(Kind):
    """Always reachable, and always gives the same plans."""

    kind = PlannerKind.PLANS
    noun = "A plans file"
    choice = "A file with plans"
    card = "For plans that you already have: JSON with one plan per task, judged or executed without calling a planner."
    guide = "a-plans-file"
    fields = (PLANS, PLANS_DIGEST, *DECLARED)
    can_be_asked_again = False
    has_canary = False
    repeatable = True
    note = "from an uploaded file; no planner was called"

    def received(self, *, data: PlannerData, owner: User) -> PlannerData:
        """Store the plans and replace them by their digest.

        Raises:
            FieldErrors: there are no plans, or they cannot be read.
        """
        if data[PLANS] is None:
            raise FieldErrors({PLANS.name: ["Give an object with a plan for each task."]})
        try:
            content = plans_files.content_of(data[PLANS])
        except PlansFileError as error:
            raise FieldErrors({PLANS.name: list(error.problems)}) from error
        plans_files.check_keys(content.plans, field=PLANS.name)
        kept = plans_files.keep(owner=owner, content=content)
        return replace(data, values={**data.values, PLANS.name: None, PLANS_DIGEST.name: kept.digest})

    def check(self, data: PlannerData) -> Errors:
        return {} if data[PLANS_DIGEST] else {"plans_file": ["Choose the file with your plans."]}

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        without_prices(fields)

    def refusal(self, suite: Suite) -> str:
        if suite.in_turns:
            return f"{suite.title} asks planners in turns, which a file of plans cannot answer: submit an endpoint."
        if split_of(suite) == HIDDEN:
            return f"{suite.title} has hidden requests on this site, so plans for them cannot be uploaded."
        return ""

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        found = Suite.objects.filter(slug__in=suites, current=True)
        if refused := [text for suite in found if (text := self.refusal(suite))]:
            return {"suites": refused[:1]}
        # Without a file nothing says that it is an imported run.
        if not data[PLANS_DIGEST] and (text := refusal_of_plans_files(suites)):
            return {"suites": [text]}
        if len(suites) > 1:
            return {"suites": ["A plans file contains plans of one suite: choose one suite."]}
        return {}

    def check_owned(
        self,
        *,
        data: PlannerData,
        suites: Sequence[str],
        owner: User,
        planner: Planner | None,  # noqa: ARG002 - as the base class
    ) -> Errors:
        file = plans_files.find(owner=owner, digest=data[PLANS_DIGEST])
        if file is None:
            return {"plans_file": ["This plans file was not found or was deleted: choose it again."]}
        if not file.source and (refused := refusal_of_plans_files(suites)):
            return {"suites": [refused]}
        for suite in suites:
            if file.source.get("suite") not in {None, suite}:
                return {
                    "plans_file": [f"The run was imported for {file.source['suite']}, not {suite}: import it again."]
                }
            if strange := plans_files.strange_tasks(file=file, suite=suite):
                named = ", ".join(repr(key) for key in strange)
                return {"plans_file": [f"The file has plans for what is no task of {suite}: {named}."]}
        return {}

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:
        file = plans_files.find(owner=owner, digest=data[PLANS_DIGEST])
        return Facts(is_imported=True) if file is not None and file.source else Facts()

    def left_out(self, *, planner: Planner, tasks: Sequence[str]) -> frozenset[str]:
        if not planner.is_imported:
            return frozenset()
        return frozenset(tasks) - plans_files.tasks_with_plan(planner=planner)

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> PlansPlanner:
        return PlansPlanner(plans=plans_files.plans_for(planner=planner, tasks=tasks))
