"""Large parts of a page that are kept as they are sent, and put in when the rest of it has been rendered.

Each template that a part lies in joins all that it holds: the rows of a board were copied eight times and encoded once
more for each reader, which took longer than all else of the page.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString


class LateParts:
    """The parts of one page."""

    def __init__(self) -> None:
        # Nobody can write it into what a page shows.
        self._mark = f"<!--{secrets.token_hex(12)} "
        self._parts: list[Sequence[bytes]] = []

    def add(self, parts: Sequence[bytes]) -> SafeString:
        """What stands for these parts, one after the other, until the page is filled."""
        self._parts.append(parts)
        return SafeString(f"{self._mark}{len(self._parts) - 1}-->")

    def filled(self, page: str) -> bytes:
        """The page with all parts."""
        first, *others = page.split(self._mark)
        found = [first.encode()]
        for one in others:
            number, _, text = one.partition("-->")
            found += [*self._parts[int(number)], text.encode()]
        return b"".join(found)


def render_late(request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """`render` for pages with tables that are `{% keptfor %}`: it finds `late` in the context."""
    late = LateParts()
    return HttpResponse(late.filled(render_to_string(template, {**context, "late": late}, request)))
