"""Starting pairs, voting on them, and showing their names."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from random import SystemRandom
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.crypto import salted_hmac

from evaluator.core.suites.registry import suite_of
from evaluator.planners.named import planners_of_requests
from evaluator.workbench.events import Ending
from leaderboard.catalog.models import Suite
from leaderboard.people.models import User
from leaderboard.planners.models import Planner
from leaderboard.platform.database import database_now
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.votes.blind import BlindSide, blind_side
from leaderboard.votes.bradley_terry import strengths_of
from leaderboard.votes.models import Choice, Contestant, Pair, Vote
from leaderboard.votes.pairing import choose
from leaderboard.votes.standings import Question, own_planners, standings_of
from leaderboard.workbench import asking
from leaderboard.workbench.asking import GivenFile, NewRun
from leaderboard.workbench.models import Run, RunState

MOST_VOTES_PER_HOUR = 60
"""Of a person, and of a network address."""
CHANGEABLE = timedelta(hours=1)
"""After this long, the names of a pair with a vote are shown, and the vote counts."""
_chance = SystemRandom()


class VoteRefusedError(ProblemError):
    """The pair cannot be voted on, or not any more."""

    code = "vote_refused"


class TooManyVotesError(ProblemError):
    """The voter or their network address has cast too many votes within an hour."""

    status = 429
    code = "too_many_votes"

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": "600"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPair:
    """A request for two planners."""

    text: str
    suite: str = ""
    """Empty: the suite of the workbench."""
    files: Sequence[GivenFile] = field(default_factory=tuple)
    keep: bool = False
    """Whether the runs go on although nobody follows them."""


def start(new: NewPair, *, user: User) -> Pair:
    """Ask two planners that the site chooses.

    Before: nothing.
    After: both runs wait, or neither exists. They count as two runs of the user.

    Raises:
        FieldErrors: a part cannot be used, or fewer than two planners can be voted on.
        TooManyRunsError: the user has reached a limit of runs.
    """
    suite = _suite(new.suite)
    first, second = _chosen(suite=suite, user=user)
    with transaction.atomic():
        run_a, run_b = (
            asking.start(
                NewRun(
                    text=new.text, planner=one.value, suite=suite.slug, files=new.files, keep=new.keep, is_blind=True
                ),
                user=user,
                asker=f"user {user.pk}",
            )
            for one in (first, second)
        )  # fmt: skip
        return Pair.objects.create(
            owner=user, suite=suite.slug, request=_digest(new, suite=suite.slug), a=_row(first), b=_row(second),
            run_a=run_a, run_b=run_b, created=database_now(),
        )  # fmt: skip


def _suite(slug: str) -> Suite:
    known = asking.suites()
    found = next((suite for suite in known if suite.slug == slug or not slug), None)
    if found is None:
        raise FieldErrors({"suite": [f"Choose one of {', '.join(suite.slug for suite in known) or 'no suite'}."]})
    return found


def candidates(*, suite: str, user: User) -> list[Contestant]:
    """The planners that a user may compare: bundled strategies and planners of boards that load their model on a
    worker, without those of the user and their teams, and those whose owners opted out. Unsaved if new."""
    submitted = asking.planners_for(None)
    own = set(Planner.objects.filter(own_planners(user.pk)).values_list("pk", flat=True))
    names = [planner.name for planner in planners_of_requests(suite)]
    keys = [planner.pk for planner in submitted if planner.pk not in own]
    known = Contestant.objects.filter(Q(bundled_name__in=names) | Q(planner__in=keys))
    by_value = {row.value: row for row in known}
    found = [by_value.get(name) or Contestant(bundled_name=name) for name in names]
    found += [by_value.get(str(pk)) or Contestant(planner_id=pk) for pk in keys]
    return [row for row in found if row.opted_out_at is None]


def _chosen(*, suite: Suite, user: User) -> tuple[Contestant, Contestant]:
    rows = {str(row.pk or f"new {row.value}"): row for row in candidates(suite=suite.slug, user=user)}
    if len(rows) < 2:
        raise FieldErrors({"suite": ["Fewer than two planners of this suite can be compared."]})
    standings = standings_of(suite=suite, question=Question.RESPONSE)
    votes = Counter((one.first, one.second) for one in standings.comparisons)
    pair = choose(list(rows), votes=votes, strengths=strengths_of(standings.groups), rng=_chance)
    return rows[pair[0]], rows[pair[1]]


def _row(contestant: Contestant) -> Contestant:
    if contestant.pk is not None:
        return contestant
    return Contestant.objects.get_or_create(planner_id=contestant.planner_id, bundled_name=contestant.bundled_name)[0]


def _digest(new: NewPair, *, suite: str) -> str:
    """Keyed, since a short request could be guessed from a plain digest after its text was deleted."""
    files = sorted(f"{file.name} {sha256(file.data).hexdigest()}" for file in new.files)
    value = "\n".join([suite, " ".join(new.text.casefold().split()), *files])
    return salted_hmac("votes.request", value, algorithm="sha256").hexdigest()


def address_digest(address: str) -> str:
    """Keyed digest of a network address."""
    return salted_hmac("votes.address", address, algorithm="sha256").hexdigest()[:32]


def sides_of(pair: Pair) -> tuple[BlindSide, BlindSide] | None:
    """Both sides as voters see them, with names covered until they are shown; None: the runs were deleted."""
    if pair.run_a is None or pair.run_b is None:
        return None
    names = [name for contestant in (pair.a, pair.b) for name in _names(contestant)] if pair.named_at is None else []
    first, second = (
        blind_side((event.body for event in run.events.all()), names=names, tools=_tools_of(pair.suite))
        for run in (pair.run_a, pair.run_b)
    )
    return first, second


def _tools_of(suite: str) -> Collection[str]:
    try:
        return suite_of(suite).catalogue.tools.keys()
    except LookupError:
        return ()


def _names(contestant: Contestant) -> list[str]:
    planner = contestant.planner
    if planner is None:
        return [contestant.bundled_name or ""]
    return [planner.name, planner.owner.username, planner.model_name, planner.model_id]


def why_not_votable(pair: Pair) -> str:
    """Why a pair has no vote yet, as a sentence; empty: it can be voted on."""
    runs = [run for run in (pair.run_a, pair.run_b) if run is not None]
    if len(runs) < 2:
        return "The runs were deleted, as all are after 30 days."
    if any(run.state == RunState.CANCELLED for run in runs):
        return "A run was cancelled, so there is nothing to compare. Ask again."
    if not all(run.has_ended for run in runs):
        return "Both runs must end first."
    if any(side.ending is Ending.FAILED for side in sides_of(pair) or ()):
        return "A run failed for other reasons than its planner, so a vote would be unfair. Ask again."
    return ""


def note_shown(pair: Pair) -> None:
    """The owner sees both results: from now on they may vote."""
    if pair.shown_at is None and not why_not_votable(pair):
        pair.shown_at = database_now()
        Pair.objects.filter(pk=pair.pk, shown_at=None).update(shown_at=pair.shown_at)


def note_readers(pair: Pair) -> None:
    """Somebody follows the runs."""
    for run_id in (pair.run_a_id, pair.run_b_id):
        if run_id is not None:
            asking.note_reader(run_id)


def cast(*, pair_id: UUID, user: User, response: str, plan: str, address: str) -> Vote:
    """Vote on one's own pair, or change the vote.

    Before: both runs have ended and their owner has seen them; the names were not shown.
    After: the vote is stored. It counts once the names are shown.

    Raises:
        FieldErrors: no choice, or an unknown one.
        VoteRefusedError: the pair cannot be voted on, or not any more.
        TooManyVotesError: too many votes within an hour.
    """
    choices = {Question.RESPONSE: response, Question.PLAN: plan}
    for question, choice in choices.items():
        if choice and choice not in Choice.values:
            raise FieldErrors({question: [f"Choose one of {', '.join(Choice.values)}, or leave it empty."]})
    if not any(choices.values()):
        raise FieldErrors({Question.RESPONSE: ["Choose which response or which plan is better."]})
    with transaction.atomic():
        pair = _locked(pair_id, user=user)
        if pair.named_at is not None:
            raise VoteRefusedError("The names were shown, so the vote can no longer be changed. It can be deleted.")
        if why := why_not_votable(pair):
            raise VoteRefusedError(why)
        if pair.shown_at is None:
            raise VoteRefusedError("Look at both results before you vote.")
        now = database_now()
        digest = address_digest(address)
        _check_rate(pair=pair, user=user, address=digest)
        sides = sides_of(pair) or ()
        planners = [row.planner_id for row in (pair.a, pair.b) if row.planner_id is not None]
        facts = {
            "response": response, "plan": plan, "address": digest, "changed": now,
            "seconds": max(0.0, (now - pair.shown_at).total_seconds()),
            "characters": sum(side.characters for side in sides),
            "account_hours": (now - user.date_joined).total_seconds() / 3600,
            "was_own": Planner.objects.filter(own_planners(user.pk), pk__in=planners).exists(),
        }  # fmt: skip
        vote, _ = Vote.objects.update_or_create(
            pair=pair, voter=user, defaults=facts, create_defaults={**facts, "created": now}
        )
    return vote


def _locked(pair_id: UUID, *, user: User) -> Pair:
    return (
        Pair.objects.select_for_update(of=("self",))
        .select_related("a__planner__owner", "b__planner__owner", "run_a", "run_b")
        .get(pk=pair_id, owner=user)
    )


def _check_rate(*, pair: Pair, user: User, address: str) -> None:
    recent = Vote.objects.filter(created__gt=database_now() - timedelta(hours=1)).exclude(pair=pair)
    for own in (recent.filter(voter=user), recent.filter(address=address)):
        if own.count() >= MOST_VOTES_PER_HOUR:
            raise TooManyVotesError(f"At most {MOST_VOTES_PER_HOUR} votes within an hour.")


def show_names(*, pair_id: UUID, user: User) -> Pair:
    """Show the names of one's own pair.

    Before: there is a vote.
    After: its names are public, its runs are as any other, and the vote counts. Repeating it changes nothing.

    Raises:
        VoteRefusedError: there is no vote.
    """
    with transaction.atomic():
        pair = _locked(pair_id, user=user)
        if pair.named_at is None:
            if not pair.votes.exists():
                raise VoteRefusedError("Vote before the names are shown.")
            _name(pair)
    return pair


def _name(pair: Pair) -> None:
    pair.named_at = database_now()
    pair.save(update_fields=["named_at"])
    Run.objects.filter(pk__in=[pair.run_a_id, pair.run_b_id]).update(is_blind=False)


def withdraw(*, pair_id: UUID, user: User) -> bool:
    """Delete one's vote. False if there is none.

    After the names were shown, one's other votes on the two planners go with it: who could choose what to delete by the
    names would not vote blind.
    """
    own = Vote.objects.filter(voter=user).select_related("pair")
    vote = own.filter(pair=pair_id).first()
    if vote is None:
        return False
    if vote.pair.named_at is not None:
        both = (vote.pair.a_id, vote.pair.b_id)
        own.filter(Q(pair__a__in=both) | Q(pair__b__in=both), pair__named_at__isnull=False).delete()
    vote.delete()
    return True


def delete_votes_of(user: User) -> None:
    """Delete the votes, pairs and blind runs of a user."""
    Vote.objects.filter(voter=user).delete()
    Run.objects.filter(owner=user, is_blind=True).delete()
    Pair.objects.filter(owner=user).delete()


def set_opted_out(*, planner: Planner, opted_out: bool) -> Contestant:
    """Let a planner's owner opt out of votes, or in again. Repeating it changes nothing."""
    contestant, _ = Contestant.objects.get_or_create(planner=planner)
    if opted_out != (contestant.opted_out_at is not None):
        contestant.opted_out_at = database_now() if opted_out else None
        contestant.save(update_fields=["opted_out_at"])
    return contestant


def close_pairs() -> int:
    """Show the names of pairs whose vote has not changed for an hour, delete pairs without a vote whose runs were
    deleted, and return the number of both.

    Before: nothing; several processes may call at once.
    After: no vote waits for longer than `CHANGEABLE`.
    """
    late = Pair.objects.filter(named_at=None, votes__changed__lt=database_now() - CHANGEABLE)
    count = 0
    for pair_id in late.values_list("pk", flat=True):
        with transaction.atomic():
            pair = Pair.objects.select_for_update().filter(pk=pair_id, named_at=None).first()
            if pair is not None:
                _name(pair)
                count += 1
    deleted, _ = Pair.objects.filter(votes=None, run_a=None, run_b=None).delete()
    return count + deleted
