"""Zero-shot: the request alone, answered in free text (OpenAGI, section 6.2)."""

from collections.abc import Mapping
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Message
from evaluator.core.planner import PlannerRequest
from evaluator.openagi.strategies.free_text import FreeText
from evaluator.openagi.strategies.prompts import zero_shot_prompt


class ZeroShot(FreeText):
    """Names the tools that there are, and asks for steps."""

    name: ClassVar[str] = "openagi/zero-shot"
    description: ClassVar[str] = (
        "OpenAGI, zero-shot: the request and the models there are; steps in free text, mapped to models by similarity."
    )
    names_tools: ClassVar[bool] = True

    def ask(self, request: PlannerRequest) -> tuple[tuple[Message, ...], Mapping[str, JsonValue]]:
        """See `FreeText.ask`."""
        return zero_shot_prompt(request=request, names_tools=self.names_tools), {}


class BareZeroShot(ZeroShot):
    """Names no tools, as in the paper: only what a step says can be mapped."""

    name: ClassVar[str] = "openagi/zero-shot-bare"
    description: ClassVar[str] = (
        "OpenAGI, zero-shot as in the paper: the request alone; steps in free text, mapped to models by similarity."
    )
    names_tools: ClassVar[bool] = False
