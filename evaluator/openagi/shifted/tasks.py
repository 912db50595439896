"""Tasks of the released list with the shift of their inputs; `shifts` applies the shifts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from evaluator.core.canonical_json import JsonValue
from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.tasks import OpenAGITask


class Shift(StrEnum):
    """What is unlike the training data of the experts."""

    IMPULSES = "impulses"
    """Black and white pixels instead of Gaussian noise."""
    MOTION = "motion"
    """A camera that moved, instead of a Gaussian blur."""
    SKIPPED_PIXELS = "skipped_pixels"
    """One pixel of each block instead of their mean."""
    CHANNEL_MEAN = "channel_mean"
    """The mean of the three channels instead of luma."""
    ALL_DEFECTS = "all_defects"
    """Each defect of the picture is of the other kind."""
    SPELLING = "spelling"
    """Texts with swapped letters."""
    CAPITALS = "capitals"
    """Texts in capital letters."""
    GERMAN_NOUNS = "german_nouns"
    """Texts with German words for things, colours and shapes."""


DEFECTS: Mapping[str, Shift] = {
    Degradation.NOISE: Shift.IMPULSES,
    Degradation.BLUR: Shift.MOTION,
    Degradation.LOW_RESOLUTION: Shift.SKIPPED_PIXELS,
    Degradation.GRAYSCALE: Shift.CHANNEL_MEAN,
}
"""By the defect that a request names, the shift that gives it another kind."""
SPELLINGS = (Shift.SPELLING, Shift.CAPITALS, Shift.GERMAN_NOUNS)


@dataclass(frozen=True, kw_only=True)
class ShiftedTask(OpenAGITask):
    """A released request, whose inputs are unlike the training data in one way."""

    shift: Shift

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {**super().attributes, "shift": str(self.shift)}


def shifted_tasks(released: Iterable[OpenAGITask]) -> Iterator[ShiftedTask]:
    """Each released task with one shift that changes an input of it: the one that its domain task has least so far.

    Args:
        released: the tasks, in the order of the list.
    """
    per_base: Counter[tuple[str, Shift]] = Counter()
    in_all: Counter[Shift] = Counter()
    for task in released:
        shift = min(possible_shifts(task), key=lambda shift: (per_base[task.base, shift], in_all[shift]))
        per_base[task.base, shift] += 1
        in_all[shift] += 1
        own = {field.name: getattr(task, field.name) for field in fields(task)}
        yield ShiftedTask(**own, shift=shift)


def possible_shifts(task: OpenAGITask) -> tuple[Shift, ...]:
    """The shifts that change an input of a task: of each defect, of all at once, and of texts."""
    defects = [DEFECTS[degradation] for degradation in task.degradations]
    together = [Shift.ALL_DEFECTS] if len(defects) > 1 else []
    spellings: tuple[Shift, ...] = SPELLINGS if {*task.resources} - {"image"} else ()
    if task.base is Base.SUMMARIZATION and task.language == "en":
        # An English summary names all things of its text, so that none of them could have a German name.
        spellings = tuple(shift for shift in spellings if shift is not Shift.GERMAN_NOUNS)
    return (*defects, *together, *spellings)
