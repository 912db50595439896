"""Entries of the sealed pool, made for tests."""

from evaluator.core.suites.registry import suite_of
from evaluator.core.suites.sealed import as_proof
from leaderboard.catalog.models import SealedEntry, Suite
from leaderboard.catalog.sealed.bodies import body_of
from leaderboard.catalog.sealed.pool import ParserReading, Proposal, add, derive, review
from leaderboard.catalog.services import register_suite
from leaderboard.people.models import User

SLUG = "openagi-season"
TEXT = "Scan {number} of {{image}} is coarse. Enlarge it and caption it in German."
GOAL = {
    "inputs": {"image": {"flaws": ["low_resolution"]}},
    "answers": [{"goal": "image_captioning", "language": "de"}],
}
ANSWERS = {"input image": ["low_resolution"], "goal 1": ["image_captioning"], "language 1": ["de"], "possible": ["yes"]}
"""Of a reviewer who reads that goal."""


def make_suite() -> Suite:
    """The present `openagi-season`."""
    register_suite(suite_of(SLUG))
    return Suite.objects.get(slug=SLUG, current=True)


def proposal(number: int = 1, **changes: object) -> Proposal:
    """A valid one, with words of its own."""
    fields = {
        "text": TEXT.format(number=number),
        "goal": GOAL,
        "origin": "person",
        "credit": "Ada",
        "licence": "CC0-1.0",
    }
    return Proposal.model_validate({**fields, **changes})


def added(*proposals: Proposal, by: User) -> list[SealedEntry]:
    """Proposed entries."""
    return add(suite=SLUG, proposals=list(enumerate(proposals, start=1)), by=by)


def derived(entry: SealedEntry) -> SealedEntry:
    """The entry after two parsers that agree with its author."""
    gold = as_proof(body_of(entry).request, suite=suite_of(SLUG)).gold
    return derive(entry.pk, readings=[ParserReading("one", gold), ParserReading("two", gold)])


def sealed(*proposals: Proposal, by: User, reviewer: User) -> list[SealedEntry]:
    """Entries that are ready for a season."""
    return [review(derived(entry).pk, values=ANSWERS, by=reviewer) for entry in added(*proposals, by=by)]
