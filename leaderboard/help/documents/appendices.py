"""What some chapters are followed by: texts that lie beside what they describe."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from evaluator.core.suites.metadata import MetadataError, datasheet
from evaluator.core.suites.registry import suite_names, suite_of
from leaderboard.help.documents.commands import command_reference

_EVALUATOR = Path(str(files("evaluator")))
WEIGHTS = (
    _EVALUATOR / "miniature" / "weights",
    _EVALUATOR / "controlllm" / "strategies" / "trained" / "weights",
)


def datasheets() -> str:
    """The datasheets of all suites that can be used here and have one, each under a heading of its own."""
    return "\n".join(_datasheets())


def _datasheets() -> Iterator[str]:
    for slug in suite_names():
        suite = suite_of(slug)
        try:
            text = datasheet(suite)
        except MetadataError:
            continue
        yield f"### {suite.title}\n\n{_demoted(_demoted(text))}"


def model_cards() -> str:
    """The cards of all shipped models."""
    cards = [path for folder in WEIGHTS for path in sorted(folder.rglob("card.md"))]
    return "\n".join(_demoted(_demoted(path.read_text(encoding="utf-8"))) for path in cards)


def _demoted(text: str) -> str:
    """Markdown with each heading one level lower."""
    return re.sub(r"^(#+ )", r"#\1", text, flags=re.M)


APPENDICES: Mapping[str, Callable[[], str]] = {
    "cli": command_reference,
    "suites": datasheets,
    "paper-profile": model_cards,
}
"""By the chapter."""
