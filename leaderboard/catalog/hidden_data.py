"""Hidden data, as other rooms see them: their seeds, the order in which planners are asked, what a submission chooses,
how often a planner may be evaluated on the same data, and when they are public.

Each season has hidden data of its own (`seasons.py` announces and closes them). Seeds are derived from the site's
master seed. Workers get the derived seed of one season and suite only: it gives away nothing about any other, and
neither does publishing it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evaluator.core.canonical_json import framed_digest
from evaluator.core.signatures.envelope import Envelope, PrivateKey, PublicKey, open_envelope, seal
from evaluator.core.signatures.statements import SeasonStatement, SuiteCommitment
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed, SeedError, asking_order, commitment
from evaluator.core.suites.hidden import checked_seed as checked_form
from evaluator.core.suites.sealed import sealed_digest
from leaderboard.catalog.models import MeasuringConditions, Season, SeasonData, Suite
from leaderboard.catalog.sealed.choosing import sealed_requests_of
from leaderboard.platform.audit import record
from leaderboard.platform.database import database_now
from leaderboard.platform.encryption import UnreadableSecretError
from leaderboard.platform.fields import Field, Text
from leaderboard.platform.models import Action
from leaderboard.platform.problems import ProblemError
from leaderboard.platform.secret_keys import QUEUE

REHEARSAL = "rehearsal"
"""Chooses the public split instead of a season."""
FACTS = ("season", "commitment")
"""Keys of `facts_of`."""
SEED_EXAMPLE = {"season": "2026-1", "seed": "(the seed)", "sealed": []}
"""Of `seed_for_workers`."""
PARAMETERS = ("season",)
"""Parameters of addresses that choose the hidden data whose board is shown."""
_PURPOSE = "planarena hidden split/2"


class OnData(Protocol):
    """An evaluation, as far as its data follow from it."""

    split: str
    suite: Suite
    season_id: str | None


class InSeason(Protocol):
    """An evaluation, a snapshot, or the conditions of a new evaluation."""

    @property
    def season_id(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataChoice:
    """The data that a submission chooses, by `DATA_FIELDS`."""

    season: str = ""
    """Name of an open season, or `REHEARSAL` for open data; empty: the present one, where data are hidden."""


USUAL_DATA = DataChoice()


class NoSeedError(Exception):
    """The seed of hidden data is not available; the message is a sentence for operators."""


class SeedElsewhereError(NoSeedError):
    """This is a process of the queue: only the web process has the seeds of hidden data."""


class DataRefusedError(Exception):
    """Nothing can be submitted to the data that were chosen; the message is a sentence for the submitter."""

    @property
    def errors(self) -> dict[str, list[str]]:
        """The sentence by the field of the choice."""
        return {SEASON.name: [str(self)]}


class TasksWithheldError(ProblemError, PermissionDenied):
    """Results of single tasks are withheld until the data are public; the message is a sentence for readers."""

    status = 403
    code = "season_open"


class PlannerLimitError(ProblemError):
    """The planner has no evaluations left on these hidden data; nothing was changed. The message is a sentence for the
    user."""

    code = "season_quota_exceeded"

    def __init__(self, *, planner: str, suite: str, season: str, limit: int, used: int) -> None:
        self._facts = {"suite": suite, "season": season, "limit": limit, "used": used}
        super().__init__(
            f"{planner} has used {used} of the {limit} evaluations of the suite {suite} that a planner may have on the "
            f"hidden data of season {season}, those under other names included. The next season begins with none used; "
            "an evaluation that is refunded is free again, but not without end."
        )

    def facts(self) -> dict[str, Any]:
        return self._facts


def derived_seed(*, master: str, season: str, suite: str) -> str:
    """SHA-256 of the length-prefixed master seed, season and suite, as 64 hexadecimal digits.

    Args:
        master: PLANARENA_HIDDEN_SEED.
        season: name of the season.
        suite: slug of the suite.
    """
    return framed_digest(_PURPOSE, master, season, suite)


def seed_of(evaluation: OnData) -> str:
    """The seed of the evaluation's hidden data.

    Raises:
        NoSeedError: there is none.
    """
    if evaluation.split != HIDDEN:
        raise NoSeedError("This evaluation runs on open data, which have no seed.")
    if evaluation.season_id is None:
        raise NoSeedError("This hidden evaluation belongs to no season: submit it again.")
    return seed_of_season(season=evaluation.season_id, suite=evaluation.suite.slug)


def hidden_seed_of(evaluation: OnData) -> HiddenSeed:
    """The seed of the evaluation's hidden data with the season's sealed requests.

    Raises:
        NoSeedError: there is no seed, or it or the sealed requests do not fit the published commitment.
    """
    seed_of(evaluation)
    return checked_hidden_seed(season=str(evaluation.season_id), suite=evaluation.suite.slug)


def seed_for_workers(evaluation: OnData) -> dict[str, Any]:
    """The fields of `gpu_jobs.contract.Seed`: the seed, what it is the seed of, and the sealed requests.

    Raises:
        NoSeedError: as for `hidden_seed_of`.
    """
    hidden = hidden_seed_of(evaluation)
    sealed = [{"text": request.text, "goal": request.goal} for request in hidden.sealed]
    return {"season": hidden.season, "seed": hidden.secret, "sealed": sealed}


def seeds_to_hide(evaluation: OnData) -> list[str]:
    """The seed that the evaluation's workers know, to redact it from what they send."""
    try:
        return [seed_of(evaluation)]
    except NoSeedError:
        return []


def checked_seed(*, season: str, suite: str) -> str:
    """The seed of a season and suite, checked against the published commitment.

    Raises:
        NoSeedError: there is no seed, or it does not fit the commitment.
    """
    data = SeasonData.objects.filter(season=season, suite=suite).first()
    if data is None:
        raise NoSeedError(
            f"Season {season} was announced without {suite}: `planarena manage season announce {season}` adds it."
        )
    seed = seed_of_season(season=season, suite=suite)
    if commitment(seed=seed, season=season, suite=suite, sealed=data.sealed_digest) != data.commitment:
        raise NoSeedError(
            f"The seed of {suite} in season {season} does not fit the commitment that was published for it: "
            "PLANARENA_HIDDEN_SEED is another one than when the season was announced."
        )
    return seed


def checked_hidden_seed(*, season: str, suite: str) -> HiddenSeed:
    """The seed of a season and suite with the sealed requests, all checked against the published commitment.

    Raises:
        NoSeedError: there is no seed, or something does not fit the commitment.
    """
    seed = checked_seed(season=season, suite=suite)
    try:
        sealed = sealed_requests_of(season=season, suite=suite)
    except UnreadableSecretError as error:
        raise NoSeedError(str(error)) from error
    hidden = HiddenSeed(seed, season=season, sealed=sealed)
    if hidden.commitment(suite) != commitment_of(season=season, suite=suite):
        raise NoSeedError(
            f"The sealed requests of {suite} in season {season} are not those that its commitment was published for: "
            f"restore the table of sealed entries. Digest now: {sealed_digest(sealed)[:12] or 'none'}."
        )
    return hidden


def commitment_of(*, season: str, suite: str) -> str:
    """The published commitment to the seed of a suite in a season; empty if there is none."""
    commitments = SeasonData.objects.filter(season=season, suite=suite).values_list("commitment", flat=True)
    return commitments.first() or ""


def facts_of(of: InSeason, *, suite: Suite) -> dict[str, str]:
    """What provenance and signatures say of hidden data, by `FACTS`; empty for open data."""
    if of.season_id is None:
        return {}
    return {"season": of.season_id, "commitment": commitment_of(season=of.season_id, suite=suite.slug)}


def in_asking_order(keys: Sequence[str], *, suite: Suite, of: InSeason) -> Sequence[str]:
    """The keys in the order in which planners are asked, which on hidden data says nothing about the tasks. It also
    decides which tasks share a shard, so that the time of a request says nothing either.

    Raises:
        NoSeedError: the seed of the hidden data is not available.
    """
    if of.season_id is None:
        return keys
    return asking_order(keys, suite=suite.slug, seed=checked_seed(season=of.season_id, suite=suite.slug))


def present_data() -> Q:
    """The condition on evaluations and snapshots that they have the data that submissions get by default."""
    return Q(season=open_seasons().first() if settings.SPLIT == HIDDEN else None)


def chosen_data(parameters: Mapping[str, str]) -> Q | None:
    """The condition on snapshots that they have the data that an address chooses; None if it chooses none."""
    season = parameters.get("season")
    return Q(season=season) if season else None


NAME_OF_DATA: tuple[str, Callable[[OnData], str]] = ("season", lambda of: of.season_id or "none")
"""How a comparison of conditions names hidden data."""


def open_seasons() -> QuerySet[Season]:
    """The seasons that may be submitted to, the present one first."""
    return Season.objects.filter(opens__lte=Now(), closed=None).order_by("-opens", "-name")


def chosen_season(name: str) -> Season:
    """The season of a new evaluation on hidden data.

    Args:
        name: as the submitter wrote it; empty: the present one.

    Raises:
        DataRefusedError: nothing can be submitted to it now.
    """
    if not name:
        present = open_seasons().first()
        if present is None:
            coming = Season.objects.filter(opens__gt=Now(), closed=None).order_by("opens").first()
            raise DataRefusedError(f"No season is open. {_opens(coming)}" if coming else "No season is open.")
        return present
    season = Season.objects.filter(name=name).first()
    if season is None:
        known = ", ".join(season.name for season in open_seasons()) or "none"
        raise DataRefusedError(f"There is no season {name!r}; open are: {known}. {REHEARSAL!r} is the public split.")
    _check_open(season)
    return season


def check_open(of: InSeason) -> None:
    """Refuse a new evaluation if its season was closed in the meantime.

    Before: within the transaction that made the evaluation, which keeps the season from being closed from now on.

    Raises:
        DataRefusedError: the season is not open.
    """
    if of.season_id is not None:
        _check_open(Season.objects.get(pk=of.season_id))


def _check_open(season: Season) -> None:
    if season.closed is not None:
        raise DataRefusedError(f"Season {season.name} was closed on {season.closed:%Y-%m-%d %H:%M} UTC.")
    if season.opens > database_now():
        raise DataRefusedError(_opens(season))


def problems(choice: DataChoice) -> Mapping[str, list[str]]:
    """Errors in the choice of data of a submission, by field."""
    season = choice.season
    if season in {"", REHEARSAL}:
        return {}
    if settings.SPLIT != HIDDEN:
        return {"season": ["This site evaluates open data, which have no seasons: leave this empty."]}
    try:
        chosen_season(season)
    except DataRefusedError as error:
        return error.errors
    return {}


def _opens(season: Season) -> str:
    return f"Season {season.name} opens on {season.opens:%Y-%m-%d %H:%M} UTC."


def seed_of_season(*, season: str, suite: str) -> str:
    if settings.ROLE == QUEUE:
        raise SeedElsewhereError("Only the web process has the seeds of hidden data.")
    if not settings.HIDDEN_SEED:
        raise NoSeedError("This site has no seed for hidden data: its operator must set PLANARENA_HIDDEN_SEED.")
    try:
        master = checked_form(settings.HIDDEN_SEED, what="PLANARENA_HIDDEN_SEED")
    except SeedError as error:
        raise NoSeedError(str(error)) from error
    return derived_seed(master=master, season=season, suite=suite)


class _DataChoice(Text):
    """A choice of data. The form offers the open seasons."""

    def _form_field(self, **common: Any) -> forms.Field:
        names = open_seasons().values_list("name", flat=True)
        choices = [*((name, f"Season {name}") for name in names), (REHEARSAL, "Rehearsal on public data")]
        return forms.ChoiceField(choices=choices, **common)


SEASON = _DataChoice(
    "season",
    label="Season",
    noun="season",
    help="Name of an open season, whose hidden data it is evaluated on, or `rehearsal` for the public data. Empty: the "
    "present season, where the site evaluates hidden data.",
    page_help="A rehearsal runs on the public data and has a board of its own.",
    example="",
)
DATA_FIELDS: tuple[Field[str], ...] = (SEASON,)
"""The fields of a submission that choose its data."""


def data_fields_on_page() -> tuple[Field[str], ...]:
    """Those that the form has: none on open data."""
    return DATA_FIELDS if settings.SPLIT == HIDDEN else ()


class PlannerLimit(NamedTuple):
    """How many evaluations of a suite a planner may have on the same hidden data."""

    most: int
    same_data: Q
    """The condition on evaluations that count."""
    suite: str
    season: str

    def error(self, *, planner: str, used: int) -> PlannerLimitError:
        """The refusal of a further evaluation."""
        return PlannerLimitError(planner=planner, suite=self.suite, season=self.season, limit=self.most, used=used)


def planner_limit(evaluation: OnData) -> PlannerLimit | None:
    """The limit that applies to an evaluation; None: there is none."""
    most: int = settings.QUOTA_PER_PLANNER_AND_SEASON
    if not most or evaluation.split != HIDDEN:
        return None
    slug = evaluation.suite.slug
    same_data = Q(suite__slug=slug, season=evaluation.season_id, split=HIDDEN)
    return PlannerLimit(most=most, same_data=same_data, suite=slug, season=str(evaluation.season_id))


def planner_limits_in_words() -> list[tuple[str, str]]:
    """The limit of planners on hidden data, as a heading and a sentence for the submit page; empty if there is none."""
    most: int = settings.QUOTA_PER_PLANNER_AND_SEASON
    if not most or not open_seasons().exists():
        return []
    evaluations = "evaluation" if most == 1 else "evaluations"
    return [("In a season", f"At most {most} {evaluations} of each planner on the hidden data of a suite")]


def are_public(of: MeasuringConditions) -> bool:
    """Whether hidden data are public, so that anybody can make them from the seed. False for open data."""
    return of.season is not None and of.season.closed is not None


def public_data(prefix: str) -> Q:
    """The condition on related evaluations that their hidden data are public."""
    return Q(**{f"{prefix}season__closed__isnull": False})


def when_public(of: MeasuringConditions) -> str:
    """When results of single tasks on hidden data are shown, as a sentence."""
    if of.season is None:
        return "Scores of single tasks on the hidden split are not shown."
    when = f", which is planned for {of.season.closes:%Y-%m-%d}" if of.season.closes is not None else ""
    return f"Scores of single tasks are shown when season {of.season.pk} closes{when}."


def commitments_of(season: Season) -> dict[str, str]:
    """The commitment of every suite of a season, by slug."""
    return dict(season.suites.order_by("suite").values_list("suite", "commitment"))


def sign_announcements(
    *, key: PrivateKey, known: Callable[[], Mapping[str, PublicKey]], of: MeasuringConditions | None = None
) -> None:
    """Sign the announcements of hidden data that are not signed yet.

    Before: within a transaction.

    Args:
        key: signs.
        known: returns the site's public keys by id.
        of: only of the data of this evaluation or snapshot; None: of all that are not public.
    """
    seasons = Season.objects.filter(closed=None) if of is None else Season.objects.filter(pk=of.season_id)
    for season in seasons.order_by("announced"):
        sign_announcement(season, key=key, known=known)


def sign_announcement(season: Season, *, key: PrivateKey, known: Callable[[], Mapping[str, PublicKey]]) -> None:
    """Sign what a season was announced with, unless its last announcement says that.

    Before: within a transaction.
    After: its last announcement names every suite of the season with its commitment, and the audit log has it.
    """
    # Two processes that sign at once would give two announcements one number.
    season = Season.objects.select_for_update().get(pk=season.pk)
    commitments = commitments_of(season)
    last = season.announcements.order_by("-number").first()
    if last is not None:
        signed = open_envelope(Envelope.model_validate(last.envelope), expected=SeasonStatement, keys=known())
        if {suite.suite: suite.commitment for suite in signed.suites} == commitments:
            return
    statement = SeasonStatement(
        key=key.public.id,
        season=season.pk,
        number=1 if last is None else last.number + 1,
        announced=season.announced,
        opens=season.opens,
        closes=season.closes,
        signed=database_now(),
        suites=[
            SuiteCommitment(suite=data.suite, commitment=data.commitment, sealed=data.sealed)
            for data in season.suites.order_by("suite")
        ],
        previous=None if last is None else last.statement_digest,
    )
    envelope = seal(statement=statement, key=key)
    season.announcements.create(
        number=statement.number, envelope=envelope.model_dump(mode="json"), statement_digest=envelope.digest
    )
    details = {"number": statement.number, "statement": envelope.digest, "key": key.public.id}
    record(by=None, action=Action.SEASON_SIGNED, target=season, details={**details, "commitments": commitments})
