"""The five groups: generators of tasks, and tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.lumos.answering import LOOK
from evaluator.lumos.maths.suite import TOOLS as MATHS_TOOLS
from evaluator.lumos.mini.databases import draw_question as draw_database_question
from evaluator.lumos.mini.draws import EACH, Drawn, Source
from evaluator.lumos.mini.encyclopedia import draw_question as draw_chronicle_question
from evaluator.lumos.mini.hidden import chronicles, databases, problems, requests, scenes
from evaluator.lumos.mini.problems import draw_problem
from evaluator.lumos.mini.scenes import draw_picture_question
from evaluator.lumos.mini.shop import draw_request
from evaluator.lumos.retrieval.environment import retrieval_tools
from evaluator.lumos.sql.suite import TOOLS as SQL_TOOLS
from evaluator.miniature.seeds import Split

_ATTEMPTS = 20


class _Draw(Protocol):
    def __call__(self, *, source: Source, index: int, attempt: int = 0) -> Drawn: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of tasks."""

    title: str
    draw: _Draw
    draw_hidden: _Draw
    """The same kinds of tasks in the hidden split's grammar."""
    tools: tuple[str, ...]


MATHS, SQL, QA, WEB, PICTURES = "maths", "sql", "qa", "web", "pictures"
GROUPS: Mapping[str, Group] = {
    MATHS: Group(
        title="Maths", draw=draw_problem, draw_hidden=problems.draw_problem,
        tools=("Calculator", "SetEquation", "SolveEquation", "SolveInequality", "Define", "Count"),
    ),
    SQL: Group(title="SQL", draw=draw_database_question, draw_hidden=databases.draw_question, tools=("SQL",)),
    QA: Group(
        title="QA", draw=draw_chronicle_question, draw_hidden=chronicles.draw_question,
        tools=("KnowledgeQuery", "ParagraphRetrieve", "QA"),
    ),
    WEB: Group(title="Web", draw=draw_request, draw_hidden=requests.draw_request, tools=("Search", "Click")),
    PICTURES: Group(
        title="Pictures", draw=draw_picture_question, draw_hidden=scenes.draw_picture_question, tools=("VQA", "QA")
    ),
}  # fmt: skip


def draw_group(
    *, group: str, source: Source, count: int = EACH, start: int = 0, hidden_grammar: bool = True
) -> list[Drawn]:
    """Tasks of a group, from number `start` on.

    Text and scope are unique among dozens of tasks. Thousands contain repetitions, because questions of a database run
    out.

    Args:
        group: name of a group.
        source: the split.
        count: number of tasks.
        start: number of the first task.
        hidden_grammar: whether the hidden split has a grammar of its own, as since version 2 of the suite.
    """
    seen: set[tuple[str, str]] = set()
    drawn = []
    hidden = hidden_grammar and source.split is Split.HIDDEN
    draw = GROUPS[group].draw_hidden if hidden else GROUPS[group].draw
    for index in range(start, start + count):
        attempts = (draw(source=source, index=index, attempt=attempt) for attempt in range(_ATTEMPTS))
        task = next(attempts)
        while (task.text, task.scope) in seen and (other := next(attempts, None)) is not None:
            task = other
        seen.add((task.text, task.scope))
        drawn.append(task)
    return drawn


PARAGRAPHS = 1
"""Number of results of `ParagraphRetrieve`. A paragraph has the length of the reader's texts."""
SEARCH, CLICK = "Search", "Click"


def _tool(name: str, description: str, *, inputs: dict[str, ResourceType], output: str) -> Tool:
    return Tool(
        name=name, domain="web" if name != LOOK else "pictures", description=description,
        inputs=MappingProxyType(inputs), outputs=MappingProxyType({output: ResourceType.TEXT}),
    )  # fmt: skip


_TOOLS = (
    *(MATHS_TOOLS[name] for name in GROUPS[MATHS].tools),
    *SQL_TOOLS.tools.values(),
    *retrieval_tools(paragraphs=PARAGRAPHS),
    _tool(
        SEARCH, "Searches the shop and shows the first page of results.", inputs={"query": ResourceType.TEXT},
        output="page",
    ),
    _tool(
        CLICK,
        "Clicks an element of a page: the number of a result, an option, next page, previous page, back to results, or "
        "buy now. Click(R1, 2) opens the second result of the page R1.",
        inputs={"page": ResourceType.TEXT, "element": ResourceType.TEXT}, output="page",
    ),
    _tool(
        LOOK, "Answers a question about a picture: VQA([IMG], Question: What colour is the star?).",
        inputs={"image": ResourceType.IMAGE, "question": ResourceType.TEXT}, output="answer",
    ),
)  # fmt: skip
TOOLS = Catalogue(name="lumos-mini", tools=MappingProxyType({tool.name: tool for tool in _TOOLS}))
