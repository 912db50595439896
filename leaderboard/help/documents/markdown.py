"""Markdown of our own files and docstrings, as HTML. Code has Pygments' classes, which `highlighting.css` names."""

import re

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers.configs import TOMLLexer
from pygments.lexers.data import JsonLexer, YamlLexer
from pygments.lexers.diff import DiffLexer
from pygments.lexers.html import HtmlLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.shell import BashLexer, BashSessionLexer

_LEXERS: dict[str, type[Lexer]] = {
    "bash": BashLexer,
    "console": BashSessionLexer,
    "diff": DiffLexer,
    "html": HtmlLexer,
    "json": JsonLexer,
    "python": PythonLexer,
    "toml": TOMLLexer,
    "yaml": YamlLexer,
}
_FORMATTER = HtmlFormatter(nowrap=True)
_GUESSES = (
    (re.compile(r"\$ "), "console"),
    (re.compile(r"[{\[]\s*[\"{\]]"), "json"),
    (re.compile(r"(\./)?planarena\b|(export|curl|git|pip|python|kubectl|docker|cd|[A-Z_]+=\S*) ?"), "bash"),
    (re.compile(r"(from \S+ )?import |def |class |@\w+"), "python"),
)
"""Languages of blocks that name none, by how they begin."""


def highlighted(*, code: str, language: str) -> str:
    """Code as HTML with a `span` for each token; empty where the language is not known.

    Args:
        language: as after the fence of a block; empty: as the code begins.
    """
    lexer = _LEXERS.get(language or _guess(code))
    return str(highlight(code, lexer(stripnl=False), _FORMATTER)) if lexer else ""


def _guess(code: str) -> str:
    return next((language for begins, language in _GUESSES if begins.match(code)), "")


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
