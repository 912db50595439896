"""The five groups: what draws their tasks, and which tools they offer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from evaluator.lumos.mini.databases.questions import draw_question as draw_database_question
from evaluator.lumos.mini.draws import EACH, Drawn, Source
from evaluator.lumos.mini.encyclopedia.questions import draw_question as draw_chronicle_question
from evaluator.lumos.mini.problems.problems import draw_problem
from evaluator.lumos.mini.scenes.questions import draw_picture_question
from evaluator.lumos.mini.shop.requests import draw_request

_ATTEMPTS = 20


class _Draw(Protocol):
    def __call__(self, *, source: Source, index: int, attempt: int = 0) -> Drawn: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of tasks."""

    title: str
    draw: _Draw
    tools: tuple[str, ...]


MATHS, SQL, QA, WEB, PICTURES = "maths", "sql", "qa", "web", "pictures"
GROUPS: Mapping[str, Group] = {
    MATHS: Group(
        title="Maths", draw=draw_problem,
        tools=("Calculator", "SetEquation", "SolveEquation", "SolveInequality", "Define", "Count"),
    ),
    SQL: Group(title="SQL", draw=draw_database_question, tools=("SQL",)),
    QA: Group(title="QA", draw=draw_chronicle_question, tools=("KnowledgeQuery", "ParagraphRetrieve", "QA")),
    WEB: Group(title="Web", draw=draw_request, tools=("Search", "Click")),
    PICTURES: Group(title="Pictures", draw=draw_picture_question, tools=("VQA", "QA")),
}  # fmt: skip


def draw_group(*, group: str, source: Source, count: int = EACH, start: int = 0) -> list[Drawn]:
    """Tasks of a group, from number `start` on.

    No two of a few dozen have the same text and scope; of thousands some do, where a database has no further questions.
    """
    seen: set[tuple[str, str]] = set()
    drawn = []
    for index in range(start, start + count):
        attempts = (GROUPS[group].draw(source=source, index=index, attempt=attempt) for attempt in range(_ATTEMPTS))
        task = next(attempts)
        while (task.text, task.scope) in seen and (other := next(attempts, None)) is not None:
            task = other
        seen.add((task.text, task.scope))
        drawn.append(task)
    return drawn
