"""What the tests of executed suites in turns share: an evaluator with real experts, and planners from scripts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from evaluator.core.records import ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.core.turns import TurnRequest, TurnResponse
from evaluator.episodes.base import Evaluator, Setting, episode_of
from evaluator.execution.engine.store import LocalStore
from tests.evaluator.episodes.turns.toy import Answers

SLUG = "openagi-turns"
IMAGE, TEXT = "0", "24"
"""A request for a restored picture, and one for a caption."""


def evaluator(folder: Path, slug: str = SLUG, *, samples: int = 1, **further: object) -> Evaluator:
    suite = suite_of(slug)
    setting = Setting(
        profile="lilliput", split=suite.conditions.splits[0], samples=samples,
        open_store=lambda: LocalStore(folder),
    )  # fmt: skip
    return episode_of(slug).evaluator(suite=suite, setting=replace(setting, **further))  # type: ignore[arg-type]


def run(found: Evaluator, answer: Callable[[TurnRequest], TurnResponse], *tasks: str) -> list[ResultRecord]:
    planner = Answers(answer)
    order = {key: place for place, key in enumerate(tasks)}
    return sorted(found.run(planner=planner, tasks=tasks), key=lambda record: order[record.task])


def script(*turns: dict[str, object]) -> Callable[[TurnRequest], TurnResponse]:
    """A planner that gives these answers, one in each turn, and stops."""
    return lambda request: TurnResponse.model_validate(
        turns[len(request.history)] if len(request.history) < len(turns) else {"stop": True}
    )
