"""Pairs whose runs have ended, written past the services."""

from datetime import timedelta

from django.utils import timezone

from leaderboard.people.models import User
from leaderboard.planners.models import Planner
from leaderboard.votes.models import Contestant, Pair, Vote
from leaderboard.workbench.models import Run, RunEvent
from tests.leaderboard.workbench.factories import make_run

NAMES = ("Zebrafish", "Quicksilver")
"""Of the usual contestants, which are in no other text of the site."""


def make_contestant(name: str, *, owner: User) -> Contestant:
    """A submitted planner that people may vote on."""
    planner, _ = Planner.objects.get_or_create(
        owner=owner, name=name,
        defaults={
            "kind": "hub", "model_id": "org/model", "revision": "main", "commit": "a" * 40, "strategy": "arc-single",
        },
    )  # fmt: skip
    return Contestant.objects.get_or_create(planner=planner)[0]


def bundled(name: str) -> Contestant:
    """A contestant that comes with PlanArena."""
    return Contestant.objects.get_or_create(bundled_name=name)[0]


def make_pair(
    owner: User, *, a: Contestant, b: Contestant, suite: str = "toolworld", request: str = "r", seen: bool = True
) -> Pair:
    """A pair whose runs have ended, and whose events name the planners as those of real runs do."""
    runs = [make_run(owner) for _ in range(2)]
    for run, contestant in zip(runs, (a, b), strict=True):
        Run.objects.filter(pk=run.pk).update(
            is_blind=True, suite=suite, planner=contestant.planner, bundled_name=contestant.bundled_name or ""
        )
        name = contestant.bundled_name or contestant.planner.name
        for event in RunEvent.objects.filter(run=run):
            event.body = signed(event.body, name=name)
            event.save()
    shown = timezone.now() - timedelta(minutes=5) if seen else None
    return Pair.objects.create(
        owner=owner, suite=suite, request=request, a=a, b=b, run_a=Run.objects.get(pk=runs[0].pk),
        run_b=Run.objects.get(pk=runs[1].pk), shown_at=shown,
    )  # fmt: skip


def signed(body: dict, *, name: str) -> dict:
    """An event in which a planner's name is wherever one might be."""
    match body["kind"]:
        case "asked":
            return {**body, "planner": name}
        case "plan":
            step = {"id": name, "tool": "image_captioning", "inputs": {"image": f"{name} was here"}, "outputs": {}}
            plan = {**body["plan"], "steps": [*body["plan"]["steps"], step]}
            return {**body, "plan": plan, "notes": {"by": name}, "tolerated": [f"{name}'s fence"]}
        case "ended":
            return {**body, "text": f"{name.upper()} did it.", "received": name, "problems": [f"{name} is wrong"]}
    return body


def make_vote(pair: Pair, *, response: str = "a", plan: str = "", named: bool = True, **facts) -> Vote:
    """A careful vote of an old account."""
    usual = {"address": f"of {pair.owner_id}"[:32], "seconds": 60.0, "characters": 100, "account_hours": 1000.0,
             "was_own": False}  # fmt: skip
    vote = Vote.objects.create(pair=pair, voter=pair.owner, response=response, plan=plan, **{**usual, **facts})
    if named:
        Pair.objects.filter(pk=pair.pk).update(named_at=timezone.now())
        Run.objects.filter(pk__in=[pair.run_a_id, pair.run_b_id]).update(is_blind=False)
    return vote
