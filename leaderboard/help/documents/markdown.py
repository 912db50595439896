"""Markdown of the site's own files and docstrings as HTML. Code has Pygments' classes, styled in `highlighting.css`."""

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
"""Languages of blocks without one, by their beginning."""


def highlighted(*, code: str, language: str) -> str:
    """Code as HTML with a `span` for each token; empty if the language is unknown. If `language` is empty, it is
    guessed from the code."""
    language = language or next((guess for pattern, guess in _GUESSES if pattern.match(code)), "")
    lexer = _LEXERS.get(language)
    return str(highlight(code, lexer(stripnl=False), _FORMATTER)) if lexer else ""


MARKDOWN = MarkdownIt(
    "js-default",
    {
        "html": False,
        "linkify": False,
        "typographer": False,
        "highlight": lambda code, language, _: highlighted(code=code, language=language),
    },
)
"""HTML in the source is escaped."""


def inline(text: str) -> str:
    """A short text as HTML without paragraphs."""
    return str(MARKDOWN.renderInline(" ".join(text.split())))
