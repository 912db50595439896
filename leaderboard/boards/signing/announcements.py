"""Signing the announcements of seasons. Idempotent: what is signed stays as it was signed."""

from evaluator.core.signatures.envelope import Envelope, PublicKey, open_envelope, seal
from evaluator.core.signatures.statements import SeasonStatement, SuiteCommitment
from leaderboard.boards.models import SigningKey
from leaderboard.boards.signing.keys import signing_key
from leaderboard.catalog.models import Season, SeasonAnnouncement
from leaderboard.catalog.seasons import commitments_of
from leaderboard.platform.audit.services import record
from leaderboard.platform.clock import database_now
from leaderboard.platform.models import Action


def sign_announcement(season: Season) -> None:
    """Sign what a season was announced with, unless its last announcement says that.

    Before: within a transaction.
    After: its last announcement names every suite of the season with its commitment, and the audit log has it; or this
    process has no key, and one that has signs it (`catching_up.py`).
    """
    # Two processes that sign at once would give two announcements one number.
    season = Season.objects.select_for_update().get(pk=season.pk)
    commitments = commitments_of(season)
    last = season.announcements.order_by("-number").first()
    if last is not None and _named_in(last) == commitments:
        return
    key = signing_key()
    if key is None:
        return
    statement = SeasonStatement(
        key=key.public.id,
        season=season.pk,
        number=1 if last is None else last.number + 1,
        announced=season.announced,
        opens=season.opens,
        closes=season.closes,
        signed=database_now(),
        suites=[SuiteCommitment(suite=suite, commitment=commitment) for suite, commitment in commitments.items()],
        previous=None if last is None else last.statement_digest,
    )
    envelope = seal(statement=statement, key=key)
    season.announcements.create(
        number=statement.number, envelope=envelope.model_dump(mode="json"), statement_digest=envelope.digest
    )
    details = {"number": statement.number, "statement": envelope.digest, "key": key.public.id}
    record(by=None, action=Action.SEASON_SIGNED, target=season, details={**details, "commitments": commitments})


def sign_unsigned_announcements() -> None:
    """Sign the announcements of the seasons that are not closed, as far as they are not signed."""
    for season in Season.objects.filter(closed=None).order_by("announced"):
        sign_announcement(season)


def _named_in(announcement: SeasonAnnouncement) -> dict[str, str]:
    keys = {key.pk: PublicKey.from_text(key.public_key) for key in SigningKey.objects.all()}
    envelope = Envelope.model_validate(announcement.envelope)
    return {one.suite: one.commitment for one in open_envelope(envelope, expected=SeasonStatement, keys=keys).suites}
