"""Parts of pages that are rendered once and kept in memory while their keys stay the same.

`{% kept KEY ... %}` keeps one part, `{% keptfor ROW in ROWS KEY ... %}` one of each row, whose `kept_key` is a part of
its key. A key must name everything that the part shows, or a `Mark` of it, and who may see it where that differs.
"""

import hashlib
import re
from collections.abc import Hashable, Sized
from typing import Any

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

from leaderboard.platform.http.caching import LateParts
from leaderboard.platform.lru_cache import Mark, SharedCache

register = template.Library()

_MOST_CHARACTERS = 24_000_000
_OF_A_KEY = 1000
"""Characters that each entry counts for its key. Strangers choose addresses, and many parts are empty."""
_LONGEST = 100
"""Characters of a text in a key; of longer ones it has the digest."""
_MOST_TABLES = 1000
_LINES = re.compile(r"\s*\n\s*")


def _size(part: Sized) -> int:
    return len(part) + _OF_A_KEY


_parts: SharedCache[Hashable, SafeString] = SharedCache(maxsize=_MOST_CHARACTERS, size_of=_size)
_rows: SharedCache[Hashable, bytes] = SharedCache(maxsize=_MOST_CHARACTERS, size_of=_size)
_marks: SharedCache[Hashable, Mark] = SharedCache(maxsize=_MOST_TABLES)
"""By the key that all rows of a table share; each row's own key holds the mark instead, and is short."""


class KeptNode(template.Node):
    """A part of a template; parts of different places in templates never share a key."""

    def __init__(self, *, keys: list[FilterExpression], nodelist: NodeList) -> None:
        self._keys = keys
        self.nodelist = nodelist
        self._place = object()

    def render(self, context: Context) -> SafeString:
        """The part, rendered now unless it is kept."""
        key = _key(self._place, keys=self._keys, context=context)
        return _parts.get_or_make(key, lambda: self._render(context))

    def _render(self, context: Context) -> SafeString:
        # What is put in late is of one page only.
        with context.push(late=None):
            return self.nodelist.render(context)


class KeptForNode(template.Node):
    """A part for each row of a table, put in late where the context has `late` (`platform/http/caching.py`). Where
    the template breaks lines shows nothing: the parts are without indents."""

    def __init__(self, *, name: str, rows: FilterExpression, keys: list[FilterExpression], nodelist: NodeList) -> None:
        self._name, self._rows, self._keys = name, rows, keys
        self.nodelist = nodelist
        self._place = object()

    def render(self, context: Context) -> SafeString:
        """The parts of all rows, those rendered now that are not kept; or what stands for them."""
        rows = list(self._rows.resolve(context))
        table = _marks.get_or_make(_key(self._place, keys=self._keys, context=context), Mark)
        keys = [(table, row.kept_key) for row in rows]
        kept_rows = _rows.get_all(keys)
        parts = [
            self._make(context, row=row, key=key) if part is None else part
            for row, key, part in zip(rows, keys, kept_rows, strict=True)
        ]
        late: LateParts | None = context.get("late")
        return SafeString(b"".join(parts).decode()) if late is None else late.add(parts)

    def _make(self, context: Context, *, row: Any, key: Hashable) -> bytes:
        with context.push(**{self._name: row, "late": None}):
            made = _LINES.sub("\n", self.nodelist.render(context)).encode()
        _rows.put(key, made)
        return made


def _key(place: object, *, keys: list[FilterExpression], context: Context) -> Hashable:
    values = [key.resolve(context) for key in keys]
    # Types too: 1 and True are equal, and so are a text and the same text marked safe.
    return (place, context.autoescape, *map(_brief, values), *map(type, values))


def _brief(value: Hashable) -> Hashable:
    if isinstance(value, str) and len(value) > _LONGEST:
        return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
    return value


@register.simple_block_tag
def replacing(content: SafeString, mark: str, text: str) -> SafeString:
    """The part between, with a text in the place of each mark: for kept parts that hold something that differs."""
    return SafeString(content.replace(mark, conditional_escape(text)))


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """Keep what is between `{% kept KEY ... %}` and `{% endkept %}`."""
    _, *words = token.split_contents()
    if not words:
        raise template.TemplateSyntaxError("kept needs at least one key")
    keys = [parser.compile_filter(word) for word in words]
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode(keys=keys, nodelist=nodelist)


@register.tag
def keptfor(parser: Parser, token: Token) -> KeptForNode:
    """Keep what is between `{% keptfor ROW in ROWS KEY ... %}` and `{% endkeptfor %}` for each row. It must hold no
    preformatted text."""
    match token.split_contents():
        case [_, name, "in", rows, *words] if words:
            keys = [parser.compile_filter(word) for word in words]
        case _:
            raise template.TemplateSyntaxError("write keptfor ROW in ROWS KEY ...")
    nodelist = parser.parse(("endkeptfor",))
    parser.delete_first_token()
    return KeptForNode(name=name, rows=parser.compile_filter(rows), keys=keys, nodelist=nodelist)
