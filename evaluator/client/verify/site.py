"""Addresses of boards as people copy them from the browser, and the answers of a site that a verification needs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx

from evaluator.client.errors import UsageError
from evaluator.client.verify.documents import (
    ListedSnapshot,
    MalformedError,
    Page,
    RowsPage,
    SnapshotPage,
    parsed,
)
from evaluator.client.verify.fetching import Fetcher, FetchError
from evaluator.core.signatures.documents import EvaluationProof, KeysDocument, SnapshotProof, WithdrawalsDocument

_Page = TypeVar("_Page", bound=Page)
KEYS_PATH = "/.well-known/planarena-keys.json"
_MEBIBYTE = 1024 * 1024
_LARGEST_DOCUMENT = 64 * _MEBIBYTE
_LARGEST_PAGE = 8 * _MEBIBYTE
"""A hundred rows have about one."""
_LARGEST_OBJECT = 64 * _MEBIBYTE
_MOST_PAGES = 400
_PAGE_SIZE = 500
ROWS_PER_PAGE = 100
"""As many as the site shows at once."""


class Site:
    """Typed answers of a site. Every method raises `FetchError` or `MalformedError`."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    def keys(self) -> KeysDocument:
        """The site's public keys."""
        return parsed(self._fetcher.get(KEYS_PATH, most_bytes=_MEBIBYTE), shape=KeysDocument)

    def rows(self, suite: str, *, page: int) -> RowsPage:
        """A page of the rows of a suite's board, as the API serves them."""
        query = urlencode({"per_page": str(ROWS_PER_PAGE), "page": str(page)})
        return parsed(self._board(suite, f"rows/?{query}"), shape=RowsPage)

    def withdrawals(self, suite: str) -> WithdrawalsDocument:
        """What was taken back from the boards of a suite."""
        return parsed(self._board(suite, "withdrawals/"), shape=WithdrawalsDocument)

    def file(self, path: str, *, most_bytes: int = _LARGEST_DOCUMENT) -> bytes:
        """A document of any form."""
        return self._fetcher.get(path, most_bytes=most_bytes)

    def page(self, path: str) -> bytes:
        """A page for people."""
        return self._fetcher.get(path, most_bytes=_LARGEST_PAGE)

    def history(self, suite: str) -> Iterator[ListedSnapshot]:
        """Every snapshot of a suite, the newest first."""
        query = {"fields": "number,digest,signature", "page_size": str(_PAGE_SIZE)}
        path = f"/api/v1/boards/{quote(suite, safe='')}/snapshots/"
        for page in self.pages(path, query=query, shape=SnapshotPage, what="snapshots"):
            yield from page.results

    def pages(self, path: str, *, query: Mapping[str, str], shape: type[_Page], what: str) -> Iterator[_Page]:
        """Every page of a list."""
        query = dict(query)
        for position in range(_MOST_PAGES):
            page = parsed(self.file(f"{path}?{urlencode(query)}"), shape=shape)
            if (page.previous is None) != (position == 0):
                raise MalformedError(f"does not say on page {position + 1} whether there is a page before it")
            yield page
            if page.next is None:
                return
            query["cursor"] = _cursor(page.next)
        raise FetchError(f"the list of {what} has more than {_MOST_PAGES} pages")

    def snapshot(self, *, suite: str, number: int) -> SnapshotProof:
        """A snapshot with what its statement binds."""
        return parsed(self._board(suite, f"snapshots/{number}/proof/"), shape=SnapshotProof)

    def evaluation(self, evaluation: str) -> EvaluationProof:
        """The results of an evaluation with what its statement binds."""
        path = f"/api/v1/evaluations/{quote(evaluation, safe='')}/proof/"
        return parsed(self._fetcher.get(path, most_bytes=_LARGEST_DOCUMENT), shape=EvaluationProof)

    def object(self, digest: str) -> bytes:
        """A record or an artefact; whether it has this digest is not checked."""
        return self._fetcher.get(f"/objects/{quote(digest, safe='')}", most_bytes=_LARGEST_OBJECT)

    def _board(self, suite: str, rest: str) -> bytes:
        return self.file(f"/api/v1/boards/{quote(suite, safe='')}/{rest}")


def _cursor(address: str) -> str:
    """Only the cursor is taken: a site must not lead its reader to another address."""
    try:
        return str(httpx.URL(address).params["cursor"])
    except (httpx.InvalidURL, KeyError):
        raise MalformedError("names a next page without a cursor") from None


_PATH = re.compile(
    r"(?P<prefix>.*?)/(?:api/v1/)?boards/(?P<suite>[-a-zA-Z0-9_]{1,100})"
    r"(?:/snapshots/(?P<number>[0-9]{1,9})(?:\.(?:json|csv|bib))?(?:/proof)?|/rows|/plots)?/?"
)
_CONDITIONS = ("profile_digest", "split", "samples", "data_digest", "device_class")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardAddress:
    """A board or one of its snapshots."""

    site: str
    """Without a slash at the end."""
    suite: str
    number: int | None
    """None: the newest."""
    conditions: Mapping[str, str]
    """By name of the parameter, the conditions of another board than the usual one."""


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
    values = {name: query.get(name, [""])[-1] for name in (*_CONDITIONS, "season")}
    conditions = {name: values[name] for name in _CONDITIONS} if all(values[name] for name in _CONDITIONS[:3]) else {}
    if values["season"]:
        conditions["season"] = values["season"]
    return BoardAddress(
        site=f"{parts.scheme}://{parts.netloc}{match['prefix']}",
        suite=match["suite"],
        number=int(match["number"]) if match["number"] else None,
        conditions=conditions,
    )
