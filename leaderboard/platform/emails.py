"""Emails as text and as HTML. The HTML is made from the text, so that neither says more than the other.

The text has paragraphs between empty lines. In HTML, a paragraph `LABEL: ADDRESS` is a button, lines that begin with
`- ` are a list, other addresses are links, and what follows the line `-- ` is small print. Everything is escaped, and
nothing is loaded from another place.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

FOOTER = "-- "
"""The line before the small print, as in mail programs."""
_ADDRESS = re.compile(r"https?://[^\s<>\"]+[^\s<>\".,;:!?)]")
_BUTTON = re.compile(rf"(?P<label>[^:\n]{{2,60}}): (?P<url>{_ADDRESS.pattern})")


class Piece(NamedTuple):
    """A part of a line: text, or an address that is a link."""

    text: str
    is_link: bool


class Block(NamedTuple):
    """A paragraph, a list or a button of an email."""

    lines: Sequence[Sequence[Piece]] = ()
    items: Sequence[Sequence[Piece]] = ()
    label: str = ""
    url: str = ""


def multipart(
    *, subject: str, text: str, to: Sequence[str], sender: str | None = None, headers: dict[str, str] | None = None
) -> EmailMultiAlternatives:
    """An email with this text, and with the same as HTML.

    Args:
        subject: one line.
        text: see the module.
        to: addresses.
        sender: None: the site's.
        headers: further headers.
    """
    message = EmailMultiAlternatives(subject=subject, body=text, to=to, from_email=sender, headers=headers)
    message.attach_alternative(as_html(subject=subject, text=text), "text/html")
    return message


def as_html(*, subject: str, text: str) -> str:
    """The HTML of an email."""
    body, _, footer = f"{text.strip()}\n".partition(f"\n{FOOTER}\n")
    context = {"subject": subject, "blocks": list(_blocks(body)), "footer": list(_blocks(footer, buttons=False))}
    return render_to_string("email.html", context)


def _blocks(text: str, *, buttons: bool = True) -> Iterator[Block]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
        if not lines:
            continue
        found = _BUTTON.fullmatch(lines[0]) if buttons and len(lines) == 1 else None
        if found:
            yield Block(label=found["label"], url=found["url"])
        elif all(line.startswith("- ") for line in lines):
            yield Block(items=[_pieces(line.removeprefix("- ")) for line in lines])
        else:
            yield Block(lines=[_pieces(line) for line in lines])


def _pieces(line: str) -> list[Piece]:
    pieces, end = [], 0
    for found in _ADDRESS.finditer(line):
        pieces += [Piece(line[end : found.start()], is_link=False), Piece(found[0], is_link=True)]
        end = found.end()
    return [piece for piece in [*pieces, Piece(line[end:], is_link=False)] if piece.text]
