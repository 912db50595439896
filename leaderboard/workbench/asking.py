"""Starting, following and cancelling runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.marks import Mark, MarkError, mark_of, named
from evaluator.core.storable import unkeepable
from evaluator.core.suites.registry import preferred_first, suite_of
from evaluator.core.tools.types import ResourceType
from evaluator.planners.named import planners_of_requests
from evaluator.workbench.files import MOST_BYTES, FileRefusedError, type_of
from evaluator.workbench.running import MOST_FILES
from evaluator.workbench.saving import ending_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.states import request_resync
from leaderboard.evaluations.visibility import on_boards
from leaderboard.people.models import User
from leaderboard.planners.kinds import kind_of
from leaderboard.planners.models import Planner
from leaderboard.planners.secret_headers import header_of
from leaderboard.platform.celery import send_on_commit
from leaderboard.platform.coordination.locks import Lock, lock_until_commit
from leaderboard.platform.database import database_now
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.workbench.models import UNFINISHED, Run, RunEvent, RunFile, RunState

LONGEST_REQUEST = 2_000
"""Characters."""
MOST_PLAN = 50_000
"""Characters of an edited plan as JSON."""
UNFOLLOWED = timedelta(seconds=60)
"""A run that nobody has followed for this long is cancelled, unless it is kept."""
KEPT = timedelta(days=30)
"""How long a run can be read."""
LAUNCH_TASK = "leaderboard.workbench.tasks.start_workers"
ANY_RUN = UUID(int=0)
"""In notifications, whichever run waits for a worker now."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,58}")
_MOST_TURNS = 8


class TooManyRunsError(ProblemError):
    """The asker has as many unfinished runs, or as many of a day, as one may have."""

    status = 429
    code = "too_many_runs"

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": "5"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """A file of a new run."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to start."""

    text: str
    planner: str
    """Name of a bundled planner, or the number of a planner; empty: the first bundled one that the suite has."""
    suite: str = ""
    """Empty: the first of `suites`."""
    files: Sequence[GivenFile] = field(default_factory=tuple)
    marks: Sequence[Mark] = ()
    """What was marked in pictures, besides the marks of the run before."""
    plan: JsonValue | None = None
    after: Run | None = None
    """The run before it, whose files and results it may name."""
    keep: bool = False
    is_blind: bool = False
    """Whether its planner is not to be known yet."""


def suites() -> list[Suite]:
    """The suites that give tools: those that execute plans, in the order of `preferred_first`."""
    executed = [suite for suite in Suite.objects.filter(current=True) if suite.runs_experts and not suite.in_turns]
    by_slug = {suite.slug: suite for suite in executed}
    return [by_slug[slug] for slug in preferred_first(by_slug)]


def planners_for(user: User | None) -> list[Planner]:
    """The submitted planners that a user may ask: their own, and those on boards that cost nobody else anything."""
    shown = Evaluation.objects.filter(on_boards()).values("submission__planner")
    condition = Q(pk__in=shown)
    if user is not None:
        condition |= Q(owner=user)
    rows = Planner.objects.filter(condition).select_related("owner").order_by("name", "pk")[:500]
    return [planner for planner in rows if not why_not(planner=planner, user=user)]


def why_not(*, planner: Planner, user: User | None) -> str:
    """Why a user may not ask a planner here, as a sentence; empty: they may."""
    kind = kind_of(planner)
    if planner.bundled_name:
        return "Choose the bundled planner by its name."
    if kind.is_agent or planner.plans_digest:
        return "It answers the tasks of its suites only."
    if planner.checkpoint_digest or planner.roles or header_of(planner) is not None:
        return "It needs secrets or weights that only evaluations get."
    if kind.needs_network and not kind.loads_model and (user is None or planner.owner_id != user.pk):
        return "Only its owner may call its endpoint from here."
    return ""


def start(new: NewRun, *, user: User | None, asker: str) -> Run:
    """Start a run.

    Before: nothing.
    After: the run waits, and a worker is requested after the commit.

    Args:
        new: the run.
        user: its owner; None for strangers, whom only demos and sites with `PLANARENA_WORKBENCH=open` admit.
        asker: whose share it counts towards.

    Raises:
        FieldErrors: a part cannot be used.
        TooManyRunsError: the asker has reached a limit.
    """
    suite = _suite(new.suite)
    planner, bundled = _planner(new, suite=suite, user=user)
    text = new.text.replace("\x00", "").strip()
    if not text:
        raise FieldErrors({"text": ["Write what you want."]})
    if len(text) > LONGEST_REQUEST:
        raise FieldErrors({"text": [f"A request has at most {LONGEST_REQUEST:,} characters; this has {len(text):,}."]})
    _check_plan(new.plan)
    files = [*_inherited(new.after), *_uploads(new.files)]
    files = list({file.name: file for file in files}.values())
    if len(files) > MOST_FILES:
        raise FieldErrors({"files": [f"A request has at most {MOST_FILES} files, with those of earlier requests."]})
    marks = _marks([*(() if new.after is None else stored_marks(new.after.marks)), *new.marks], files=files)
    with transaction.atomic():
        lock_until_commit(Lock.RUNS, asker)
        _check_limits(asker=asker, is_stranger=user is None)
        now = database_now()
        run = Run.objects.create(
            owner=user, asker=asker, after=new.after, suite=suite.slug, profile=settings.PROFILE, planner=planner,
            bundled_name=bundled, text=text, plan=new.plan, marks=marks, created=now, seen_at=now, is_kept=new.keep,
            is_blind=new.is_blind,
        )  # fmt: skip
        for number, file in enumerate(files):
            file.run, file.number = run, number
        RunFile.objects.bulk_create(files)
        request_resync(ANY_RUN)
        send_on_commit(LAUNCH_TASK)
    return run


def _check_plan(plan: JsonValue | None) -> None:
    """Whether a plan can be stored; a worker reads it."""
    if plan is None:
        return
    if why := unkeepable(plan):
        raise FieldErrors({"plan": [f"The plan {why}."]})
    text = plan if isinstance(plan, str) else dumps(plan)
    if not text.strip():
        raise FieldErrors({"plan": ["The plan is empty."]})
    if len(text) > MOST_PLAN:
        raise FieldErrors({"plan": [f"A plan has at most {MOST_PLAN:,} characters; this has {len(text):,}."]})


def _suite(slug: str) -> Suite:
    known = suites()
    if not known:
        raise FieldErrors({"suite": ["This site has no suite that executes plans."]})
    if not slug:
        return known[0]
    found = next((suite for suite in known if suite.slug == slug), None)
    if found is None:
        raise FieldErrors({"suite": [f"Choose one of {', '.join(suite.slug for suite in known)}."]})
    return found


def _planner(new: NewRun, *, suite: Suite, user: User | None) -> tuple[Planner | None, str]:
    if not new.planner.isdecimal():
        names = [planner.name for planner in planners_of_requests(suite.slug)]
        if not new.planner and names:
            return None, names[0]
        if new.planner not in names:
            raise FieldErrors(
                {"planner": [f"Choose a planner of your own by its number, or one of {', '.join(names)}."]}
            )
        return None, new.planner
    number = int(new.planner[:9])
    planner = next((one for one in planners_for(user) if one.pk == number), None)
    if planner is None:
        raise FieldErrors({"planner": ["There is no such planner that you may ask here."]})
    return planner, ""


def stored_marks(marks: Sequence[Mapping[str, Any]]) -> list[Mark]:
    """Marks of a run."""
    return [mark_of(mark["type"], picture=mark["picture"], at=mark["at"]) for mark in marks]


def _marks(marks: Sequence[Mark], *, files: Sequence[RunFile]) -> list[dict[str, JsonValue]]:
    """The marks as they are stored. Whether they lie in their pictures is seen where these are decoded."""
    pictures = {file.name for file in files if file.type == ResourceType.IMAGE}
    try:
        for name, mark in named(marks).items():
            if mark.picture not in pictures:
                raise MarkError(f"{name} is in {mark.picture[:60]!r}, which is not a picture of this request.")
    except MarkError as error:
        raise FieldErrors({"marks": [str(error)]}) from None
    return [mark.to_json() for mark in marks]


def _uploads(given: Sequence[GivenFile]) -> list[RunFile]:
    files = []
    for file in given:
        if not _NAME.fullmatch(file.name):
            raise FieldErrors(
                {"files": ["Names of files have letters, digits, dots, dashes and underscores, up to 59."]}
            )
        if len(file.data) > MOST_BYTES:
            raise FieldErrors({"files": [f"{file.name} is too large: a file has at most {MOST_BYTES // 1024**2} MiB."]})
        try:
            files.append(RunFile(name=file.name, type=str(type_of(file.name)), data=file.data))
        except FileRefusedError as error:
            raise FieldErrors({"files": [str(error)]}) from None
    if len({file.name for file in files}) < len(files):
        raise FieldErrors({"files": ["Two files have the same name."]})
    return files


def _inherited(run: Run | None) -> list[RunFile]:
    """The files of an earlier run, and its results under the names that its page gives them."""
    if run is None:
        return []
    kept = [
        RunFile(name=file.name, type=file.type, data=file.data, digest=file.digest, media_type=file.media_type)
        for file in run.files.all()
    ]
    return kept + [
        RunFile(name=result["name"], type=result["type"], digest=result["digest"], media_type=result["media_type"])
        for result in results_of(run)
    ]


def results_of(run: Run) -> list[dict[str, Any]]:
    """Name, type, digest and media type of each answer of a run."""
    events = {event.body["kind"]: event.body for event in run.events.all()}
    ended, planned = events.get("ended", {}), events.get("plan", {})
    types = _types(planned.get("plan") or {}, suite=run.suite)
    turn = len(history_of(run)) + 1
    found = []
    for number, (reference, artefact) in enumerate(
        zip(_answered(run, planned), ended.get("answers", ()), strict=False)
    ):
        kind = types.get(reference, "image")
        found.append({"name": f"result-{turn}-{number + 1}.{ending_of(artefact)}", "type": kind, **artefact})
    return found


def _answered(run: Run, planned: Mapping[str, Any]) -> list[str]:
    """References of the answers that exist, in the order of the plan."""
    made = {
        reference
        for event in run.events.all()
        if event.body["kind"] == "step" and event.body["error"] is None
        for step in (planned.get("plan") or {}).get("steps", ())
        if step["id"] == event.body["step"]
        for reference in step["outputs"].values()
    }
    answers: list[str] = list((planned.get("plan") or {}).get("answers", ()))
    given = {name for file in run.files.all() for name in (file.name, f"${file.name}")}
    return [answer for answer in answers if answer in made or answer in given]


def _types(plan: Mapping[str, Any], *, suite: str) -> dict[str, str]:
    catalogue = suite_of(suite).catalogue
    return {
        reference: str(catalogue[step["tool"]].outputs.get(name, ""))
        for step in plan.get("steps", ())
        if step["tool"] in catalogue
        for name, reference in step["outputs"].items()
    }


def history_of(run: Run) -> list[dict[str, JsonValue]]:
    """Earlier requests of the dialogue with what was answered, oldest first."""
    turns: list[dict[str, JsonValue]] = []
    before = run.after
    while before is not None and len(turns) < _MOST_TURNS:
        ended = before.events.order_by("-number").first()
        body = {} if ended is None else ended.body
        turns.append({"request": before.text, "response": body.get("text", "")})
        before = before.after
    return turns[::-1]


def _check_limits(*, asker: str, is_stranger: bool) -> None:
    own = Run.objects.filter(asker=asker)
    if own.filter(state__in=UNFINISHED).count() >= settings.RUNS_AT_ONCE:
        raise TooManyRunsError(f"You have {settings.RUNS_AT_ONCE} unfinished runs, the maximum: wait until one ends.")
    per_day = settings.RUNS_PER_DAY // 4 if is_stranger else settings.RUNS_PER_DAY
    if own.filter(created__gte=database_now() - timedelta(days=1)).count() >= per_day:
        raise TooManyRunsError(f"You have asked {per_day} requests within a day, the maximum.")


def cancel(run_id: UUID, *, reason: str) -> bool:
    """Cancel a run that has not ended. False if it had."""
    cancelled = Run.objects.filter(pk=run_id, state__in=UNFINISHED).update(
        state=RunState.CANCELLED, ended_at=Now(), token_hash=None, expires_at=None, reason=reason
    )
    if cancelled:
        request_resync(run_id)
    return bool(cancelled)


def note_reader(run_id: UUID) -> None:
    """Somebody follows this run."""
    Run.objects.filter(pk=run_id, state__in=UNFINISHED).update(seen_at=Now())


def events_after(run_id: UUID, *, number: int) -> list[RunEvent]:
    """The events from this number on."""
    return list(RunEvent.objects.filter(run=run_id, number__gte=number))


def place_of(run: Run) -> int:
    """Number of waiting runs that were asked before it."""
    return Run.objects.filter(state=RunState.WAITING, created__lt=run.created).count()


def usual_seconds() -> float | None:
    """The median duration of the last runs; None if there were none."""
    recent = Run.objects.filter(state=RunState.ENDED, leased_at__isnull=False).order_by("-created")[:51]
    lasted = sorted((run.ended_at - run.leased_at).total_seconds() for run in recent if run.ended_at and run.leased_at)
    return lasted[len(lasted) // 2] if lasted else None


def forget_old() -> int:
    """Delete runs that are older than `KEPT`."""
    deleted, _ = Run.objects.filter(created__lt=database_now() - KEPT).delete()
    return deleted
