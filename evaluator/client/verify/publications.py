"""The same snapshot as the site shows it elsewhere: the API's other documents, files, and the pages that people read.

What was signed is of little use if the page shows other figures. Of pages, the rows of the table are read by the marks
that their cells have (`data-cell`); what else a page says or draws is not.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from evaluator.client.verify.documents import MalformedError
from evaluator.client.verify.fetching import FetchError, MissingError
from evaluator.client.verify.report import Report
from evaluator.client.verify.rows import columns_of
from evaluator.client.verify.site import ROWS_PER_PAGE, BoardAddress, Site
from evaluator.core import canonical_json
from evaluator.core.signatures.documents import SnapshotProof
from evaluator.core.signatures.statements import SnapshotStatement
from evaluator.core.suites.base import shown_columns
from evaluator.scoring import board_table
from evaluator.scoring.board_table import BoardFacts
from evaluator.scoring.metrics.digits import rounded
from evaluator.scoring.metrics.undecided import range_in_words, ranged

_PART = "published"
_NOT_SIGNED = frozenset({"reference", "suite.title", "suite.metrics"})
"""Words about the suite, and figures that papers report: no part of a snapshot, and not compared."""
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
"""Elements of HTML without an end tag."""
_METRICS = ("metric-", "shown-")
"""Marks of the exact and the rounded value of a metric, before its key. Rounded ones may be missing."""
_MOST_IN_A_ROW = 200
"""Elements: what reads a row takes time for each pair of them."""
_Check = Callable[[Any], bool]


@dataclass(frozen=True, kw_only=True)
class _Shown:
    """A snapshot as it was signed, and where it is compared."""

    site: Site
    prefix: str
    """Of all addresses of the site, without a slash at its end."""
    statement: SnapshotStatement
    proof: SnapshotProof
    report: Report

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.proof.content["rows"]
        return found

    @property
    def suite(self) -> str:
        return quote(self.statement.suite.slug, safe="")

    @property
    def path(self) -> str:
        """Of the snapshot's page."""
        return f"/boards/{self.suite}/snapshots/{self.statement.number}/"

    @property
    def facts(self) -> BoardFacts:
        """What every line of its table says."""
        suite, conditions = self.statement.suite, self.statement.conditions
        return BoardFacts(
            columns=columns_of(suite), site=self.prefix, suite=suite.slug, suite_version=suite.version,
            suite_digest=suite.digest, conditions={**conditions.public_json(), "season": conditions.season},
            snapshot=self.statement.number, snapshot_digest=self.proof.digest,
        )  # fmt: skip


def check_publications(
    *, site: Site, address: BoardAddress, statement: SnapshotStatement, proof: SnapshotProof, report: Report
) -> None:
    """Compare the API, the files and the pages with a snapshot.

    Args:
        site: serves them.
        address: what is verified. Of a board, its own page, rows and files are compared too, not only the snapshot's.
        statement: the signed statement.
        proof: the snapshot with its rows, all of which can be read.
        report: the findings are added to it.
    """
    shown = _Shown(site=site, prefix=address.site, statement=statement, proof=proof, report=report)
    before = len(report.findings)
    api = f"/api/v1/boards/{shown.suite}/"
    _check_json(f"{api}snapshots/{statement.number}/", expected=_snapshot(shown), shown=shown)
    _check_json(f"{shown.path[:-1]}.json", expected=_export(shown), shown=shown)
    _check_csv(f"{shown.path[:-1]}.csv", shown=shown)
    every = [column.key for column in shown_columns(columns_of(statement.suite))]
    pages: list[tuple[str, Mapping[str, str | list[str]]]] = [(shown.path, {"column": every})]
    if address.number is None:
        pages.append((f"/boards/{shown.suite}/", dict(address.conditions)))
        if not address.conditions:
            _check_json(api, expected=_board(shown), shown=shown)
            _check_rows(shown)
            _check_json(f"/boards/{shown.suite}/newest.json", expected=_export(shown), shown=shown)
            _check_csv(f"/boards/{shown.suite}/newest.csv", shown=shown)
    for path, query in pages:
        _check_page(path, query=query, shown=shown)
    if len(report.findings) == before:
        what = (
            "API, CSV, JSON and page"
            if address.number is not None
            else "API, CSV, JSON and pages of board and snapshot"
        )
        report.ok(_PART, f"{what} show the signed rows")


def _snapshot(shown: _Shown) -> dict[str, Any]:
    """`/api/v1/boards/<suite>/snapshots/<number>/`"""
    signature = shown.proof.signature
    return {
        **_board(shown),
        "suite_version": shown.statement.suite.version,
        "url": _address(shown.prefix + shown.path),
        "signature": None if signature is None else signature.model_dump(mode="json"),
    }


def _board(shown: _Shown) -> dict[str, Any]:
    """`/api/v1/boards/<suite>/`"""
    statement = shown.statement
    return {
        "suite": statement.suite.slug,
        "number": statement.number,
        "digest": shown.proof.digest,
        "created": _time(statement.created),
        **statement.conditions.public_json(),
        "content": shown.proof.content,
    }


def _export(shown: _Shown) -> dict[str, Any]:
    """The snapshot as a JSON file, `planarena-board/1`."""
    statement = shown.statement
    return {
        "format": "planarena-board/1",
        "address": _address(shown.prefix + shown.path),
        "suite": {name: getattr(statement.suite, name) for name in ("slug", "version", "digest")},
        "conditions": statement.conditions.public_json(),
        "snapshot": {
            "number": statement.number,
            "digest": shown.proof.digest,
            "created": _time(statement.created),
        },
        "content": shown.proof.content,
    }


def _address(expected: str) -> _Check:
    """Sites behind a proxy may name the wrong scheme."""
    return lambda found: isinstance(found, str) and urlsplit(found)[1:] == urlsplit(expected)[1:]


def _time(expected: datetime) -> _Check:
    def same(found: object) -> bool:
        try:
            return isinstance(found, str) and datetime.fromisoformat(found) == expected
        except (ValueError, TypeError):
            return False

    return same


def _read(path: str, *, shown: _Shown, is_page: bool = False) -> bytes | None:
    try:
        return shown.site.page(path) if is_page else shown.site.file(path)
    except MissingError as error:
        shown.report.mismatch(_PART, f"{path} is missing: {error}", expected="the snapshot", found="none")
    except FetchError as error:
        shown.report.not_checked(_PART, f"{path}: {error}")
    return None


def _check_json(path: str, *, expected: Mapping[str, Any], shown: _Shown) -> None:
    data = _read(path, shown=shown)
    if data is None:
        return
    try:
        found = canonical_json.loads(data)
    except ValueError as error:
        shown.report.not_checked(_PART, f"{path} cannot be verified: it {error}")
        return
    for place, wanted, is_ in _differences(expected, found):
        shown.report.mismatch(_PART, f"{path}: {place or 'it'} is not as it was signed", expected=wanted, found=is_)


def _differences(expected: Any, found: Any, *, place: str = "") -> Iterator[tuple[str, object, object]]:
    if callable(expected):
        if not expected(found):
            yield place, "the signed one", found
    elif isinstance(expected, Mapping) and place != "content":
        if not isinstance(found, dict):
            yield place, "an object", found
            return
        for name in sorted({*expected, *found}):
            inner = f"{place}.{name}" if place else name
            if inner in _NOT_SIGNED:
                continue
            if name not in expected:
                yield inner, "no such field", found[name]
            elif name not in found:
                yield inner, "such a field", "none"
            else:
                yield from _differences(expected[name], found[name], place=inner)
    elif canonical_json.dumps(expected) != canonical_json.dumps(found):
        yield place, *_first_difference(expected, found)


def _first_difference(expected: Any, found: Any) -> tuple[object, object]:
    """Where the rows of two contents differ, rather than their first characters."""
    if isinstance(expected, Mapping) and isinstance(found, dict) and isinstance(found.get("rows"), list):
        for one, other in zip(expected["rows"], found["rows"], strict=False):
            if canonical_json.dumps(one) != canonical_json.dumps(other):
                return one, other
    return expected, found


def _check_rows(shown: _Shown) -> None:
    """The rows of the API, page by page."""
    pages = _pages(shown)
    for number in range(1, pages + 1):
        what = f"page {number} of the API's rows"
        try:
            page = shown.site.rows(shown.statement.suite.slug, page=number)
        except (FetchError, MalformedError) as error:
            shown.report.not_checked(_PART, f"{what}: {error}")
            return
        first = (number - 1) * ROWS_PER_PAGE
        expected = {
            "snapshot": shown.statement.number,
            "coverage": shown.statement.coverage,
            "total": len(shown.rows),
            "matching": len(shown.rows),
            "next": _page_link(number + 1 if number < pages else None),
            "previous": _page_link(number - 1 if number > 1 else None),
            "rows": list(shown.rows[first : first + ROWS_PER_PAGE]),
        }
        for place, wanted, is_ in _differences(expected, page.model_dump(mode="json")):
            shown.report.mismatch(_PART, f"{what}: {place} is not as it was signed", expected=wanted, found=is_)


def _page_link(number: int | None) -> _Check:
    if number is None:
        return lambda found: found is None
    return lambda found: isinstance(found, str) and f"page={number}" in urlsplit(found).query.split("&")


def _pages(shown: _Shown) -> int:
    return max(1, -(-len(shown.rows) // ROWS_PER_PAGE))


def _check_csv(path: str, *, shown: _Shown) -> None:
    data = _read(path, shown=shown)
    if data is None:
        return
    try:
        found = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        shown.report.not_checked(_PART, f"{path} is no CSV file that can be read ({type(error).__name__})")
        return
    text = board_table.as_csv(facts=shown.facts, rows=shown.rows)
    expected = list(csv.reader(io.StringIO(text, newline="")))
    if found[:1] != expected[:1]:
        shown.report.not_checked(_PART, f"{path} has other columns than this version of PlanArena compares")
        return
    if len(found) != len(expected):
        text = f"{path}: the number of rows is wrong"
        shown.report.mismatch(_PART, text, expected=len(expected) - 1, found=len(found) - 1)
        return
    header = expected[0]
    for number, (wanted, line) in enumerate(zip(expected[1:], found[1:], strict=True), start=1):
        if len(line) != len(header):
            text = f"{path}, row {number}: the number of cells is wrong"
            shown.report.mismatch(_PART, text, expected=len(header), found=len(line))
            continue
        for name, one, other in zip(header, wanted, line, strict=True):
            same = _address(one)(other) if name == "evaluation" else one == other
            if not same:
                text = f"{path}, row {number}: {name} is not as it was signed"
                shown.report.mismatch(_PART, text, expected=one, found=other)


def _check_page(path: str, *, query: Mapping[str, str | list[str]], shown: _Shown) -> None:
    """The table of a page, over all its pages. Without a choice of columns it may leave out whole columns of metrics,
    except the primary one."""
    reader = _TableReader()
    for number in range(1, _pages(shown) + 1):
        chosen = {"per_page": str(ROWS_PER_PAGE), **query, **({"page": str(number)} if number > 1 else {})}
        address = f"{path}?{urlencode(chosen, doseq=True)}"
        data = _read(address, shown=shown, is_page=True)
        if data is None:
            return
        try:
            reader.feed(data.decode("utf-8"))
        except UnicodeDecodeError:
            shown.report.not_checked(_PART, f"{address} is not UTF-8")
            return
        except _TableError as error:
            shown.report.not_checked(_PART, f"{address} {error}")
            return
    expected = [(str(row["evaluation"]), _cells(row, shown=shown)) for row in shown.rows]
    order, wanted_order = [one for one, _ in reader.rows], [one for one, _ in expected]
    if order != wanted_order:
        text = f"{path} shows other rows, or in another order"
        shown.report.mismatch(_PART, text, expected=wanted_order, found=order)
        return
    primary = f"metric-{shown.statement.suite.ranked_by}"
    on_page = {name for _, found in reader.rows for name in found}
    for (evaluation, wanted), (_, found) in zip(expected, reader.rows, strict=True):
        for name in sorted({*wanted, *found}):
            if name not in {primary, *on_page} and name.startswith("shown-" if "column" in query else _METRICS):
                continue
            if wanted.get(name) != found.get(name):
                text = f"{path}, evaluation {evaluation}: {name} is not as it was signed"
                shown.report.mismatch(_PART, text, expected=wanted.get(name, "none"), found=found.get(name, "none"))


def _cells(row: Mapping[str, Any], *, shown: _Shown) -> dict[str, str]:
    """What the page shows of a row, by the marks of its cells."""
    names = {name: _words([str(row[name])]) for name in ("planner", "version", "owner", "team") if row.get(name)}
    ranks = {} if row["rank"] is None else {"rank": str(row["rank"])}
    if row["rank_low"] != row["rank_high"]:
        ranks["rank_range"] = f"{row['rank_low']}\N{EN DASH}{row['rank_high']}"
    values = {
        column.key: ranged(metrics=row["metrics"], column=column)
        for column in shown_columns(columns_of(shown.statement.suite))
    }
    exact = {f"metric-{key}": range_in_words(value) for key, value in values.items() if value}
    short = {f"shown-{key}": str(rounded(value)) for key, value in values.items() if value}
    return {**names, **ranks, **exact, **short}


class _TableError(ValueError):
    """A page whose table is not read; the message is the end of a sentence."""


class _TableReader(HTMLParser):
    """Collects the marked cells of the rows of a board's table."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[tuple[str, dict[str, str]]] = []
        """Evaluation and texts by mark, in order."""
        self._open: list[tuple[str, str]] = []
        """The elements that are open within a row, with their marks."""
        self._texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "tr" and (given.get("id") or "").startswith("row-"):
            self._end_row()
            self.rows.append(((given["id"] or "").removeprefix("row-"), {}))
            self._open = [(tag, "")]
        elif self._open and tag not in _VOID:
            if len(self._open) > _MOST_IN_A_ROW or len(self._texts) > _MOST_IN_A_ROW:
                raise _TableError(f"has a row with more than {_MOST_IN_A_ROW} elements in each other, or marked cells")
            mark = given.get("data-cell") or ""
            # A second one of the same name would show what the first does not.
            while mark and mark in self._texts:
                mark += " again"
            if mark:
                self._texts[mark] = []
            self._open.append((tag, mark))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, _ = self._open.pop()
            if name == tag:
                break
        if tag == "tr":
            self._end_row()

    def handle_data(self, data: str) -> None:
        for _, mark in self._open:
            if mark:
                self._texts[mark].append(data)

    def _end_row(self) -> None:
        if self.rows and self._texts:
            self.rows[-1][1].update({mark: _words(texts) for mark, texts in self._texts.items()})
        self._open, self._texts = [], {}


def _words(texts: Iterable[str]) -> str:
    """A text as browsers show it, without needless white space."""
    return " ".join("".join(texts).split())
