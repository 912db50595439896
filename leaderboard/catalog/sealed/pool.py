"""Adding entries to the sealed pool, having them read by two parsers, reviewing and withdrawing them.

    proposed -> derived    both parsers read the goal of the author
             -> disputed   one of them does not
    derived  -> sealed     the reviewer, who did not see the author's goal, gives the same one
             -> disputed   the reviewer gives another one
    sealed   -> used -> published     in a season (`choosing.py`)
    proposed, derived, disputed, sealed -> withdrawn

A disputed entry never comes back: a corrected one is a new one. Nobody can try goals until one is accepted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple
from uuid import UUID

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from evaluator.core import canonical_json
from evaluator.core.plans.model import Plan
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.base import Task as LibraryTask
from evaluator.core.suites.registry import suite_of
from evaluator.core.suites.sealed import SealedRequest, SealedRequestError, as_proof, form_of, has_place
from evaluator.scoring.metrics.plan_equality import is_same_plan
from leaderboard.catalog.models import SealedEntry, SealedState, Suite
from leaderboard.catalog.sealed.bodies import Body, Findings, Reading, body_of, findings_of
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.database import database_now
from leaderboard.platform.models import Action

MOST_LINES = 1_000
"""Entries of one upload."""
MOST_BYTES = 4 * 1024 * 1024
"""Size of one upload."""
MOST_ENTRIES = 20_000
"""Entries of a suite's pool."""
MOST_ERRORS = 50
"""Lines of an upload whose errors are listed."""
REVIEWER = "reviewer"
_Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
_WITHDRAWABLE = (SealedState.PROPOSED, SealedState.DERIVED, SealedState.DISPUTED, SealedState.SEALED)


class PoolError(Exception):
    """Something cannot be done with the pool; the message is a sentence for operators that has no word of an entry."""


class Proposal(BaseModel):
    """One entry, as an operator adds it: a line of an upload."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Annotated[str, Field(repr=False)]
    goal: Annotated[JsonValue, Field(repr=False)]
    """In the form of the suite."""
    origin: Literal["person", "model"]
    credit: _Short
    licence: _Short


class LineError(NamedTuple):
    """What is wrong with a line of an upload."""

    line: int
    """From 1."""
    problem: str


class UploadRefusedError(PoolError):
    """Lines of an upload are invalid; nothing was added."""

    def __init__(self, errors: Sequence[LineError]) -> None:
        self.errors = list(errors)
        super().__init__(f"{len(self.errors)} lines are invalid; nothing was added.")


def pool_suites() -> list[str]:
    """Slugs of the current suites that take sealed requests."""
    found = []
    for slug in Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True):
        try:
            form_of(suite_of(slug))
        except (LookupError, SealedRequestError):
            continue
        found.append(slug)
    return found


def library_suite(slug: str) -> LibrarySuite:
    """The suite, if it takes sealed requests.

    Raises:
        PoolError: it does not.
    """
    try:
        suite = suite_of(slug)
        form_of(suite)
    except LookupError:
        raise PoolError(f"There is no suite {slug!r}.") from None
    except SealedRequestError as error:
        raise PoolError(str(error)) from None
    return suite


def read_lines(data: bytes) -> list[tuple[int, Proposal]]:
    """The proposals of an upload, one JSON object a line, with the numbers of their lines.

    Raises:
        UploadRefusedError: a line is invalid.
        PoolError: there are too many lines or bytes, or none.
    """
    if len(data) > MOST_BYTES:
        raise PoolError(f"The file has more than {MOST_BYTES // 1024 // 1024} MiB.")
    lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if not lines:
        raise PoolError("The file has no lines.")
    if len(lines) > MOST_LINES:
        raise PoolError(f"The file has {len(lines)} lines; at most {MOST_LINES} are taken at once.")
    proposals, errors = [], []
    for number, line in lines:
        try:
            proposals.append((number, Proposal.model_validate(canonical_json.loads(line))))
        except ValidationError as error:
            errors.append(LineError(number, _first_problem(error)))
        except ValueError as error:
            errors.append(LineError(number, f"The line {error}."))
    if errors:
        raise UploadRefusedError(errors)
    return proposals


def add(*, suite: str, proposals: Iterable[tuple[int, Proposal]], by: User) -> list[SealedEntry]:
    """Add entries to a suite's pool, all or none.

    After: they are proposed, and the audit log has each, without its words.

    Args:
        suite: slug.
        proposals: with the numbers of their lines.
        by: who adds them, and may not review them.

    Raises:
        UploadRefusedError: some are invalid, or are in the pool already.
        PoolError: the suite takes none, or the pool is full.
        UnreadableSecretError: this process has no key.
    """
    library = library_suite(suite)
    added: list[SealedEntry] = []
    with transaction.atomic():
        # One at a time, so that two uploads cannot add the same text.
        Suite.objects.select_for_update().filter(slug=suite, current=True).first()
        present = SealedEntry.objects.filter(suite=suite).exclude(state=SealedState.WITHDRAWN)
        texts = {_folded(body_of(entry).text) for entry in present}
        texts |= {_folded(task.text) for task in library.tasks}
        errors: list[LineError] = []
        for number, proposal in proposals:
            request = SealedRequest(text=proposal.text, goal=canonical_json.dumps(proposal.goal))
            problem = _problem(request, library=library, texts=texts)
            if problem:
                errors.append(LineError(number, problem))
                continue
            texts.add(_folded(proposal.text))
            body = Body(text=request.text, goal=request.goal, credit=proposal.credit, licence=proposal.licence)
            added.append(SealedEntry(suite=suite, origin=proposal.origin, body=body.encrypted(), added_by=by))
        if errors:
            raise UploadRefusedError(errors)
        if present.count() + len(added) > MOST_ENTRIES:
            raise PoolError(f"A pool has at most {MOST_ENTRIES} entries.")
        for entry in SealedEntry.objects.bulk_create(added):
            record(by=by, action=Action.SEALED_ADDED, target=entry)
    return added


def _problem(request: SealedRequest, *, library: LibrarySuite, texts: set[str]) -> str:
    if _folded(request.text) in texts:
        return "The same text is in the pool or in the suite already."
    try:
        if not has_place(suite=library, request=request):
            return "The suite has no request of this kind, so that no season would have a place for it."
    except SealedRequestError as error:
        return str(error)
    return ""


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"])) or "line"
    return f"{where}: {first['msg']}."


class ParserReading(NamedTuple):
    """What a parser reads in a request."""

    name: str
    plan: Plan | None
    """None: it reads no goal."""


def rules_reading(*, request: SealedRequest, suite: LibrarySuite) -> ParserReading:
    """The reading of the suite's rules."""
    goal = form_of(suite).read(request.text)
    try:
        plan = None if goal is None else as_proof(SealedRequest(text=request.text, goal=goal), suite=suite).gold
    except SealedRequestError:
        plan = None
    return ParserReading(name="rules", plan=plan)


def derive(entry_id: UUID, *, readings: Sequence[ParserReading], by: User | None = None) -> SealedEntry:
    """Compare what parsers read in an entry with its goal.

    Before: it is proposed.
    After: it is derived if at least two parsers read the author's goal and none another one; else it is disputed.

    Args:
        entry_id: of the entry.
        readings: of parsers that share no code.
        by: None: a command.

    Raises:
        PoolError: it is in another state.
        ValueError: fewer than two parsers read it.
    """
    if len({reading.name for reading in readings}) < 2:
        raise ValueError("an entry needs two parsers")
    with transaction.atomic():
        entry = _locked(entry_id, states=(SealedState.PROPOSED,))
        gold = _gold(body_of(entry).request, suite=library_suite(entry.suite))
        found = [
            Reading(
                reader=reading.name,
                plan="no goal" if reading.plan is None else plan_in_words(reading.plan),
                agrees=reading.plan is not None and is_same_plan(plan=reading.plan, other=gold),
            )
            for reading in readings
        ]
        entry.findings = Findings(author_plan=plan_in_words(gold), readings=tuple(found)).encrypted()
        agree = all(reading.agrees for reading in found)
        entry.state = SealedState.DERIVED if agree else SealedState.DISPUTED
        entry.save(update_fields=["findings", "state"])
        details = {"parsers": {reading.reader: reading.agrees for reading in found}, "state": entry.state}
        record(by=by, action=Action.SEALED_DERIVED, target=entry, details=details)
    return entry


def review(entry_id: UUID, *, values: Mapping[str, Sequence[str]], by: User) -> SealedEntry:
    """Compare the goal that a reviewer reads in an entry with the author's.

    Before: it is derived, and the reviewer is not who added it.
    After: it is sealed if the plans of both goals are the same, else disputed.

    Args:
        entry_id: of the entry.
        values: answers to the fields of the suite's form.
        by: the reviewer.

    Raises:
        PoolError: it is in another state, for example because someone else reviewed it, or the reviewer added it.
        SealedRequestError: the reviewer's goal is invalid; nothing was changed.
    """
    with transaction.atomic():
        entry = _locked(entry_id, states=(SealedState.DERIVED,))
        if entry.added_by_id == by.pk:
            raise PoolError("An entry is reviewed by someone else than who added it.")
        suite, request = library_suite(entry.suite), body_of(entry).request
        goal = form_of(suite).goal(request.text, values=values)
        theirs = _gold(SealedRequest(text=request.text, goal=goal), suite=suite)
        agrees = is_same_plan(plan=theirs, other=_gold(request, suite=suite))
        before = findings_of(entry)
        reading = Reading(reader=REVIEWER, plan=plan_in_words(theirs), agrees=agrees)
        if before is not None:
            entry.findings = before.model_copy(update={"readings": (*before.readings, reading)}).encrypted()
        entry.state = SealedState.SEALED if agrees else SealedState.DISPUTED
        entry.reviewer, entry.reviewed = by, database_now()
        entry.save(update_fields=["findings", "state", "reviewer", "reviewed"])
        record(by=by, action=Action.SEALED_REVIEWED, target=entry, details={"agrees": agrees, "state": entry.state})
    return entry


def withdraw(entry_id: UUID, *, by: User) -> SealedEntry:
    """Take an entry out of the pool for good.

    Raises:
        PoolError: it is in a season, or withdrawn already.
    """
    with transaction.atomic():
        entry = _locked(entry_id, states=_WITHDRAWABLE)
        before, entry.state = entry.state, SealedState.WITHDRAWN
        entry.save(update_fields=["state"])
        record(by=by, action=Action.SEALED_WITHDRAWN, target=entry, details={"before": before})
    return entry


def _locked(entry_id: UUID, *, states: Sequence[str]) -> SealedEntry:
    entry = SealedEntry.objects.select_for_update().filter(pk=entry_id).first()
    if entry is None:
        raise PoolError("There is no such entry.")
    if entry.state not in states:
        raise PoolError(f"This is not possible: the entry is {entry.get_state_display()}.")
    return entry


def proof_of(entry: SealedEntry) -> tuple[LibrarySuite, LibraryTask]:
    """The entry as a task, by which parsers are tried, with its suite.

    Raises:
        PoolError: the suite takes no sealed requests any more.
        UnreadableSecretError: no key decrypts it.
    """
    suite = library_suite(entry.suite)
    return suite, as_proof(body_of(entry).request, suite=suite)


def _gold(request: SealedRequest, *, suite: LibrarySuite) -> Plan:
    return as_proof(request, suite=suite).gold or Plan(steps=(), answers=())


def plan_in_words(plan: Plan) -> str:
    """A line for each step with its inputs, and one for the answers."""
    if not plan.steps and not plan.answers:
        return "no tool can meet the request"
    lines = [f"{step.id}: {step.tool} ({', '.join(map(str, step.inputs.values()))})" for step in plan.steps]
    return "\n".join([*lines, f"answers: {', '.join(plan.answers)}"])
