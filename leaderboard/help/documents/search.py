"""Full-text search over the documentation, with an in-memory index of SQLite's FTS5."""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from html import unescape
from threading import Lock
from typing import NamedTuple

from django.template.loader import render_to_string
from django.urls import reverse

from leaderboard.help.documents.chapters import BY_SLUG, passages_of
from leaderboard.help.documents.reference import api_topics

_WORD = re.compile(r"\w+")
_WEIGHTS = "6.0, 8.0, 1.0"
"""BM25 weights of page, heading and text: matches in headings count most."""
_OPEN, _CLOSE = "\x02", "\x03"
_EXCERPT_WORDS = 18
_GUIDE = re.compile(r'<h2 id="(?P<anchor>[\w-]+)">(?P<heading>.*?)</h2>(?P<body>.*?)(?=<h2 |\Z)', re.DOTALL)


class Piece(NamedTuple):
    """A part of an excerpt."""

    text: str
    matches: bool


class Match(NamedTuple):
    """A section that matches the query."""

    page: str
    heading: str
    """Empty for the beginning of a page."""
    url: str
    excerpt: Sequence[Piece]


class Documentation:
    """A thread-safe index of sections."""

    def __init__(self, sections: Iterable[tuple[str, str, str, str]]) -> None:
        """Args:
        sections: page, heading, text and URL of each.
        """
        self._lock = Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "CREATE VIRTUAL TABLE sections USING fts5(page, heading, text, url UNINDEXED, tokenize='porter unicode61')"
        )
        self._database.executemany("INSERT INTO sections VALUES (?, ?, ?, ?)", sections)

    def find(self, *, words: str, limit: int) -> list[Match]:
        """Sections that contain all words, the last one as a prefix; best match first."""
        terms = _WORD.findall(words)
        if not terms:
            return []
        query = " ".join([*(f'"{term}"' for term in terms[:-1]), f'"{terms[-1]}"*'])
        # User input occurs only as quoted strings within the bound query.
        statement = (
            f"SELECT page, heading, url, snippet(sections, 2, '{_OPEN}', '{_CLOSE}', '…', {_EXCERPT_WORDS}) "  # noqa: S608
            f"FROM sections WHERE sections MATCH ? ORDER BY bm25(sections, {_WEIGHTS}), rowid LIMIT ?"
        )
        with self._lock:
            rows = self._database.execute(statement, (query, limit)).fetchall()
        return [
            Match(page=page, heading=heading, url=url, excerpt=_pieces(excerpt)) for page, heading, url, excerpt in rows
        ]


@cache
def documentation() -> Documentation:
    """The index of the documentation, cached per process."""
    return Documentation(_sections())


def _pieces(excerpt: str) -> list[Piece]:
    parts = re.split(f"[{_OPEN}{_CLOSE}]", excerpt)
    return [Piece(text, bool(index % 2)) for index, text in enumerate(parts) if text]


def _sections() -> Iterable[tuple[str, str, str, str]]:
    guide = reverse("boards:docs")
    for section in _GUIDE.finditer(render_to_string("help/docs.html", {"site": "", "groups": (), "slug": ""})):
        yield "Write an endpoint", _plain(section["heading"]), _plain(section["body"]), f"{guide}#{section['anchor']}"
    for slug, chapter in BY_SLUG.items():
        url = reverse("handbook:chapter", args=[slug])
        for passage in passages_of(slug):
            address = f"{url}#{passage.anchor}" if passage.anchor else url
            yield chapter.title, passage.heading, passage.text, address
    url = reverse("handbook:reference")
    for topic in api_topics():
        for call in topic.calls:
            yield "API reference", f"{call.method} {call.path}", _plain(call.description), f"{url}#{call.anchor}"


def _plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", html))
