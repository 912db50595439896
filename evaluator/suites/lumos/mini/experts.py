"""The experts of `lumos-mini`: a reader for texts, and one that answers questions about pictures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evaluator.canonical_json import JsonValue
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused
from evaluator.plans.turns import Parameter
from evaluator.records import Reason
from evaluator.suites.base import Suite
from evaluator.suites.lumos.mini.draws import Source
from evaluator.suites.lumos.mini.scenes.questions import IMAGE, NOTICE, OTHER, given
from evaluator.suites.lumos.mini.tools import LOOK
from evaluator.suites.lumos.retrieval.environment import ANSWER, UnboundError, bound
from evaluator.tools.openagi import OPENAGI
from evaluator.transcripts import ActionProblem
from evaluator.world.seeds import PICTURES_VERSION, WORLD_VERSION

if TYPE_CHECKING:
    from evaluator.episodes.turns.expert_tools import ExpertCall, ExpertTools

_READER, _LOOKER = "Question Answering", "Visual Question Answering"
_EXPERTS = {ANSWER: _READER, LOOK: _LOOKER}
_QUESTION = Parameter("question", aliases=("query",))
_LONGEST = 20_000


class MiniExperts:
    """Runs `QA` and `VQA` with the experts of the setting's profile."""

    def __init__(self, *, source: Source, setting: Setting) -> None:
        self._source, self._setting = source, setting
        self._made: ExpertTools | None = None

    def data(self) -> str:
        """What the pictures are drawn by."""
        return f"{WORLD_VERSION}/{PICTURES_VERSION}"

    def lacking(self) -> frozenset[str]:
        """The tools that have no expert in the profile."""
        offered = self._tools().offered
        return frozenset(tool for tool, expert in _EXPERTS.items() if expert not in offered)

    def not_run(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """The tasks whose gold plan needs an expert that the profile lacks."""
        lacking = self.lacking()
        if not lacking:
            return {}
        found: dict[str, tuple[Reason, str]] = {}
        for task in suite.tasks:
            needed = sorted({step.tool for step in task.gold.steps} & lacking) if task.gold else []
            if needed:
                message = f"The profile {self._setting.profile} has no expert for {', '.join(needed)}."
                found[task.key] = (Reason.NO_EXPERT, message)
        return found

    def facts(self) -> dict[str, JsonValue]:
        """See `ExpertTools.facts`."""
        return self._tools().facts()

    def run(self, calls: Sequence[Call]) -> list[Outcome]:
        """Run calls of both tools in batches."""
        prepared = [self._prepared(call) for call in calls]
        ready = [one for one in prepared if not isinstance(one, Refused | Made)]
        ran = iter(self._tools().run(ready)) if ready else iter(())
        return [one if isinstance(one, Refused | Made) else _outcome(next(ran)) for one in prepared]

    def _prepared(self, call: Call) -> "ExpertCall | Refused | Made":
        from evaluator.episodes.turns.expert_tools import ExpertCall

        if call.outputs != 1:
            return Refused(
                ActionProblem.BAD_ARGUMENTS, f"{call.tool} has one result, and the action names {call.outputs}."
            )
        first = Parameter("image" if call.tool == LOOK else "context")
        try:
            arguments = bound(call, parameters=(first, _QUESTION))
        except UnboundError as error:
            return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
        question, named = arguments["question"][:_LONGEST], arguments[first.name]
        if call.tool == LOOK:
            return self._looked(named=named, question=question, scope=call.scope)
        text = self._text(named=named, scope=call.scope)
        if not text.strip():
            return Refused(ActionProblem.BAD_ARGUMENTS, "The context is empty.")
        return ExpertCall(tool=_READER, inputs={"document": text[:_LONGEST], "query": question})

    def _looked(self, *, named: str, question: str, scope: str) -> "ExpertCall | Refused":
        from PIL import Image

        from evaluator.episodes.turns.expert_tools import ExpertCall
        from evaluator.world.rendering import render
        from evaluator.world.scenes import Scene

        scene = self._given(scope).get(named.lstrip("$"))
        if not isinstance(scene, Scene):
            there = ", ".join(name for name in (IMAGE, OTHER) if name in self._given(scope)) or "none"
            return Refused(ActionProblem.BAD_REFERENCE, f"There is no picture {named[:100]!r}; there are: {there}.")
        return ExpertCall(tool=_LOOKER, inputs={"image": Image.fromarray(render(scene)), "text": question})

    def _text(self, *, named: str, scope: str) -> str:
        found = self._given(scope).get(named.lstrip("$")) if named.lstrip("$") == NOTICE else None
        return found if isinstance(found, str) else named

    def _given(self, scope: str) -> "Mapping[str, object]":
        kind, _, number = scope.partition(" ")
        return given(source=self._source, number=int(number)) if kind == "scenes" else {}

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
