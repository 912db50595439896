"""Lists that a T5 writes about a text: its tags, or the names in it."""

from collections.abc import Mapping, Sequence

from evaluator.core.values import Label, Labels, Value
from evaluator.execution.experts.generation import T5Expert

SEPARATOR = ", "
"""Between the items of a list."""


class TagsExpert(T5Expert):
    """A text in, a list of labels out, in the order in which the model writes them; each once."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        return [{name: _listed(str(written)) for name, written in item.items()} for item in super().run(batch)]


def _listed(written: str) -> Labels:
    """The items of a written list; no items for an empty text."""
    items = dict.fromkeys(item.strip() for item in written.split(SEPARATOR.strip()))
    return Labels(tuple(Label(item) for item in items if item))
