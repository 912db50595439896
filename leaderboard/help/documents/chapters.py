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
    about: str
    """What a reader finds in it, for the index."""


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
    Group(
        "Tutorial",
        (
            Chapter(
                "tutorial",
                "First evaluation",
                "Start an arena on your machine, ask the workbench, write a planner of 30 lines, and see it ranked.",
            ),
        ),
    ),
    Group(
        "How to",
        (
            Chapter(
                "submitting",
                "Submit a planner",
                "Endpoints, language models, checkpoints, plan files and agents: what each needs, and how it runs.",
            ),
            Chapter(
                "ci", "Evaluate from a pipeline", "Evaluate every commit, and fail the build when the score drops."
            ),
            Chapter(
                "interop", "Import and export results", "Inspect, Harbor, verifiers, Every Eval Ever, Hugging Face."
            ),
            Chapter(
                "extending", "Extend PlanArena", "Add a suite, a strategy, a kind of planner, an expert or a metric."
            ),
            Chapter("paper-profile", "Run the papers' experts", "Run the papers' own checkpoints on a GPU."),
            Chapter("install", "Install a site", "Requirements, settings to choose, processes, Kubernetes."),
            Chapter("size", "Size a site", "How many workers, how much disk, and what limits throughput."),
            Chapter("scaling", "Scale a site", "What one machine holds, and the way to 100 nodes."),
            Chapter(
                "secure", "Secure a site", "Accounts, secrets, outgoing calls, and the sandbox of submitted models."
            ),
            Chapter("watch", "Watch a site", "Metrics, logs, traces, alerts, and what to do when something hangs."),
            Chapter("back-up", "Back up and restore", "Backups that are checked, and how to restore them."),
            Chapter("upgrade", "Upgrade", "From one release to the next without losing evaluations."),
        ),
    ),
    Group(
        "Reference",
        (
            Chapter("suites", "Suites", "Every suite: its requests, tools, data, conditions and datasheet."),
            Chapter(
                "scoring",
                "Scores and causes",
                "How plans are executed, judged and scored, and why a task is below gold.",
            ),
            Chapter(
                "planners",
                "Strategies and models",
                "The papers' strategies, the bundled language models, and training.",
            ),
            Chapter("api", "The API", "Authentication, pages of results, errors, webhooks."),
            Chapter("cli", "The command line", "Every command and its options."),
            Chapter("settings", "Settings", "Every environment variable and its default."),
            Chapter("privacy", "Privacy", "What is stored about you, for how long, and how to delete it."),
        ),
    ),
    Group(
        "Explanation",
        (
            Chapter(
                "boards",
                "Boards, ranks, visibility",
                "How to read a board: first lines, ranks, intervals, anchors, signatures, who sees what.",
            ),
            Chapter(
                "workbench",
                "The workbench",
                "Ask one request and watch its plan run: files, queue, events, votes, API.",
            ),
            Chapter("turns", "Suites in turns", "How planners act step by step, and what counts as a turn."),
            Chapter(
                "validity",
                "What the figures mean",
                "Whether the measures rank good plans above bad ones, and whether results repeat.",
            ),
            Chapter("coverage", "What of the papers is here", "Each part of the papers: its test, or what is missing."),
            Chapter(
                "audit", "Audits", "How much planners score that try to score without solving, and what that blocks."
            ),
        ),
    ),
    Group(
        "Studies",
        (
            Chapter(
                "registered", "Registered studies", "Studies whose plans were signed first, and how to check them."
            ),
            Chapter(
                "reproducing",
                "Reproducing the figures",
                "Which results are equal on two machines, and which only agree.",
            ),
            Chapter(
                "statistics", "Power and errors of ranks", "What differences a board can detect, and how often it errs."
            ),
            Chapter("judged-suites", "Anchors and damage", "Scores of damaged gold plans and trivial planners."),
            Chapter(
                "toolworld", "toolworld", "Expert accuracy and scores on the executed suite of ControlLLM's tools."
            ),
            Chapter("controlllm", "ControlLLM", "The paper's figures beside ours."),
            Chapter("lumos", "LUMOS", "The paper's figures beside ours."),
            Chapter("arc", "A program writer for ARC", "Training a writer of programs for grid tasks."),
            Chapter(
                "constraints",
                "Constraints and task feedback",
                "What constrained generation is worth, and what feedback from tasks adds.",
            ),
            Chapter("speed", "Speed", "Time per task, and what the store of steps saves."),
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
            child.attrs |= {
                "src": reverse("handbook:picture", args=[str(child.attrGet("src"))]),
                **size_of(str(child.attrGet("src"))),
            }


def size_of(name: str) -> dict[str, str | int | float]:
    """Attributes of an image: width and height in pixels, so that the layout does not shift when the picture loads.

    Raises:
        LookupError: `docs/` has no picture of this name.
    """
    path = picture(name)
    if path is None:
        raise LookupError(f"docs/ has no picture {name}.")
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
