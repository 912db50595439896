"""The tools `QA` and `VQA`, run with the experts of a setting's profile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.types import Catalogue
from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, ToolFault
from evaluator.lumos.retrieval.environment import ANSWER, UnboundError, bound
from evaluator.replies.turns.binding import Parameter

if TYPE_CHECKING:
    from PIL.Image import Image

    from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools

LOOK = "VQA"
_READER = "Question Answering"
LONGEST = 20_000
"""Characters of a context or question that an expert gets."""
_QUESTION = Parameter("question", aliases=("query",))


@dataclass(frozen=True, slots=True)
class Experts:
    """Whose experts run the tools: OpenAGI's reader, and one that looks at pictures."""

    catalogue: Catalogue
    looker: str


_LLAVA = "image_question_answering"
OF_LUMOS = Experts(
    Catalogue(
        name="lumos-answering",
        tools=MappingProxyType({_READER: OPENAGI[_READER], _LLAVA: CONTROLLLM[_LLAVA]}),
    ),
    _LLAVA,
)
"""ControlLLM's LLaVA 1.5 7B looks at pictures; LUMOS uses it, too."""
OF_OPENAGI = Experts(OPENAGI, "Visual Question Answering")


class Given(Protocol):
    """What a task is given under names."""

    def picture(self, *, scope: str, name: str) -> "Image":
        """Opens a picture of the task's scope.

        Raises:
            NoPictureError: the task has none of this name.
            OSError, ValueError: it cannot be opened.
        """
        ...

    def text(self, *, scope: str, name: str) -> str | None:
        """The text that a name stands for; None: no text has this name."""
        ...


class NoPictureError(Exception):
    """A task has no picture of a name; the message is a sentence."""


class NothingGiven:
    """A task of questions alone."""

    def picture(self, *, scope: str, name: str) -> "Image":
        del scope
        raise NoPictureError(f"There is no picture {name[:100]!r}.")

    def text(self, *, scope: str, name: str) -> None:
        del scope, name


class Answering:
    """Runs both tools; making one loads no expert. Used from one thread at a time."""

    def __init__(self, setting: Setting, *, given: Given, experts: Experts = OF_LUMOS) -> None:
        self._setting, self._given, self._catalogue = setting, given, experts.catalogue
        self._experts: Mapping[str, str] = {ANSWER: _READER, LOOK: experts.looker}
        self._made: ExpertTools | None = None

    def lacking(self) -> frozenset[str]:
        """The tools that have no expert in the profile."""
        offered = self._tools().offered
        return frozenset(tool for tool, expert in self._experts.items() if expert not in offered)

    def facts(self) -> dict[str, JsonValue]:
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
        name = named.strip().lstrip("$")
        if call.tool == LOOK:
            return self._looked(name=name, question=question, scope=call.scope)
        text = self._given.text(scope=call.scope, name=name) or named
        if not text.strip():
            return Refused(ActionProblem.BAD_ARGUMENTS, "The context is empty.")
        return ExpertCall(tool=_READER, inputs={"document": text[:LONGEST], "query": question})

    def _looked(self, *, name: str, question: str, scope: str) -> "ExpertCall | Refused | ToolFault":
        from evaluator.episodes.turns.expert_tools import ExpertCall

        try:
            opened = self._given.picture(scope=scope, name=name)
        except NoPictureError as error:
            return Refused(ActionProblem.BAD_REFERENCE, str(error))
        except (OSError, ValueError) as error:
            return ToolFault(f"The picture cannot be opened: {type(error).__name__}.")
        return ExpertCall(tool=self._experts[LOOK], inputs={"image": opened, "text": question})

    def _tools(self) -> "ExpertTools":
        if self._made is None:
            from evaluator.episodes.turns.expert_tools import ExpertTools

            self._made = ExpertTools.of_setting(self._setting, catalogue=self._catalogue)
        return self._made


def _outcome(ran: object) -> Outcome:
    from evaluator.episodes.turns.expert_tools import Failed, Ran

    if isinstance(ran, Failed):
        return ran.outcome()
    assert isinstance(ran, Ran)
    return Made((str(next(iter(ran.outputs.values()))),))
