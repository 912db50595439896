"""The answers that a verification needs, by what they are about."""

from collections.abc import Iterator
from urllib.parse import quote, urlencode

import httpx

from evaluator.client.verify.documents import (
    ListedSnapshot,
    MalformedError,
    RowsPage,
    SeasonDocument,
    SeasonPage,
    SnapshotPage,
    parsed,
)
from evaluator.client.verify.fetching import Fetcher, FetchError
from evaluator.core.signatures.documents import EvaluationProof, KeysDocument, SnapshotProof, WithdrawalsDocument

KEYS_PATH = "/.well-known/planarena-keys.json"
_MEBIBYTE = 1024 * 1024
_LARGEST_DOCUMENT = 64 * _MEBIBYTE
_LARGEST_PAGE = 8 * _MEBIBYTE
"""A hundred rows have about one."""
_LARGEST_OBJECT = 64 * _MEBIBYTE
_MOST_PAGES = 400
_PAGE_SIZE = 500
_SEASONS_PER_PAGE = 50
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

    def file(self, path: str) -> bytes:
        """A document of any form."""
        return self._fetcher.get(path, most_bytes=_LARGEST_DOCUMENT)

    def page(self, path: str) -> bytes:
        """A page for people."""
        return self._fetcher.get(path, most_bytes=_LARGEST_PAGE)

    def history(self, suite: str) -> Iterator[ListedSnapshot]:
        """Every snapshot of a suite, the newest first."""
        query = {"fields": "number,digest,signature", "page_size": str(_PAGE_SIZE)}
        for position in range(_MOST_PAGES):
            page = parsed(self._board(suite, f"snapshots/?{urlencode(query)}"), shape=SnapshotPage)
            if (page.previous is None) != (position == 0):
                raise MalformedError(f"does not say on page {position + 1} whether there is a page before it")
            yield from page.results
            if page.next is None:
                return
            query["cursor"] = _cursor(page.next)
        raise FetchError(f"the list of snapshots has more than {_MOST_PAGES} pages")

    def snapshot(self, *, suite: str, number: int) -> SnapshotProof:
        """A snapshot with what its statement binds."""
        return parsed(self._board(suite, f"snapshots/{number}/proof/"), shape=SnapshotProof)

    def evaluation(self, evaluation: str) -> EvaluationProof:
        """The results of an evaluation with what its statement binds."""
        path = f"/api/v1/evaluations/{quote(evaluation, safe='')}/proof/"
        return parsed(self._fetcher.get(path, most_bytes=_LARGEST_DOCUMENT), shape=EvaluationProof)

    def season(self, name: str) -> SeasonDocument:
        """A season's commitments, and its seeds once it is closed."""
        path = f"/api/v1/seasons/{quote(name, safe='')}/"
        return parsed(self._fetcher.get(path, most_bytes=_MEBIBYTE), shape=SeasonDocument)

    def seasons(self) -> Iterator[SeasonDocument]:
        """Every season."""
        query = {"page_size": str(_SEASONS_PER_PAGE)}
        for position in range(_MOST_PAGES):
            page = parsed(self.file(f"/api/v1/seasons/?{urlencode(query)}"), shape=SeasonPage)
            if (page.previous is None) != (position == 0):
                raise MalformedError(f"does not say on page {position + 1} whether there is a page before it")
            yield from page.results
            if page.next is None:
                return
            query["cursor"] = _cursor(page.next)
        raise FetchError(f"the list of seasons has more than {_MOST_PAGES} pages")

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
