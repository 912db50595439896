"""The tasks of a hidden split: requests with other words, names and order than the public ones of their keys.

Sites show a task by its public request, so a hidden one agrees with it in whatever is shown of a task: its metric and
group, for example. In some suites it has the same goal, in others only one of the same kind. A planner gains nothing
from memorising the public requests, their keys or their order. Everything is derived from the secret seed and the
task's key, so that a retry, another worker or a verification sees the same request. Once the seed is published, anyone
can compute which request belongs to which task.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from evaluator.core import canonical_json
from evaluator.core.canonical_json import framed_digest
from evaluator.core.suites.base import Suite
from evaluator.core.suites.sealed import SealedRequest, sealed_digest, with_sealed
from evaluator.core.suites.secrets import derived

HIDDEN = "hidden"
"""Name of the split."""
LEAST_SHOWN = 30
"""While a season is open, sites show means of no smaller group of tasks."""
_COMMITMENT = "planarena season commitment/1"
_COMMITMENT_WITH_SEALED = "planarena season commitment/2"
_DIGITS = 64
_SEED = re.compile(rf"[0-9a-f]{{{_DIGITS}}}")


class SeedError(ValueError):
    """The text is not a valid seed; the message is a sentence that does not contain it."""


def checked_seed(seed: str, *, what: str) -> str:
    """Return the seed if it is valid: 64 hexadecimal digits.

    Args:
        what: names the seed at the beginning of the message.

    Raises:
        SeedError: it is invalid.
    """
    if not _SEED.fullmatch(seed):
        has = "other characters" if len(seed) == _DIGITS else f"{len(seed)} characters"
        raise SeedError(
            f"{what} must be exactly {_DIGITS} hexadecimal digits, 0 to 9 and a to f, such as `openssl rand -hex 32` "
            f"prints; this one has {has}."
        )
    return seed


def suite_on_split(*, suite: Suite, split: str, hidden_seed: str | None, sealed: Sequence[SealedRequest] = ()) -> Suite:
    """The suite as planners see it on a split: with hidden requests on the hidden split, unchanged on others.

    Keys and metrics are those of `suite`, whose digest is compared between site and worker.
    Tasks are in the order of `asking_order`. The result is only for calling planners and judging plans: no output may
    contain its texts.

    Args:
        suite: one of the registry's.
        split: a split of the suite's conditions.
        hidden_seed: the secret; needed for the hidden split, ignored on the others.
        sealed: the season's sealed requests, in any order; ignored on the other splits.

    Raises:
        ValueError: the split is hidden and the seed is missing, the suite has no hidden requests, or it has no place
            for a sealed one.
    """
    if split != HIDDEN:
        return suite
    if not hidden_seed:
        raise ValueError("the hidden split needs its secret seed")
    if suite.hidden_requests is None:
        raise ValueError(f"the suite {suite.slug} has no hidden requests: its requests are published data")
    generated = suite.hidden_requests(suite, hidden_seed)
    mixed = with_sealed(suite=suite, tasks=generated, requests=sealed, seed=hidden_seed)
    asked = {task.key: task for task in mixed}
    ordered = asking_order(asked, suite=suite.slug, seed=hidden_seed)
    named = (replace(asked[key], asked_as=asked_name(key, suite=suite.slug, seed=hidden_seed)) for key in ordered)
    return replace(suite, tasks=tuple(named))


def asked_name(key: str, *, suite: str, seed: str) -> str:
    """The task id that planners see, 16 hexadecimal digits. Without the seed it reveals neither key nor position.

    Args:
        key: of the task.
        suite: slug.
        seed: of the suite's hidden data.
    """
    return derived("name", suite, key, seed=seed)[:16]


def asking_order(keys: Iterable[str], *, suite: str, seed: str) -> list[str]:
    """The keys in the order in which planners get the tasks: by `asked_name`, a permutation that depends on the seed.

    The position of a request therefore reveals no more than its name, and neither reveals anything about the task while
    the seed is secret.
    """
    return sorted(keys, key=lambda key: asked_name(key, suite=suite, seed=seed))


def commitment(*, seed: str, season: str, suite: str, sealed: str = "") -> str:
    """SHA-256 of the length-prefixed names of season and suite, the seed and the digest of sealed requests, as 64
    hexadecimal digits.

    Published when a season is announced. Once the seed is published too, anyone can verify that neither it nor a sealed
    request was replaced, since no other seed, requests, season or suite have this commitment.

    Args:
        seed: of the hidden data.
        season: name of the season.
        suite: slug of the suite.
        sealed: `sealed_digest` of the season's sealed requests; empty if there are none.

    Raises:
        SeedError: the seed is invalid.
    """
    secret = checked_seed(seed, what="The seed of hidden data")
    if not sealed:
        return framed_digest(_COMMITMENT, season, suite, secret)
    return framed_digest(_COMMITMENT_WITH_SEALED, season, suite, secret, sealed)


@dataclass(frozen=True, slots=True)
class HiddenSeed:
    """The seed of a suite's hidden data, its season, and the requests that do not follow from the seed."""

    secret: str = field(repr=False)
    season: str = ""
    """Name of the season; empty for data that were not announced."""
    sealed: tuple[SealedRequest, ...] = ()
    """All sealed requests of the season (`sealed.py`)."""

    def commitment(self, suite: str) -> str:
        """See `commitment`."""
        return commitment(seed=self.secret, season=self.season, suite=suite, sealed=sealed_digest(self.sealed))

    def data_digest(self, *, source: str, suite: str) -> str:
        """See `data_digest`."""
        return data_digest(source=source, split=HIDDEN, season=self.season, committed=self.commitment(suite))


def data_digest(*, source: str, split: str, season: str = "", committed: str = "") -> str:
    """SHA-256 of everything that identifies the data of an evaluation.

    Args:
        source: digest of the source of samples; empty where plans are judged.
        split: of the suite's data.
        season: name of the season on the hidden split; else empty.
        committed: `commitment` to its seed; else empty.
    """
    return canonical_json.digest({"source": source, "split": split, "season": season, "commitment": committed})
