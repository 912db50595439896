"""Zero-shot and few-shot: one completion in free text, mapped to a plan (OpenAGI, section 6.2).

===============================  ====================================================================================
environment variable             what it holds
===============================  ====================================================================================
`PLANARENA_EMBEDDING_MODEL`      folder of a sentence-transformers checkpoint, or `ORG/NAME@REVISION` on the hub; not
                                 set: the lexical measure
`PLANARENA_EMBEDDING_THRESHOLD`  the least cosine similarity with which a line is taken for a tool; not set: the one
                                 that is best on sentences of our own (`calibrated_threshold`)
===============================  ====================================================================================
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Completion, GenerateCall, Message
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import plan_to_json
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.strategies.mapping import calls_of, map_text, plan_of_calls
from evaluator.openagi.strategies.prompts import (
    STEPS_ARE_OVER,
    VERSION,
    Demonstration,
    configured_demonstrations,
    digest_of,
    few_shot_prompt,
    zero_shot_prompt,
)
from evaluator.openagi.strategies.similarity import LexicalSimilarity, Similarity
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
        similarity: what lines are mapped with; None: `configured_similarity`, when it is first needed.
        drops_repeats: whether a tool that comes again is left out. The paper keeps repeats (Table 6); the released
            code drops them for zero-shot.
        """
        self._similarity = similarity
        self._drops_repeats = drops_repeats

    def converse(self, request: PlannerRequest) -> Conversation:
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


class ZeroShot(FreeText):
    """Names the tools that there are, and asks for steps."""

    name: ClassVar[str] = "openagi/zero-shot"
    description: ClassVar[str] = (
        "OpenAGI, zero-shot: the request and the models there are; steps in free text, mapped to models by similarity."
    )
    names_tools: ClassVar[bool] = True

    def ask(self, request: PlannerRequest) -> tuple[tuple[Message, ...], Mapping[str, JsonValue]]:
        return zero_shot_prompt(request=request, names_tools=self.names_tools), {}


class BareZeroShot(ZeroShot):
    """Names no tools, as in the paper: only what a step says can be mapped."""

    name: ClassVar[str] = "openagi/zero-shot-bare"
    description: ClassVar[str] = (
        "OpenAGI, zero-shot as in the paper: the request alone; steps in free text, mapped to models by similarity."
    )
    names_tools: ClassVar[bool] = False


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
        demonstrations: None: `configured_demonstrations`, when they are first needed.
        """
        super().__init__(similarity=similarity, drops_repeats=drops_repeats)
        self._demonstrations = demonstrations

    def ask(self, request: PlannerRequest) -> tuple[tuple[Message, ...], Mapping[str, JsonValue]]:
        shown = configured_demonstrations() if self._demonstrations is None else tuple(self._demonstrations)
        notes: dict[str, JsonValue] = {"demonstrations": {"number": len(shown), "digest": digest_of(shown)}}
        return few_shot_prompt(request=request, demonstrations=shown), notes


MODEL = "PLANARENA_EMBEDDING_MODEL"


THRESHOLD = "PLANARENA_EMBEDDING_THRESHOLD"


class SettingError(ValueError):
    """A setting that cannot be used. The message names it and says what would be right."""


def configured_similarity() -> Similarity:
    """The measure that is set, or the lexical one. A model is loaded once.

    Raises:
        SettingError: the threshold is no number from -1 to 1.
        EmbeddingError: the model cannot be loaded.
    """
    model = os.environ.get(MODEL, "").strip()
    if not model:
        return LexicalSimilarity()
    found = _loaded(model, _threshold(os.environ.get(THRESHOLD, "").strip()))
    if isinstance(found, Exception):
        raise found
    return found


def _threshold(text: str) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        value = 2.0
    if value is not None and not -1 <= value <= 1:
        raise SettingError(f"{THRESHOLD} must be a number from -1 to 1, not {text!r}")
    return value


@cache
def _loaded(model: str, threshold: float | None) -> Similarity | Exception:
    """A model, or why there is none: what failed once is not tried again for every task."""
    # Imported here because it loads torch, which most planners do without.
    from evaluator.openagi.strategies.embedding import EmbeddingError, EmbeddingSimilarity, checkpoint_folder

    try:
        folder, source = checkpoint_folder(model)
        return EmbeddingSimilarity(folder=folder, source=source, threshold=threshold)
    except EmbeddingError as error:
        return error
