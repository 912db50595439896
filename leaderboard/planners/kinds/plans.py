"""Plans that were written down beforehand, for suites that judge plans.

Not for suites that execute plans: their boards rank what came of an execution, which is not done for a file. Where
plans are judged, all are judged alike, and the board says of these rows that they came from a file.
"""

from collections.abc import Sequence

from evaluator.suites.hidden import HIDDEN
from gpu_jobs.contract.lease import PlansPlanner
from leaderboard.accounts.models import User
from leaderboard.catalog.conditions import split_of
from leaderboard.catalog.models import Suite
from leaderboard.planners import plans_files
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds.base import Kind
from leaderboard.planners.models import Planner, PlannerKind


class PlansKind(Kind):
    """It can neither be away nor change its mind."""

    kind = PlannerKind.PLANS
    noun = "A plans file"
    choice = "A file with plans"
    fields = {"plans_digest": "plans file"}
    has_canary = False
    repeatable = True
    declares = True
    note = "from an uploaded file; no planner was called"

    def check(self, data: PlannerData) -> Errors:
        return {} if data.plans_digest else {"plans_file": ["Choose the file with your plans."]}

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:  # noqa: ARG002 - as the base class
        found = Suite.objects.filter(slug__in=suites, current=True)
        if executed := [suite.title for suite in found if suite.runs_experts]:
            return {
                "suites": [
                    f"{executed[0]} executes plans, and its board ranks executions; a plans file is judged only. "
                    "Choose a suite that judges plans, or submit an endpoint."
                ]
            }
        if hidden := [suite.title for suite in found if split_of(suite) == HIDDEN]:
            return {"suites": [f"{hidden[0]} has hidden requests on this site, so plans for them cannot be uploaded."]}
        if len(suites) > 1:
            return {"suites": ["A plans file contains plans of one suite: choose one suite."]}
        return {}

    def check_owned(self, *, data: PlannerData, suites: Sequence[str], owner: User) -> Errors:
        file = plans_files.find(owner=owner, digest=data.plans_digest)
        if file is None:
            return {"plans_file": ["This plans file was not found or was deleted: choose it again."]}
        for suite in suites:
            if strange := plans_files.strange_tasks(file=file, suite=suite):
                named = ", ".join(repr(key) for key in strange)
                return {"plans_file": [f"The file has plans for what is no task of {suite}: {named}."]}
        return {}

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> PlansPlanner:
        return PlansPlanner(plans=plans_files.plans_for(planner=planner, tasks=tasks))
