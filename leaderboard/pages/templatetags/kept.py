"""`{% kept KEY ... %}`: a part of a page that is rendered once and kept in memory while its key stays the same.

The key must name everything that the part shows, or a `Mark` of it, and who may see it where that differs.
"""

from collections.abc import Hashable

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString

from leaderboard.site.lru_cache import SharedCache

register = template.Library()

_MOST_CHARACTERS = 24_000_000
_parts: SharedCache[Hashable, SafeString] = SharedCache(maxsize=_MOST_CHARACTERS, size_of=len)


class KeptNode(template.Node):
    """A part of a template; parts of different places in templates never share a key."""

    def __init__(self, *, keys: list[FilterExpression], nodelist: NodeList) -> None:
        self._keys = keys
        self.nodelist = nodelist
        self._place = object()

    def render(self, context: Context) -> SafeString:
        """The part, rendered now unless it is kept."""
        values = [key.resolve(context) for key in self._keys]
        # Types too: 1 and True are equal, and so are a text and the same text marked safe.
        key = (self._place, context.autoescape, *values, *map(type, values))
        return _parts.get_or_make(key, lambda: self.nodelist.render(context))


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
