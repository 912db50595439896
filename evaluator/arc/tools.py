"""The tools of planners: the helpers, views of the task, and three tools that try a candidate."""

from types import MappingProxyType

from evaluator.arc.helpers.catalogue import TOOLS as HELPER_TOOLS
from evaluator.arc.plan_forms import GRIDS, PROGRAM, STEPS
from evaluator.arc.views import View
from evaluator.core.tools.types import Catalogue, ResourceType, Tool

VIEW = "View"


def _tool(name: str, description: str, *, given: str, made: str) -> Tool:
    return Tool(
        name=name, domain="arc", description=description, inputs=MappingProxyType({given: ResourceType.TEXT}),
        outputs=MappingProxyType({made: ResourceType.TEXT}),
    )  # fmt: skip


_TRIED = "on the demonstrations, and says for each whether it is right; of the tests it tells the sizes of the outputs."
_OWN = (
    _tool(
        VIEW, f"Shows the task in a view: {', '.join(View)}. View(objects_diag, more_info) adds sizes and shapes.",
        given="view", made="task",
    ),
    _tool(
        PROGRAM, "Tries a program in restricted Python, def transform_grid(grid), over grids of letters ('.' is blank, "
        f"a to i are the colours 1 to 9) and all helpers, {_TRIED}", given="program", made="candidate",
    ),
    _tool(
        STEPS, "Tries a JSON list of calls of helpers as Python expressions, in which v1 is the result of the first, "
        f"{_TRIED}", given="steps", made="candidate",
    ),
    _tool(
        GRIDS, "Takes a JSON list with the output grid of each test input, as lists of rows of integers 0 to 9.",
        given="grids", made="candidate",
    ),
)  # fmt: skip
TOOLS = Catalogue(
    name="arc", tools=MappingProxyType({tool.name: tool for tool in _OWN} | dict(HELPER_TOOLS.tools.items())),
)  # fmt: skip
