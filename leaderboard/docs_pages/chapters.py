"""The chapters: the Markdown files of `docs/`, as pages."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.urls import reverse
from markdown_it.token import Token

from leaderboard.docs_pages.appendices import APPENDICES
from leaderboard.docs_pages.markdown import MARKDOWN
from leaderboard.site.environment import RESOURCES

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


class Page(NamedTuple):
    """A chapter, ready to be shown."""

    title: str
    html: str
    sections: Sequence[Section]


GROUPS: Sequence[Group] = (
    Group(
        "Submit",
        (
            Chapter("submitting", "Kinds of planners"),
            Chapter("agents", "Agents over MCP"),
            Chapter("visibility", "Who sees what"),
            Chapter("ci", "From a pipeline"),
            Chapter("api", "The API"),
        ),
    ),
    Group(
        "What is measured",
        (
            Chapter("scoring", "Executed plans"),
            Chapter("toolbench", "Judged plans"),
            Chapter("toolworld", "Executed tool plans"),
            Chapter("turns", "Suites in turns"),
            Chapter("arc", "ARC"),
            Chapter("validity", "What the figures mean"),
            Chapter("reliability", "Reliability"),
            Chapter("causes", "Why a score is below the top"),
            Chapter("boards", "Boards and ranks"),
            Chapter("paper-profile", "The papers' experts"),
            Chapter("datasheets", "Datasheets of the suites"),
            Chapter("model-cards", "Model cards"),
            Chapter("reproducibility", "Reproducing the figures"),
        ),
    ),
    Group(
        "Planners",
        (
            Chapter("planners", "Strategies and models"),
            Chapter("planners-openagi", "OpenAGI's strategies"),
            Chapter("planners-controlllm", "ControlLLM"),
            Chapter("planners-lumos", "LUMOS"),
            Chapter("planners-training", "Training"),
            Chapter("rltf-preregistration", "Pre-registration of RLTF"),
        ),
    ),
    Group(
        "Run a site",
        (
            Chapter("operating", "Operating"),
            Chapter("adding-a-suite", "Adding a suite"),
            Chapter("extending", "Extending"),
            Chapter("testing", "Testing"),
        ),
    ),
    Group("This site", (Chapter("privacy", "Privacy"),)),
)
BY_SLUG = {chapter.slug: chapter for group in GROUPS for chapter in group.chapters}


@cache
def page_of(slug: str) -> Page:
    """A chapter as a page; made once in each process, since it follows from the code's own files.

    Raises:
        KeyError: there is no such chapter.
    """
    chapter = BY_SLUG[slug]
    text = (DOCS / f"{chapter.slug}.md").read_text(encoding="utf-8")
    if slug in APPENDICES:
        text = f"{text}\n{APPENDICES[slug]()}"
    tokens = MARKDOWN.parse(text)
    title, sections, anchors = chapter.title, list[Section](), Counter[str]()
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            text = _plain(tokens[index + 1])
            anchor = anchor_of(text)
            anchors[anchor] += 1
            # As code forges do: a heading that occurs again is numbered.
            anchor = anchor if anchors[anchor] == 1 else f"{anchor}-{anchors[anchor] - 1}"
            token.attrSet("id", anchor)
            if token.tag == "h1":
                title = text
            elif token.tag == "h2":
                sections.append(Section(anchor, text))
        _rewrite_links(token)
    body = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens
    return Page(title=title, html=_rendered(body), sections=sections)


def anchor_of(heading: str) -> str:
    """The name by which a heading is linked to: that of code forges, so that the files' own links hold."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def example(name: str) -> Path | None:
    """A file of `examples/` that a chapter links to."""
    found = {path.relative_to(EXAMPLES).as_posix(): path for path in EXAMPLES.rglob("*") if path.is_file()}
    return found.get(name)


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})


def _rewrite_links(token: Token) -> None:
    for child in token.children or ():
        if child.type == "link_open":
            child.attrSet("href", _target(str(child.attrGet("href"))))


def _target(link: str) -> str:
    """Where a link of a file leads on the site."""
    path, hash_, anchor = link.partition("#")
    if path.startswith("../examples/"):
        return reverse("handbook:example", args=[path.removeprefix("../examples/")])
    if path.endswith(".md") and path.removesuffix(".md") in BY_SLUG:
        return reverse("handbook:chapter", args=[path.removesuffix(".md")]) + hash_ + anchor
    return link


def _rendered(tokens: Sequence[Token]) -> str:
    """HTML, with what is wide in regions that scroll by themselves and by the keyboard."""
    text = MARKDOWN.renderer.render(list(tokens), MARKDOWN.options, {})
    text = text.replace("<pre>", '<pre tabindex="0">')
    numbers = itertools.count(1)

    def framed(_: re.Match[str]) -> str:
        # Regions of one page need names of their own: screen readers list them.
        return (
            f'<div class="table-scroll" tabindex="0" role="region" aria-label="Table {next(numbers)}">'
            '<table class="data">'
        )

    return re.sub("<table>", framed, text).replace("</table>", "</table></div>")
