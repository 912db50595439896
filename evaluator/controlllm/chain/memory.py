"""The state of a running chain (ControlLLM, section 3.3): every intermediate result with its value and its type."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ArtefactReference
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Boxes, Labels, Masks, Value

_SHOWN = 200
"""Characters of a text that prompts and transcripts show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value of the state, with the facts that corrections use."""

    reference: str
    """A file of the request, or the placeholder of a result."""
    type: ResourceType
    artefact: ArtefactReference
    maker: str = ""
    """The tool that made it; empty for files of the request."""
    size: tuple[int, int] | None = None
    """Width and height in pixels of a picture, a clip, or the picture that boxes or masks are of."""
    labels: tuple[str, ...] | None = None
    """The labels of findings, the surest first; None for everything else."""
    text: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether these are findings without any item."""
        return self.labels is not None and not self.labels

    def in_words(self) -> str:
        """The value in a few words."""
        if self.text is not None:
            return self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}..."
        if self.labels is not None:
            counts = Counter(label or "unnamed" for label in self.labels)
            return ", ".join(f"{count} x {label}" for label, count in counts.items()) or "nothing"
        return "" if self.size is None else f"{self.size[0]}x{self.size[1]} pixels"

    def to_json(self) -> dict[str, JsonValue]:
        """For the transcript."""
        return {
            "reference": self.reference,
            "type": str(self.type),
            "made_by": self.maker or "request",
            "artefact": self.artefact.digest,
            "media_type": self.artefact.media_type,
            "value": self.in_words(),
        }


def entry_of(
    *, reference: str, kind: ResourceType, artefact: ArtefactReference, value: Value, maker: str = ""
) -> Entry:
    """The entry of a value."""
    size = value.size if not isinstance(value, str | Labels) else None
    labels: tuple[str, ...] | None = None
    if isinstance(value, Labels):
        labels = tuple(one.name for one in value.items)
    elif isinstance(value, Boxes | Masks):
        labels = tuple(one.label for one in value.items)
    return Entry(
        reference=reference,
        type=kind,
        artefact=artefact,
        maker=maker,
        size=(size[0], size[1]) if size is not None else None,
        labels=labels,
        text=value if isinstance(value, str) else None,
    )


class StateMemory:
    """Available values: files of the request, then results in the order of their creation."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.reference: entry for entry in entries}

    def hold(self, entry: Entry) -> None:
        """Store a value; it replaces an earlier one of the same name."""
        self._entries.pop(entry.reference, None)
        self._entries[entry.reference] = entry

    def get(self, reference: str) -> Entry | None:
        """The value of a reference, written with or without `$`."""
        return self._entries.get(reference) or self._entries.get(reference.removeprefix("$"))

    def of_type(self, kind: ResourceType) -> tuple[Entry, ...]:
        """All values of a type, in order."""
        return tuple(entry for entry in self._entries.values() if entry.type is kind)

    def entries(self) -> tuple[Entry, ...]:
        """All values, in order."""
        return tuple(self._entries.values())
