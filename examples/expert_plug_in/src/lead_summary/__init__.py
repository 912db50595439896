"""Summaries without a model: the first sentence of a text."""

from collections.abc import Mapping, Sequence

from evaluator.core.expert import ExpertSpec, InputError
from evaluator.core.values import Value


class LeadSummary:
    """The lead baseline: the first sentence is the summary."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        """Has no weights and needs no device."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """The first sentence of each `text`, with its full stop."""
        return [{"text": _first_sentence(item["text"])} for item in batch]


def _first_sentence(text: Value) -> str:
    if not isinstance(text, str):
        raise InputError(f'the input "text" must be a text, found {type(text).__name__}')
    return text.partition(". ")[0].rstrip(".") + "."
