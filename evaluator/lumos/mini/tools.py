"""The tools of `lumos-mini`. Each task offers those of its group."""

from types import MappingProxyType

from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.lumos.answering import LOOK
from evaluator.lumos.maths.suite import TOOLS as MATHS_TOOLS
from evaluator.lumos.mini.groups import GROUPS, MATHS
from evaluator.lumos.retrieval.environment import retrieval_tools
from evaluator.lumos.sql.suite import TOOLS as SQL_TOOLS

PARAGRAPHS = 1
"""How many `ParagraphRetrieve` returns: a paragraph is as long as the reader's texts."""
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
