"""In-process cache of template fragments.

`{% kept KEY ... %}` caches one fragment, `{% keptfor ROW in ROWS KEY ... %}` one per row, with the row's `kept_key`
added to its key. The key must cover everything that the fragment shows, or a `Mark` of it, and the readers if it
differs between them.
"""

import hashlib
import re
from collections.abc import Hashable, Sized

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
"""Characters counted for the key of each entry. Query strings are chosen by clients, and many fragments are empty."""
_LONGEST = 100
"""Maximum length of a text in a key; longer texts are replaced by their digest."""
_MOST_TABLES = 1000
_LINES = re.compile(r"\s*\n\s*")


def _size(part: Sized) -> int:
    return len(part) + _OF_A_KEY


_parts: SharedCache[Hashable, SafeString] = SharedCache(maxsize=_MOST_CHARACTERS, size_of=_size)
_rows: SharedCache[Hashable, bytes] = SharedCache(maxsize=_MOST_CHARACTERS, size_of=_size)
_marks: SharedCache[Hashable, Mark] = SharedCache(maxsize=_MOST_TABLES)
"""By the key that all rows of a table share; the keys of rows contain the mark instead, which keeps them short."""


class KeptNode(template.Node):
    """A cached fragment. Different tags never share a key."""

    def __init__(self, *, keys: list[FilterExpression], nodelist: NodeList) -> None:
        self._keys = keys
        self.nodelist = nodelist
        self._place = object()

    def render(self, context: Context) -> SafeString:
        def make() -> SafeString:
            # Placeholders of late parts are valid for one page only.
            with context.push(late=None):
                return self.nodelist.render(context)

        return _parts.get_or_make(_key(self._place, keys=self._keys, context=context), make)


class KeptForNode(template.Node):
    """A cached fragment for each row of a table, inserted late if the context has `late` (`platform/http/caching.py`).
    Indents are stripped."""

    def __init__(self, *, name: str, rows: FilterExpression, keys: list[FilterExpression], nodelist: NodeList) -> None:
        self._name, self._rows, self._keys = name, rows, keys
        self.nodelist = nodelist
        self._place = object()

    def render(self, context: Context) -> SafeString:
        """The fragments of all rows, or a placeholder for them."""
        rows = list(self._rows.resolve(context))
        table = _marks.get_or_make(_key(self._place, keys=self._keys, context=context), Mark)
        keys = [(table, row.kept_key) for row in rows]
        parts = []
        for row, key, part in zip(rows, keys, _rows.get_all(keys), strict=True):
            if part is None:
                with context.push(**{self._name: row, "late": None}):
                    part = _LINES.sub("\n", self.nodelist.render(context)).encode()
                _rows.put(key, part)
            parts.append(part)
        late: LateParts | None = context.get("late")
        return SafeString(b"".join(parts).decode()) if late is None else late.add(parts)


def _key(place: object, *, keys: list[FilterExpression], context: Context) -> Hashable:
    values = [key.resolve(context) for key in keys]
    brief = [
        hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
        if isinstance(value, str) and len(value) > _LONGEST
        else value
        for value in values
    ]
    # Types too: 1 and True are equal, as are a text and the same text marked safe.
    return (place, context.autoescape, *brief, *map(type, values))


@register.simple_block_tag
def replacing(content: SafeString, mark: str, text: str) -> SafeString:
    """The content with each mark replaced by a text: for cached fragments with a variable part."""
    return SafeString(content.replace(mark, conditional_escape(text)))


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """Cache the fragment between `{% kept KEY ... %}` and `{% endkept %}`."""
    _, *words = token.split_contents()
    if not words:
        raise template.TemplateSyntaxError("kept needs at least one key")
    keys = [parser.compile_filter(word) for word in words]
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode(keys=keys, nodelist=nodelist)


@register.tag
def keptfor(parser: Parser, token: Token) -> KeptForNode:
    """Cache the fragment between `{% keptfor ROW in ROWS KEY ... %}` and `{% endkeptfor %}` for each row. It must not
    contain preformatted text."""
    match token.split_contents():
        case [_, name, "in", rows, *words] if words:
            keys = [parser.compile_filter(word) for word in words]
        case _:
            raise template.TemplateSyntaxError("write keptfor ROW in ROWS KEY ...")
    nodelist = parser.parse(("endkeptfor",))
    parser.delete_first_token()
    return KeptForNode(name=name, rows=parser.compile_filter(rows), keys=keys, nodelist=nodelist)
