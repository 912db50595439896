"""The tools `QA` and `VQA`, run with the experts of a setting's profile."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from evaluator.canonical_json import JsonValue
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused
from evaluator.plans.turns import Parameter
from evaluator.suites.lumos.retrieval.environment import ANSWER, UnboundError, bound
from evaluator.tools.openagi import OPENAGI
from evaluator.transcripts import ActionProblem

if TYPE_CHECKING:
    from PIL.Image import Image

    from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools

LOOK = "VQA"
EXPERTS: Mapping[str, str] = {ANSWER: "Question Answering", LOOK: "Visual Question Answering"}
"""The tools of OpenAGI whose experts run these tools."""
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
        return frozenset(tool for tool, expert in EXPERTS.items() if expert not in offered)

    def facts(self) -> dict[str, JsonValue]:
        """See `ExpertTools.facts`."""
        return self._tools().facts()

    def run(self, calls: Sequence[Call]) -> list[Outcome]:
        """Run calls of both tools in batches."""
        prepared = [self._prepared(call) for call in calls]
        ready = [one for one in prepared if not isinstance(one, Refused)]
        ran = iter(self._tools().run(ready)) if ready else iter(())
        return [one if isinstance(one, Refused) else _outcome(next(ran)) for one in prepared]

    def _prepared(self, call: Call) -> "ExpertCall | Refused":
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
            opened = self._picture(call.scope, named.strip().lstrip("$")) if self._picture else None
            if opened is None:
                return Refused(ActionProblem.BAD_REFERENCE, f"There is no picture {named[:100]!r}.")
            return ExpertCall(tool=EXPERTS[LOOK], inputs={"image": opened, "text": question})
        if not named.strip():
            return Refused(ActionProblem.BAD_ARGUMENTS, "The context is empty.")
        return ExpertCall(tool=EXPERTS[ANSWER], inputs={"document": named[:LONGEST], "query": question})

    def _tools(self) -> "ExpertTools":
        if self._made is None:
            from evaluator.episodes.turns.expert_tools import ExpertTools

            self._made = ExpertTools.of_setting(self._setting, catalogue=OPENAGI)
        return self._made


def _outcome(ran: object) -> Outcome:
    from evaluator.episodes.turns.expert_tools import Failed, Ran

    if isinstance(ran, Failed):
        return ran.outcome()
    assert isinstance(ran, Ran)
    return Made((str(next(iter(ran.outputs.values()))),))
