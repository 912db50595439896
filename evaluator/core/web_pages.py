"""Web pages that tools make: building one, and reading one, which is hostile until checked.

A page is passive: a fixed set of elements, text, and pictures inside it as `data:` addresses. It has no scripts, styles
from elsewhere, links, forms or frames. `elements_of` refuses all else, so that what is judged is what is shown.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape

LARGEST_PAGE = 512 * 1024
"""Characters of a page, with its pictures."""
LARGEST_MARKUP = 64 * 1024
"""Characters of a page without its pictures."""
MOST_PICTURES = 4
DOCTYPE = "<!doctype html>"
_DEEPEST = 32
_PICTURE = re.compile(r"data:image/(?:png|apng|jpeg);base64,[A-Za-z0-9+/]++={0,2}")
# No quantifier gives back what it took, so that reading is linear in the size of a page. The library's parser takes
# quadratic time on malformed markup.
_TEXT = re.compile(r"[^<]++")
_TAG = re.compile(
    r"<(?P<end>/?+)(?P<tag>[A-Za-z][A-Za-z0-9]*+)"
    r"(?P<attributes>(?:\s++[A-Za-z-]++\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*+)\s*+/?+>"
)
_ATTRIBUTE = re.compile(r"(?P<name>[A-Za-z-]++)\s*+=\s*+(?P<value>\"[^\"<]*+\"|'[^'<]*+')")
_PLAIN = frozenset(
    {"html", "head", "body", "title", "style", "header", "main", "section", "h1", "h2", "p", "ul", "li", "figure",
     "figcaption"}
)  # fmt: skip
_VOID = frozenset({"meta", "img"})
_ATTRIBUTES = {"html": {"lang"}, "meta": {"charset"}, "img": {"src", "alt"}}
_SHOWN = {"title": "title", "h1": "heading", "h2": "heading", "p": "text", "li": "tag"}
"""The kind of element by its tag."""
STYLE = "body{font-family:sans-serif;margin:1rem;max-width:40rem}img{max-width:100%;image-rendering:pixelated}"
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a page may load, by its Content-Security-Policy: its own pictures and its own style."""


class PageError(ValueError):
    """The page is refused; the message says why, in the singular: `it has a <script>`."""


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a page that a reader sees."""

    kind: str
    """`title`, `heading`, `text`, `tag` or `picture`."""
    content: str
    """Text with single blanks, or the address of a picture."""


def page_of(*, title: str, description: str, tags: Sequence[str], picture: bytes, media_type: str) -> str:
    """A page that introduces a video: heading, poster, description and tags.

    Args:
        title: of the video.
        description: of the video.
        tags: of the video.
        picture: bytes of its poster, `image/png` or `image/apng`.
        media_type: of the poster.

    Raises:
        ValueError: the page would be too large.
    """
    items = "".join(f"<li>{_text(tag)}</li>" for tag in tags)
    source = f"data:{media_type};base64,{base64.b64encode(picture).decode()}"
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>"
        f'<main><h1>{_text(title)}</h1>\n<figure><img src="{source}" alt="{escape(title)}"></figure>\n'
        f"<p>{_text(description)}</p>\n<ul>{items}</ul>\n</main></body></html>\n"
    )
    if len(page) > LARGEST_PAGE or len(page) - len(source) > LARGEST_MARKUP:
        raise ValueError(f"a page of {len(page)} characters is too large; at most {LARGEST_PAGE} are possible")
    return page


def _text(text: str) -> str:
    return escape(" ".join(text.split()))


def elements_of(page: str) -> tuple[Element, ...]:
    """The elements of a page in their order.

    Raises:
        PageError: it is too large, is no page, or has something that is not passive.
    """
    if len(page) > LARGEST_PAGE:
        raise PageError(f"it has {len(page)} characters; at most {LARGEST_PAGE} are read")
    reader, place = _Reader(), len(DOCTYPE) if page[: len(DOCTYPE)].lower() == DOCTYPE else 0
    while place < len(page):
        token = _TEXT.match(page, place) or _TAG.match(page, place)
        if token is None:
            raise PageError(f"it has markup that is not read: {page[place : place + 20]!r}")
        if token.re is _TEXT:
            reader.text(token[0])
        elif token["end"]:
            reader.end(token["tag"].lower())
        else:
            reader.start(token["tag"].lower(), attributes=token["attributes"])
        place = token.end()
    return reader.finished(characters=len(page))


class _Reader:
    """Collects elements, and refuses what is not passive."""

    def __init__(self) -> None:
        self._elements: list[Element] = []
        self._seen: set[str] = set()
        self._open: list[str] = []
        self._words: list[str] = []

    def start(self, tag: str, *, attributes: str) -> None:
        if tag not in _PLAIN | _VOID:
            raise PageError(f"it has a <{tag[:20]}>")
        for match in _ATTRIBUTE.finditer(attributes):
            name = match["name"].lower()
            if name not in _ATTRIBUTES.get(tag, ()):
                raise PageError(f"<{tag}> has the attribute {name[:20]}")
            if name == "src":
                self._picture(match["value"][1:-1])
        self._seen.add(tag)
        self._end_words()
        if tag not in _VOID:
            if len(self._open) >= _DEEPEST:
                raise PageError(f"its elements are nested more than {_DEEPEST} deep")
            self._open.append(tag)

    def end(self, tag: str) -> None:
        self._end_words()
        if not self._open or self._open.pop() != tag:
            raise PageError(f"it ends a <{tag[:20]}> that is not open")

    def text(self, text: str) -> None:
        if self._open and self._open[-1] == "style":
            # A style may load pictures, which the page's policy refuses as well.
            if text.strip() not in ("", STYLE):
                raise PageError("it has a style of its own")
            return
        self._words.append(unescape(text))

    def finished(self, *, characters: int) -> tuple[Element, ...]:
        """The elements, once the page has ended."""
        self._end_words()
        if self._open or not {"html", "body"} <= self._seen:
            raise PageError("it is no HTML page: it has no complete <html> with a <body>")
        pictures = [element.content for element in self._elements if element.kind == "picture"]
        if (markup := characters - sum(map(len, pictures))) > LARGEST_MARKUP:
            raise PageError(f"it has {markup} characters beside its pictures; at most {LARGEST_MARKUP} are read")
        if len(pictures) > MOST_PICTURES:
            raise PageError(f"it has {len(pictures)} pictures; at most {MOST_PICTURES} are read")
        return tuple(self._elements)

    def _end_words(self) -> None:
        text = " ".join("".join(self._words).split())
        self._words.clear()
        if text:
            tag = next((tag for tag in reversed(self._open) if tag in _SHOWN), "p")
            self._elements.append(Element(_SHOWN[tag], text))

    def _picture(self, source: str) -> None:
        if _PICTURE.fullmatch(source) is None:
            raise PageError("it has a picture that is not inside it")
        try:
            base64.b64decode(source.partition(",")[2], validate=True)
        except binascii.Error:
            raise PageError("it has a picture that is not base64") from None
        self._elements.append(Element("picture", source))
