"""Addresses of boards and snapshots, as people copy them from the browser."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from evaluator.client.errors import UsageError

_PATH = re.compile(
    r"(?P<prefix>.*?)/(?:api/v1/)?boards/(?P<suite>[-a-zA-Z0-9_]{1,100})"
    r"(?:/snapshots/(?P<number>[0-9]{1,9})(?:\.(?:json|csv|bib))?(?:/proof)?|/rows|/plots)?/?"
)
CONDITIONS = ("profile_digest", "split", "samples", "data_digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardAddress:
    """A board or one of its snapshots."""

    site: str
    """Without a slash at the end."""
    suite: str
    number: int | None
    """None: the newest."""
    conditions: tuple[str, str, str, str] | None
    """Profile digest, split, number of samples and data digest of another board than the usual one."""
    season: str = ""
    """Name of the season whose board it is; empty: the present one."""


def board_address(text: str) -> BoardAddress:
    """Read an address.

    Raises:
        UsageError: it is none of a board.
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    match = _PATH.fullmatch(parts.path)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or match is None:
        raise UsageError(
            f"{text!r} is no address of a board, such as https://planarena.example.org/boards/SUITE/ or "
            "https://planarena.example.org/boards/SUITE/snapshots/12/"
        )
    query = parse_qs(parts.query)
    given = [query.get(name, [""])[-1] for name in CONDITIONS]
    return BoardAddress(
        site=f"{parts.scheme}://{parts.netloc}{match['prefix']}",
        suite=match["suite"],
        number=int(match["number"]) if match["number"] else None,
        conditions=(given[0], given[1], given[2], given[3]) if all(given[:3]) else None,
        season=query.get("season", [""])[-1],
    )
