"""The chapters: the Markdown files of `docs/`, as pages."""

import itertools
import re
import struct
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.urls import reverse
from markdown_it.token import Token

from leaderboard.help.documents.appendices import APPENDICES
from leaderboard.help.documents.markdown import MARKDOWN
from leaderboard.platform.environment import RESOURCES

DOCS = RESOURCES / "docs"
EXAMPLES = RESOURCES / "examples"


class Chapter(NamedTuple):
    """A file of `docs/`."""

    slug: str
    title: str
    """In the list of chapters; the page has the title of the file."""


class Group(NamedTuple):
    """Chapters for one kind of reader."""

    title: str
    chapters: Sequence[Chapter]


class Section(NamedTuple):
    """A heading within a chapter."""

    anchor: str
    title: str


class Passage(NamedTuple):
    """The plain text under one heading."""

    anchor: str
    """Empty for the beginning of a chapter."""
    heading: str
    text: str


class Page(NamedTuple):
    """A rendered chapter."""

    title: str
    html: str
    sections: Sequence[Section]


GROUPS: Sequence[Group] = (
    Group("Tutorial", (Chapter("tutorial", "First evaluation"),)),
    Group(
        "How to",
        (
            Chapter("submitting", "Submit a planner"),
            Chapter("ci", "Evaluate from a pipeline"),
            Chapter("extending", "Extend PlanArena"),
            Chapter("paper-profile", "Run the papers' experts"),
            Chapter("install", "Install a site"),
            Chapter("size", "Size a site"),
            Chapter("secure", "Secure a site"),
            Chapter("watch", "Watch a site"),
            Chapter("back-up", "Back up and restore"),
            Chapter("upgrade", "Upgrade"),
        ),
    ),
    Group(
        "Reference",
        (
            Chapter("suites", "Suites"),
            Chapter("scoring", "Scores and causes"),
            Chapter("planners", "Strategies and models"),
            Chapter("api", "The API"),
            Chapter("cli", "The command line"),
            Chapter("settings", "Settings"),
            Chapter("privacy", "Privacy"),
        ),
    ),
    Group(
        "Explanation",
        (
            Chapter("boards", "Boards, ranks, visibility"),
            Chapter("turns", "Suites in turns"),
            Chapter("validity", "What the figures mean"),
        ),
    ),
    Group(
        "Studies",
        (
            Chapter("reproducing", "Reproducing the figures"),
            Chapter("statistics", "Power and errors of ranks"),
            Chapter("judged-suites", "Anchors and damage"),
            Chapter("toolworld", "toolworld"),
            Chapter("controlllm", "ControlLLM"),
            Chapter("lumos", "LUMOS"),
            Chapter("arc", "A program writer for ARC"),
            Chapter("constraints", "Constraints and task feedback"),
            Chapter("rltf-preregistration", "Pre-registration of RLTF"),
            Chapter("speed", "Speed"),
        ),
    ),
)
STUDIES = "studies"
"""Folder of the chapters that report measurements."""
BY_SLUG = {chapter.slug: chapter for group in GROUPS for chapter in group.chapters}


@cache
def page_of(slug: str) -> Page:
    """A chapter as a page, cached per process.

    Raises:
        KeyError: there is no such chapter.
    """
    title, sections = BY_SLUG[slug].title, list[Section]()
    text = f"{_file(slug)}\n{APPENDICES[slug]()}" if slug in APPENDICES else _file(slug)
    tokens = _tokens(text)
    for index, token in enumerate(tokens):
        if token.tag == "h1" and token.type == "heading_open":
            title = _plain(tokens[index + 1])
        elif token.tag == "h2" and token.type == "heading_open":
            sections.append(Section(str(token.attrGet("id")), _plain(tokens[index + 1])))
        _rewrite_links(token)
    body = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens
    return Page(title=title, html=_rendered(body), sections=sections)


def fragment(text: str, *, lowered: int) -> str:
    """Trusted Markdown as HTML for a part of another page, with its headings lowered by so many levels."""
    tokens = MARKDOWN.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1:]) + lowered)}"
        _rewrite_links(token)
    return _rendered(tokens)


def passages_of(slug: str) -> list[Passage]:
    """The text of a chapter by heading, without its appendix, which would load every suite.

    Raises:
        KeyError: there is no such chapter.
    """
    passages, tokens = [Passage("", "", "")], _tokens(_file(slug))
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag != "h1":
            passages.append(Passage(str(token.attrGet("id")), _plain(tokens[index + 1]), ""))
        elif token.type in {"inline", "fence"} and tokens[index - 1].type != "heading_open":
            text = _plain(token) if token.type == "inline" else token.content
            passages[-1] = passages[-1]._replace(text=f"{passages[-1].text} {text}".strip())
    return passages


def _file(slug: str) -> str:
    name = f"{BY_SLUG[slug].slug}.md"
    path = DOCS / name
    return (path if path.exists() else DOCS / STUDIES / name).read_text(encoding="utf-8")


def _tokens(text: str) -> list[Token]:
    """The parsed chapter, with the anchors of its headings as ids."""
    tokens, anchors = MARKDOWN.parse(text), Counter[str]()
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            anchor = anchor_of(_plain(tokens[index + 1]))
            anchors[anchor] += 1
            # Repeated headings are numbered, as on code forges.
            token.attrSet("id", anchor if anchors[anchor] == 1 else f"{anchor}-{anchors[anchor] - 1}")
        elif token.type == "code_block":
            # Only fences are highlighted.
            token.type = "fence"
    return tokens


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as on code forges, so that links within the files work."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def example(name: str) -> Path | None:
    """A file of `examples/` that a chapter links to."""
    files = {path.relative_to(EXAMPLES).as_posix(): path for path in EXAMPLES.rglob("*") if path.is_file()}
    return files.get(name)


def picture(name: str) -> Path | None:
    """A picture in `docs/`."""
    return {path.name: path for path in DOCS.glob("*.png")}.get(name)


def _plain(inline: Token) -> str:
    breaks = {"softbreak", "hardbreak"}
    children = (child for child in inline.children or () if child.type in {"text", "code_inline", *breaks})
    return "".join(" " if child.type in breaks else child.content for child in children)


def _rewrite_links(token: Token) -> None:
    for child in token.children or ():
        if child.type == "link_open":
            child.attrSet("href", _target(str(child.attrGet("href"))))
        elif child.type == "image":
            child.attrs |= {"src": reverse("handbook:picture", args=[str(child.attrGet("src"))]), **_size(child)}


def _size(image: Token) -> dict[str, str | int | float]:
    """Width and height, so that the layout does not shift when the picture loads."""
    path = picture(str(image.attrGet("src")))
    if path is None:
        raise LookupError(f"docs/ has no picture {image.attrGet('src')}.")
    # From the IHDR chunk of the PNG.
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return {"width": width, "height": height, "loading": "lazy"}


def _target(link: str) -> str:
    """The URL on the site for a link in a file."""
    path, hash_, anchor = link.partition("#")
    if "../examples/" in path:
        return reverse("handbook:example", args=[path.partition("../examples/")[2]])
    slug = path.rpartition("/")[2].removesuffix(".md")
    if path.endswith(".md") and slug in BY_SLUG:
        return reverse("handbook:chapter", args=[slug]) + hash_ + anchor
    return link


def _rendered(tokens: Sequence[Token]) -> str:
    """HTML with wide content in regions that scroll, also by keyboard."""
    text = MARKDOWN.renderer.render(list(tokens), MARKDOWN.options, {})
    text = text.replace("<pre>", '<pre tabindex="0">')
    numbers = itertools.count(1)

    def framed(_: re.Match[str]) -> str:
        # Unique names, since screen readers list the regions of a page.
        return (
            f'<div class="table-scroll" tabindex="0" role="region" aria-label="Table {next(numbers)}">'
            '<table class="data">'
        )

    return re.sub("<table>", framed, text).replace("</table>", "</table></div>")
