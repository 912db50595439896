"""Zero-shot and few-shot: one completion in free text, mapped to a plan (OpenAGI, section 6.2).

===============================  ====================================================================================
environment variable             value
===============================  ====================================================================================
`PLANARENA_EMBEDDING_MODEL`      folder of a sentence-transformers checkpoint, or `ORG/NAME@REVISION` on the hub;
                                 default: the lexical measure
`PLANARENA_EMBEDDING_THRESHOLD`  minimum cosine similarity for mapping a line to a tool; default: see
                                 `calibrated_threshold`
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
    """Calls the model once, and maps each line of the answer to a tool. Subclasses define the prompt."""

    catalogue: ClassVar[str] = OPENAGI.name
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})
    name: ClassVar[str]

    def __init__(self, *, similarity: Similarity | None = None, drops_repeats: bool = False) -> None:
        """Args:
        similarity: the measure for mapping lines; default: `configured_similarity`, on first use.
        drops_repeats: whether to drop repeated tools. The paper keeps them (Table 6); the released code drops them for
            zero-shot.
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
        """The prompt, and its notes."""
        raise NotImplementedError

    def _draft(
        self, *, text: str, request: PlannerRequest, similarity: Similarity, notes: Mapping[str, JsonValue]
    ) -> Draft:
        lines = map_text(text=text, request=request, similarity=similarity)
        calls = calls_of(lines, drops_repeats=self._drops_repeats)
        notes = {
            "prompt": f"{self.name}/{VERSION}", **notes, "mapper": similarity.name,
            "threshold": round(similarity.threshold, 4), "completion": shortened(text),
            "lines": [line.to_json() for line in lines],
        }  # fmt: skip
        if not calls:
            return Draft(plan=shortened(text), unreadable=NOTHING_MAPPED, notes=notes)
        return Draft(plan=plan_to_json(plan_of_calls(calls=calls, context=context_of(request))), notes=notes)


class ZeroShot(FreeText):
    """Lists the offered tools, and asks for steps."""

    name: ClassVar[str] = "openagi/zero-shot"
    description: ClassVar[str] = (
        "OpenAGI, zero-shot: the request and the models there are; steps in free text, mapped to models by similarity."
    )
    names_tools: ClassVar[bool] = True

    def ask(self, request: PlannerRequest) -> tuple[tuple[Message, ...], Mapping[str, JsonValue]]:
        return zero_shot_prompt(request=request, names_tools=self.names_tools), {}


class BareZeroShot(ZeroShot):
    """Lists no tools, as in the paper."""

    name: ClassVar[str] = "openagi/zero-shot-bare"
    description: ClassVar[str] = (
        "OpenAGI, zero-shot as in the paper: the request alone; steps in free text, mapped to models by similarity."
    )
    names_tools: ClassVar[bool] = False


class FewShot(FreeText):
    """Precedes the request with demonstrations."""

    name: ClassVar[str] = "openagi/few-shot"
    description: ClassVar[str] = (
        "OpenAGI, few-shot: demonstrations and the request; steps in free text, mapped to models by similarity."
    )

    def __init__(
        self, *, similarity: Similarity | None = None, drops_repeats: bool = False,
        demonstrations: Sequence[Demonstration] | None = None,
    ) -> None:  # fmt: skip
        """Args:
        similarity: see `FreeText`.
        drops_repeats: see `FreeText`.
        demonstrations: default: `configured_demonstrations`, on first use.
        """
        super().__init__(similarity=similarity, drops_repeats=drops_repeats)
        self._demonstrations = demonstrations

    def ask(self, request: PlannerRequest) -> tuple[tuple[Message, ...], Mapping[str, JsonValue]]:
        examples = configured_demonstrations() if self._demonstrations is None else tuple(self._demonstrations)
        notes: dict[str, JsonValue] = {"demonstrations": {"number": len(examples), "digest": digest_of(examples)}}
        return few_shot_prompt(request=request, demonstrations=examples), notes


MODEL = "PLANARENA_EMBEDDING_MODEL"
THRESHOLD = "PLANARENA_EMBEDDING_THRESHOLD"


class SettingError(ValueError):
    """Invalid setting. The message names it and the allowed values."""


def configured_similarity() -> Similarity:
    """The configured measure, by default the lexical one. A model is loaded once.

    Raises:
        SettingError: the threshold is not a number from -1 to 1.
        EmbeddingError: the model cannot be loaded.
    """
    model, text = (os.environ.get(name, "").strip() for name in (MODEL, THRESHOLD))
    if not model:
        return LexicalSimilarity()
    try:
        threshold = float(text) if text else None
    except ValueError:
        threshold = 2.0
    if threshold is not None and not -1 <= threshold <= 1:
        raise SettingError(f"{THRESHOLD} must be a number from -1 to 1, not {text!r}")
    similarity = _loaded(model, threshold)
    if isinstance(similarity, Exception):
        raise similarity
    return similarity


@cache
def _loaded(model: str, threshold: float | None) -> Similarity | Exception:
    """A model, or the error of loading it, which is cached too, so that it is not retried for every task."""
    # Imported on first use, because it loads torch.
    from evaluator.execution.experts.sentence_encoder import EmbeddingError
    from evaluator.openagi.strategies.embedding import EmbeddingSimilarity, checkpoint_folder

    try:
        folder, source = checkpoint_folder(model)
        return EmbeddingSimilarity(folder=folder, source=source, threshold=threshold)
    except EmbeddingError as error:
        return error
