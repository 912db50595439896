"""Web pages that tools make: building one, and reading one, which is hostile until checked.

A page is passive: a fixed set of elements, text, and pictures inside it as `data:` addresses. It has no scripts, styles
from elsewhere, links, forms or frames. `elements_of` refuses all else, so that what is judged is what is shown.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser

LARGEST_PAGE = 512 * 1024
"""Characters of a page, with its pictures."""
LARGEST_MARKUP = 64 * 1024
"""Characters of a page without its pictures: the parser may take quadratic time on malformed markup."""
MOST_PICTURES = 4
_PICTURE = re.compile(r"data:image/(?:png|apng|jpeg);base64,[A-Za-z0-9+/]{1,700000}={0,2}")
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
    pictures: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        pictures.append(match[0])
        return f"picture:{len(pictures) - 1}"

    markup = _PICTURE.sub(replaced, page)
    if len(markup) > LARGEST_MARKUP:
        raise PageError(f"it has {len(markup)} characters beside its pictures; at most {LARGEST_MARKUP} are read")
    if len(pictures) > MOST_PICTURES:
        raise PageError(f"it has {len(pictures)} pictures; at most {MOST_PICTURES} are read")
    reader = _Reader(pictures)
    reader.feed(markup)
    reader.close()
    if not reader.is_page:
        raise PageError("it is no HTML page: it has no <html> with a <body>")
    return tuple(reader.elements)


class _Reader(HTMLParser):
    """Collects elements, and refuses what is not passive."""

    def __init__(self, pictures: Sequence[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._pictures = pictures
        self._seen: set[str] = set()
        self._open: list[str] = []
        self._words: list[str] = []

    @property
    def is_page(self) -> bool:
        """Whether it had the elements of a page."""
        return {"html", "body"} <= self._seen

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _PLAIN | _VOID:
            raise PageError(f"it has a <{tag[:20]}>")
        for name, value in attrs:
            if name not in _ATTRIBUTES.get(tag, ()):
                raise PageError(f"<{tag}> has the attribute {name[:20]}")
            if name == "src":
                self._picture(value or "")
        self._seen.add(tag)
        if tag not in _VOID:
            self._end_words()
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self._end_words()
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            # A style may load pictures, which the page's policy refuses as well.
            if data.strip() not in ("", STYLE):
                raise PageError("it has a style of its own")
            return
        self._words.append(data)

    def handle_comment(self, data: str) -> None:  # noqa: ARG002
        raise PageError("it has a comment")

    def handle_pi(self, data: str) -> None:  # noqa: ARG002
        raise PageError("it has a processing instruction")

    def unknown_decl(self, data: str) -> None:  # noqa: ARG002
        raise PageError("it has a declaration")

    def _end_words(self) -> None:
        text = " ".join("".join(self._words).split())
        self._words.clear()
        if text:
            tag = next((tag for tag in reversed(self._open) if tag in _SHOWN), "p")
            self.elements.append(Element(_SHOWN[tag], text))

    def _picture(self, source: str) -> None:
        number = source.removeprefix("picture:")
        if number == source or not number.isdecimal() or int(number) >= len(self._pictures):
            raise PageError("it has a picture that is not inside it")
        address = self._pictures[int(number)]
        try:
            base64.b64decode(address.partition(",")[2], validate=True)
        except binascii.Error:
            raise PageError("it has a picture that is not base64") from None
        self.elements.append(Element("picture", address))
