"""The samples of shifted tasks: those of the released list, with the inputs that a task shifts."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from PIL import Image as PillowImage

from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.suites.samples import SampleSource
from evaluator.core.values import Value
from evaluator.miniature.lilliput_samples import clean_image
from evaluator.miniature.seeds import Split, generator
from evaluator.openagi.data import SPLITS, SharingSamples
from evaluator.openagi.shifted.shifts import VERSION, shifted_picture, shifted_text
from evaluator.openagi.shifted.tasks import SPELLINGS, ShiftedTask


def released_samples(*, profile: str, split: str, hidden_seed: str | None) -> SampleSource:
    """The unshifted data: the same scenes and texts as the inputs of `openagi`.

    Raises:
        LookupError: the profile has no data.
        ValueError: the split is unknown, or is hidden and the seed is missing.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if profile != "lilliput":
        raise LookupError(f"shifted inputs have no data under profile {profile}, only under lilliput")
    return cast(SampleSource, SharingSamples(split=split, hidden_seed=hidden_seed))


def shifted_samples(*, profile: str, split: str, hidden_seed: str | None) -> "ShiftedSamples":
    """The data of shifted tasks; arguments and errors as of `released_samples`."""
    released = released_samples(profile=profile, split=split, hidden_seed=hidden_seed)
    return ShiftedSamples(released=released, split=Split(split), hidden_seed=hidden_seed)


class ShiftedSamples:
    """The released samples with shifted inputs. References are the released ones."""

    def __init__(self, *, released: SampleSource, split: Split, hidden_seed: str | None) -> None:
        self._released = cast(SharingSamples, released)
        self._split, self._hidden_seed = split, hidden_seed
        self.digest = canonical_json.digest({"released": released.digest, "shifts": VERSION})

    def missing(self, *, task: Task) -> str | None:
        """See `SampleSource`."""
        return self._released.missing(task=cast(ShiftedTask, task))

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """See `SampleSource`."""
        shifted = cast(ShiftedTask, task)
        return {
            name: self._shifted(value, name=name, task=shifted, index=index)
            for name, value in self._released.inputs(task=shifted, index=index).items()
        }

    def reference(self, *, task: Task, index: int) -> Value:
        """See `SampleSource`."""
        return self._released.reference(task=cast(ShiftedTask, task), index=index)

    def inputs_key(self, *, task: Task) -> str:
        """See `SharingSource`."""
        shifted = cast(ShiftedTask, task)
        # Which words stay English depends on the answer, and thus on the domain task.
        spelled = [shifted.base, shifted.language] if shifted.shift in SPELLINGS else []
        return canonical_json.digest([self._released.inputs_key(task=shifted), str(shifted.shift), *spelled])

    def reference_key(self, *, task: Task) -> str:
        """See `SharingSource`."""
        return self._released.reference_key(task=cast(ShiftedTask, task))

    def _shifted(self, value: Value, *, name: str, task: ShiftedTask, index: int) -> Value:
        if isinstance(value, str):
            kept = str(self.reference(task=task, index=index)) if task.language == "en" else ""
            rng = self._stream(f"{task.shift} {task.base} {name}", index=index)
            return shifted_text(value, shift=task.shift, kept=kept, rng=rng)
        if task.shift in SPELLINGS:
            return value
        clean = clean_image(split=self._split, index=index, hidden_seed=self._hidden_seed)
        pixels = shifted_picture(
            np.asarray(clean), degradations=task.degradations, shift=task.shift,
            stream=lambda purpose: self._stream(purpose, index=index),
        )  # fmt: skip
        return PillowImage.fromarray(pixels)

    def _stream(self, purpose: str, *, index: int) -> np.random.Generator:
        return generator(split=self._split, index=index, purpose=purpose, hidden_seed=self._hidden_seed)
