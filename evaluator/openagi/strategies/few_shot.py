"""Few-shot: demonstrations and the request, answered in free text (OpenAGI, section 6.2)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Message
from evaluator.core.planner import PlannerRequest
from evaluator.openagi.strategies.choosing import configured_demonstrations
from evaluator.openagi.strategies.demonstrations import Demonstration, digest_of
from evaluator.openagi.strategies.free_text import FreeText
from evaluator.openagi.strategies.prompts import few_shot_prompt
from evaluator.openagi.strategies.similarity import Similarity


class FewShot(FreeText):
    """Shows requests with right plans before it asks."""

    name: ClassVar[str] = "openagi/few-shot"
    description: ClassVar[str] = (
        "OpenAGI, few-shot: demonstrations and the request; steps in free text, mapped to models by similarity."
    )

    def __init__(
        self,
        *,
        similarity: Similarity | None = None,
        drops_repeats: bool = False,
        demonstrations: Sequence[Demonstration] | None = None,
    ) -> None:
        """Args:
        similarity: see `FreeText`.
        drops_repeats: see `FreeText`.
        demonstrations: None: what is configured (`choosing`), when they are first needed.
        """
        super().__init__(similarity=similarity, drops_repeats=drops_repeats)
        self._demonstrations = demonstrations

    def ask(self, request: PlannerRequest) -> tuple[tuple[Message, ...], Mapping[str, JsonValue]]:
        """See `FreeText.ask`."""
        shown = configured_demonstrations() if self._demonstrations is None else tuple(self._demonstrations)
        notes: dict[str, JsonValue] = {"demonstrations": {"number": len(shown), "digest": digest_of(shown)}}
        return few_shot_prompt(request=request, demonstrations=shown), notes
