"""Reports of evaluate for tests, and the parts of their pages."""

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from evaluator.cli.evaluate import evaluation_document
from evaluator.core.planner import Planner
from evaluator.core.records import ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.scoring.causes.command import causes_document
from tests.fakes.planners import ClumsyPlanner

MISTAKES = {
    "image_detection/0": "false", "image_detection/1": "irrelevant", "QA/0": "nothing", "count_object/0": "garbage",
}  # fmt: skip


def judged_document(*, tasks: Sequence[str] = (*MISTAKES, "QA/1", "QA/2")) -> dict[str, Any]:
    """What evaluate writes about a planner with mistakes on a few tasks of toolmini."""
    suite = suite_of("toolmini")
    planner = ClumsyPlanner(suite=suite, mistakes=MISTAKES)
    return document_of("toolmini", planner=planner, tasks=tasks, setting=Setting())


def document_of(slug: str, *, planner: Planner, tasks: Sequence[str], setting: Setting) -> dict[str, Any]:
    """What evaluate writes."""
    evaluator = episode_of(slug).evaluator(suite=suite_of(slug), setting=setting)
    records = {record.task: record for record in evaluator.run(planner=planner, tasks=tasks)}
    return document_from(evaluator, records=[records[task] for task in tasks], setting=setting)


def document_from(evaluator: Any, *, records: Sequence[ResultRecord], setting: Setting, planner: str = "clumsy") -> Any:
    """The document of records."""
    document = evaluation_document(
        evaluator=evaluator, planner=planner, identity={}, keys=[record.task for record in records],
        records=records, samples=setting.samples,
    )  # fmt: skip
    causes = causes_document(suite=evaluator.suite, records=records, samples=setting.samples)
    return json.loads(json.dumps({**document, "causes": causes}))


def written(document: Any, folder: Path, *, name: str = "report.json") -> Path:
    """A file with the document."""
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


class _Sections(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._open.append(dict(attrs).get("aria-labelledby") or "")
            self.texts.setdefault(self._open[-1], [])

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for name in self._open:
            self.texts[name] += data.split()


def sections(html: str) -> dict[str, str]:
    """The visible words of each section of a page, by the id of its heading."""
    parser = _Sections()
    parser.feed(html)
    return {name: " ".join(words) for name, words in parser.texts.items()}
