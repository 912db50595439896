"""The tools `QA` and `VQA`, run with the experts of a setting's profile."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluator.canonical_json import JsonValue
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, ToolFault
from evaluator.plans.turns import Parameter
from evaluator.suites.lumos.retrieval.environment import ANSWER, UnboundError, bound
from evaluator.tools.controlllm import CONTROLLLM
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import Catalogue
from evaluator.transcripts import ActionProblem

if TYPE_CHECKING:
    from PIL.Image import Image

    from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools

LOOK = "VQA"
_READER, _LOOKER = "Question Answering", "image_question_answering"
_EXPERTS: Mapping[str, str] = {ANSWER: _READER, LOOK: _LOOKER}
"""Whose experts run these tools: OpenAGI's reader, and ControlLLM's LLaVA 1.5 7B, which LUMOS uses, too."""
_CATALOGUE = Catalogue(
    name="lumos-answering",
    tools=MappingProxyType({_READER: OPENAGI[_READER], _LOOKER: CONTROLLLM[_LOOKER]}),
)
LONGEST = 20_000
"""Characters of a context or question that an expert gets."""
_QUESTION = Parameter("question", aliases=("query",))
Picture = Callable[[str, str], "Image | None"]
"""Opens a picture of a task's scope by the name that an action gives it; None: there is none."""


class Answering:
    """Runs both tools; making one loads no expert. Used from one thread at a time."""

    def __init__(self, setting: Setting, *, picture: Picture | None = None) -> None:
        self._setting, self._picture = setting, picture
        self._made: ExpertTools | None = None

    def lacking(self) -> frozenset[str]:
        """The tools that have no expert in the profile."""
        offered = self._tools().offered
        return frozenset(tool for tool, expert in _EXPERTS.items() if expert not in offered)

    def facts(self) -> dict[str, JsonValue]:
        """See `ExpertTools.facts`."""
        return self._tools().facts()

    def run(self, calls: Sequence[Call]) -> list[Outcome]:
        """Run calls of both tools in batches."""
        prepared = [self._prepared(call) for call in calls]
        ready = [one for one in prepared if not isinstance(one, Refused | ToolFault)]
        ran = iter(self._tools().run(ready)) if ready else iter(())
        return [one if isinstance(one, Refused | ToolFault) else _outcome(next(ran)) for one in prepared]

    def _prepared(self, call: Call) -> "ExpertCall | Refused | ToolFault":
        from evaluator.episodes.turns.expert_tools import ExpertCall

        if call.outputs != 1:
            message = f"{call.tool} has one result, and the action names {call.outputs}."
            return Refused(ActionProblem.BAD_ARGUMENTS, message)
        first = Parameter("image" if call.tool == LOOK else "context")
        try:
            arguments = bound(call, parameters=(first, _QUESTION))
        except UnboundError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
        question, named = arguments["question"][:LONGEST], arguments[first.name]
        if call.tool == LOOK:
            return self._looked(named=named.strip().lstrip("$"), question=question, scope=call.scope)
        if not named.strip():
            return Refused(ActionProblem.BAD_ARGUMENTS, "The context is empty.")
        return ExpertCall(tool=_READER, inputs={"document": named[:LONGEST], "query": question})

    def _looked(self, *, named: str, question: str, scope: str) -> "ExpertCall | Refused | ToolFault":
        from evaluator.episodes.turns.expert_tools import ExpertCall

        try:
            opened = self._picture(scope, named) if self._picture else None
        except (OSError, ValueError) as error:
            return ToolFault(f"The picture cannot be opened: {type(error).__name__}.")
        if opened is None:
            return Refused(ActionProblem.BAD_REFERENCE, f"There is no picture {named[:100]!r}.")
        return ExpertCall(tool=_LOOKER, inputs={"image": opened, "text": question})

    def _tools(self) -> "ExpertTools":
        if self._made is None:
            from evaluator.episodes.turns.expert_tools import ExpertTools

            self._made = ExpertTools.of_setting(self._setting, catalogue=_CATALOGUE)
        return self._made


def _outcome(ran: object) -> Outcome:
    from evaluator.episodes.turns.expert_tools import Failed, Ran

    if isinstance(ran, Failed):
        return ran.outcome()
    assert isinstance(ran, Ran)
    return Made((str(next(iter(ran.outputs.values()))),))
