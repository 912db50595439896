"""The offered functions as a catalogue of tools. Arguments are texts, since their types are ARC's own."""

from types import MappingProxyType

from evaluator.arc.helpers.helper import Helper
from evaluator.arc.helpers.listing import HELPERS
from evaluator.core.tools.types import Catalogue, ResourceType, Tool


def _tool(helper: Helper) -> Tool:
    return Tool(
        name=helper.name,
        domain="grids",
        description=f"{helper.signature}. {helper.description}",
        inputs=MappingProxyType({parameter.name: ResourceType.TEXT for parameter in helper.parameters}),
        outputs=MappingProxyType({str(helper.returns).replace(" ", "_"): ResourceType.TEXT}),
    )


TOOLS = Catalogue(
    name="arc",
    tools=MappingProxyType({name: _tool(helper) for name, helper in HELPERS.items() if helper.is_offered}),
)
