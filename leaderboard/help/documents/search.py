"""Full-text search over the documentation, by SQLite's FTS5 in the process's memory."""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from html import unescape
from threading import Lock
from typing import NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse

from leaderboard.help.documents.chapters import BY_SLUG, Passage, passages_of
from leaderboard.help.documents.reference import api_topics

_WORD = re.compile(r"\w+")
_WEIGHTS = "6.0, 8.0, 1.0"
"""Of the columns page, heading and text in BM25: who looks for a word of a heading wants that section."""
_OPEN, _CLOSE = "\x02", "\x03"
_EXCERPT_WORDS = 18
_GUIDE = re.compile(r'<h2 id="(?P<anchor>[\w-]+)">(?P<heading>.*?)</h2>(?P<body>.*?)(?=<h2 |\Z)', re.DOTALL)


class Piece(NamedTuple):
    """A stretch of an excerpt."""

    text: str
    matches: bool


class Found(NamedTuple):
    """A section that has every word of the query."""

    page: str
    heading: str
    """Empty for the beginning of a page."""
    url: str
    excerpt: Sequence[Piece]


class Documentation:
    """An index of sections. Used from any thread."""

    def __init__(self, sections: Iterable[tuple[str, str, str, str]]) -> None:
        """Args:
        sections: page, heading, text and address of each.
        """
        self._lock = Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "CREATE VIRTUAL TABLE sections USING fts5(page, heading, text, url UNINDEXED, tokenize='porter unicode61')"
        )
        self._database.executemany("INSERT INTO sections VALUES (?, ?, ?, ?)", sections)

    def find(self, *, words: str, limit: int) -> list[Found]:
        """Sections that have each word, or a word that begins with the last one; the best first."""
        query = _query(words)
        if not query:
            return []
        # A stranger's words are only ever quoted strings of the query; `sections` and the weights are ours.
        statement = (
            f"SELECT page, heading, url, snippet(sections, 2, '{_OPEN}', '{_CLOSE}', '…', {_EXCERPT_WORDS}) "  # noqa: S608
            f"FROM sections WHERE sections MATCH ? ORDER BY bm25(sections, {_WEIGHTS}), rowid LIMIT ?"
        )
        with self._lock:
            rows = self._database.execute(statement, (query, limit)).fetchall()
        return [
            Found(page=page, heading=heading, url=url, excerpt=_pieces(excerpt)) for page, heading, url, excerpt in rows
        ]


@cache
def documentation() -> Documentation:
    """The index of this release's documentation; made once in each process, since it follows from the code alone."""
    return Documentation(_sections())


def _query(words: str) -> str:
    found = _WORD.findall(words)
    return " ".join([*(f'"{word}"' for word in found[:-1]), f'"{found[-1]}"*']) if found else ""


def _pieces(excerpt: str) -> list[Piece]:
    parts = re.split(f"[{_OPEN}{_CLOSE}]", excerpt)
    return [Piece(text, bool(index % 2)) for index, text in enumerate(parts) if text]


def _sections() -> Iterable[tuple[str, str, str, str]]:
    guide = reverse("boards:docs")
    for found in _GUIDE.finditer(render_to_string("help/docs.html", {"site": "", "groups": (), "slug": ""})):
        yield "Write an endpoint", _plain(found["heading"]), _plain(found["body"]), f"{guide}#{found['anchor']}"
    for slug, chapter in BY_SLUG.items():
        url = reverse("handbook:chapter", args=[slug])
        for passage in passages_of(slug):
            yield chapter.title, passage.heading, passage.text, _address(url, passage)
    url = reverse("handbook:reference")
    for topic in api_topics():
        for call in topic.calls:
            yield "API reference", f"{call.method} {call.path}", _plain(call.description), f"{url}#{call.anchor}"


def _address(url: str, passage: Passage) -> str:
    return f"{url}#{passage.anchor}" if passage.anchor else url


def _plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", html))
