"""What zero-shot and few-shot have in common: one completion in free text, mapped to a plan."""

from collections.abc import Mapping
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Completion, GenerateCall, Message
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import plan_to_json
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.strategies.choosing import configured_similarity
from evaluator.openagi.strategies.mapping import calls_of, map_text
from evaluator.openagi.strategies.plan_building import plan_of_calls
from evaluator.openagi.strategies.prompts import STEPS_ARE_OVER, VERSION
from evaluator.openagi.strategies.similarity import Similarity
from evaluator.planners.strategies.prompting import context_of, shortened

MAX_TOKENS = 512
NOTHING_MAPPED = "no line of it could be mapped to a tool"


class FreeText:
    """Asks once, reads the lines of the answer and maps each to a tool. Subclasses say with which words they ask."""

    catalogue: ClassVar[str] = OPENAGI.name
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})
    name: ClassVar[str]

    def __init__(self, *, similarity: Similarity | None = None, drops_repeats: bool = False) -> None:
        """Args:
        similarity: what lines are mapped with; None: what is configured (`choosing`), when it is first needed.
        drops_repeats: whether a tool that comes again is left out. The paper keeps repeats (Table 6); the released
            code drops them for zero-shot.
        """
        self._similarity = similarity
        self._drops_repeats = drops_repeats

    def converse(self, request: PlannerRequest) -> Conversation:
        """See `Strategy.converse`."""
        similarity = self._similarity or configured_similarity()
        messages, notes = self.ask(request)
        (answer,) = yield [GenerateCall(messages=messages, max_tokens=MAX_TOKENS, stop=STEPS_ARE_OVER)]
        assert isinstance(answer, Completion)
        return self._draft(text=answer.text, request=request, similarity=similarity, notes=notes)

    def ask(self, request: PlannerRequest) -> tuple[tuple[Message, ...], Mapping[str, JsonValue]]:
        """The prompt, and what the notes are to say of it."""
        raise NotImplementedError

    def _draft(
        self, *, text: str, request: PlannerRequest, similarity: Similarity, notes: Mapping[str, JsonValue]
    ) -> Draft:
        lines = map_text(text=text, request=request, similarity=similarity)
        calls = calls_of(lines, drops_repeats=self._drops_repeats)
        found: dict[str, JsonValue] = {
            "prompt": f"{self.name}/{VERSION}",
            **notes,
            "mapper": similarity.name,
            "threshold": round(similarity.threshold, 4),
            "completion": shortened(text),
            "lines": [line.to_json() for line in lines],
        }
        if not calls:
            return Draft(plan=shortened(text), unreadable=NOTHING_MAPPED, notes=found)
        return Draft(plan=plan_to_json(plan_of_calls(calls=calls, context=context_of(request))), notes=found)
