"""Runs that have ended, written past the services."""

from django.utils import timezone

from evaluator.core.values import Artefact, MediaType
from leaderboard.evaluations.results.objects import server_store
from leaderboard.people.models import User
from leaderboard.workbench.models import Run, RunEvent, RunFile, RunState

PLAN = {
    "steps": [
        {"id": "s1", "tool": "image_captioning", "inputs": {"image": "$a.png"}, "outputs": {"text": "s1.text"}},
        {"id": "s2", "tool": "title_generation", "inputs": {"text": "s1.text"}, "outputs": {"text": "s2.text"}},
    ],
    "answers": ["s1.text"],
}


def make_run(owner: User, *, size: int = 1) -> Run:
    """A run of an owner with `size` steps that ran, and one that was skipped."""
    now = timezone.now()
    digest = server_store(split="").put(Artefact(data=b"a red circle", media_type=MediaType.TEXT))
    text = {"digest": digest, "media_type": MediaType.TEXT.value}
    run = Run.objects.create(
        owner=owner, asker=f"user {owner.pk}", suite="toolworld", profile="lilliput", bundled_name="some/planner",
        text="What is in a.png? Give it a title.", state=RunState.ENDED, ended_at=now, leased_at=now,
    )  # fmt: skip
    RunFile.objects.create(run=run, number=0, name="a.png", type="image", data=b"PNG")
    step = {
        "kind": "step", "step": "s1", "tool": "image_captioning", "expert": "some-expert", "cached": False,
        "seconds": 0.2, "inputs": {}, "outputs": {"text": text}, "error": None,
    }  # fmt: skip
    bodies = [
        {"kind": "given", "files": {"a.txt": {"type": "text", **text}}},
        {"kind": "asked", "planner": "some/planner", "tools": 48},
        {"kind": "plan", "plan": PLAN, "seconds": 0.1, "tolerated": ["a comma"], "notes": {"tasks": ["describe"]},
         "edited": False},
        *[step for _ in range(size)],
        {"kind": "skipped", "step": "s2", "tool": "title_generation", "why": "It needs a result of s0, which failed."},
        {"kind": "ended", "ending": "partly", "text": "I called image_captioning.", "answers": [text], "problems": [],
         "received": ""},
    ]  # fmt: skip
    RunEvent.objects.bulk_create(
        RunEvent(run=run, number=number, at=now, body=body) for number, body in enumerate(bodies)
    )
    return run
