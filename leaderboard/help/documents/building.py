"""Builds all chapters and the search index when a web process starts, so that no reader waits for them.

They need every suite and every command, which takes seconds on a busy machine. The most frequently used parts are built
first. A request for a part that is not yet built builds it.
"""

import logging
import time
from collections.abc import Callable, Iterator
from threading import Thread

from evaluator.core.suites.registry import suite_names, suite_of
from leaderboard.help.documents.appendices import APPENDICES
from leaderboard.help.documents.chapters import BY_SLUG, page_of
from leaderboard.help.documents.search import documentation

_PAUSE_SECONDS = 0.02
"""Between two parts, so that requests run."""

logger = logging.getLogger(__name__)


def build_in_background() -> Thread:
    """Start to build all parts in a thread, which ends with the process."""
    thread = Thread(target=build, name="documents", daemon=True)
    thread.start()
    return thread


def build() -> None:
    """Build all parts. Logs a part that fails; a request for it tries again."""
    began = time.monotonic()
    for part in _parts():
        try:
            part()
        except Exception:
            logger.exception("a part of the documents cannot be built")
        time.sleep(_PAUSE_SECONDS)
    logger.info("built chapters and search index in %.1f s", time.monotonic() - began)


def _parts() -> Iterator[Callable[[], object]]:
    yield documentation
    yield from (lambda slug=slug: page_of(slug) for slug in BY_SLUG if slug not in APPENDICES)
    # One at a time: datasheets need all of them.
    yield from (lambda slug=slug: suite_of(slug) for slug in suite_names())
    yield from (lambda slug=slug: page_of(slug) for slug in APPENDICES)
