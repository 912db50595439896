"""Markdown of our own files and docstrings, as HTML."""

from markdown_it import MarkdownIt

from leaderboard.help.documents.highlighting import highlighted

MARKDOWN = MarkdownIt(
    "js-default",
    {
        "html": False,
        "linkify": False,
        "typographer": False,
        "highlight": lambda code, language, _: highlighted(code=code, language=language),
    },
)
"""HTML in it is shown as text: only what Markdown can say gets onto a page."""


def inline(text: str) -> str:
    """A sentence or some, as HTML without paragraphs."""
    return str(MARKDOWN.renderInline(" ".join(text.split())))
