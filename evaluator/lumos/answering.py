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
from evaluator.lumos.exact_tools import several_results
from evaluator.lumos.retrieval.environment import ANSWER, UnboundError, bound
from evaluator.replies.turns.binding import Parameter

if TYPE_CHECKING:
    from PIL.Image import Image

    from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools

LOOK = "VQA"
_READER = "Question Answering"
LONGEST = 20_000
"""Maximum length of a context or question, in characters."""
_QUESTION = Parameter("question", aliases=("query",))


@dataclass(frozen=True, slots=True)
class Experts:
    """The experts that run the tools: OpenAGI's reader, and a visual question answerer."""

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
"""With ControlLLM's LLaVA 1.5 7B, which LUMOS uses as well."""
OF_OPENAGI = Experts(OPENAGI, "Visual Question Answering")


class Given(Protocol):
    """The named inputs of tasks."""

    def picture(self, *, scope: str, name: str) -> "Image":
        """Open a picture.

        Raises:
            NoPictureError: the task has no picture of this name.
            OSError, ValueError: it cannot be opened.
        """
        ...

    def text(self, *, scope: str, name: str) -> str | None:
        """The text of this name, if there is one."""
        ...


class NoPictureError(Exception):
    """A task has no picture of this name; the message is a sentence."""


class NothingGiven:
    """Tasks without named inputs."""

    def picture(self, *, scope: str, name: str) -> "Image":
        del scope
        raise NoPictureError(f"There is no picture {name[:100]!r}.")

    def text(self, *, scope: str, name: str) -> None:
        del scope, name


class Answering:
    """Runs both tools. Loads experts on first use. Not thread-safe."""

    def __init__(self, setting: Setting, *, given: Given, experts: Experts = OF_LUMOS) -> None:
        self._setting, self._given, self._catalogue = setting, given, experts.catalogue
        self._experts: Mapping[str, str] = {ANSWER: _READER, LOOK: experts.looker}
        self._loaded: ExpertTools | None = None

    def lacking(self) -> frozenset[str]:
        """The tools without an expert in the profile."""
        offered = self._tools().offered
        return frozenset(tool for tool, expert in self._experts.items() if expert not in offered)

    def facts(self) -> dict[str, JsonValue]:
        return self._tools().facts()

    def run(self, calls: Sequence[Call]) -> list[Outcome]:
        """Run calls of both tools in batches."""
        from evaluator.episodes.turns.expert_tools import Failed

        prepared = [self._prepared(call) for call in calls]
        ready = [call for call in prepared if not isinstance(call, Refused | ToolFault)]
        results = iter(self._tools().run(ready)) if ready else iter(())
        outcomes: list[Outcome] = []
        for call in prepared:
            if isinstance(call, Refused | ToolFault):
                outcomes.append(call)
            elif isinstance(result := next(results), Failed):
                outcomes.append(result.outcome())
            else:
                outcomes.append(Made((str(next(iter(result.outputs.values()))),)))
        return outcomes

    def _prepared(self, call: Call) -> "ExpertCall | Refused | ToolFault":
        from evaluator.episodes.turns.expert_tools import ExpertCall

        if (refused := several_results(call)) is not None:
            return refused
        first = Parameter("image" if call.tool == LOOK else "context")
        try:
            arguments = bound(call, parameters=(first, _QUESTION))
        except UnboundError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
        question, named = arguments["question"][:LONGEST], arguments[first.name]
        name = named.strip().lstrip("$")
        if call.tool == LOOK:
            try:
                image = self._given.picture(scope=call.scope, name=name)
            except NoPictureError as error:
                return Refused(ActionProblem.BAD_REFERENCE, str(error))
            except (OSError, ValueError) as error:
                return ToolFault(f"The picture cannot be opened: {type(error).__name__}.")
            return ExpertCall(tool=self._experts[LOOK], inputs={"image": image, "text": question})
        text = self._given.text(scope=call.scope, name=name) or named
        if not text.strip():
            return Refused(ActionProblem.BAD_ARGUMENTS, "The context is empty.")
        return ExpertCall(tool=_READER, inputs={"document": text[:LONGEST], "query": question})

    def _tools(self) -> "ExpertTools":
        if self._loaded is None:
            from evaluator.episodes.turns.expert_tools import ExpertTools

            self._loaded = ExpertTools.of_setting(self._setting, catalogue=self._catalogue)
        return self._loaded
