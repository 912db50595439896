"""The samples of generated requests: data of the miniature world, put together as a request gives them."""

from collections.abc import Mapping
from typing import cast

from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.values import Value
from evaluator.miniature.lilliput_samples import LilliputSamples
from evaluator.openagi.data import SPLITS
from evaluator.openagi.season.requests import InputSpec
from evaluator.openagi.season.tasks import SeasonTask

_ELSEWHERE = 100_000
"""Offset of the samples that unneeded inputs are taken from."""


def season_samples(*, profile: str, split: str, hidden_seed: str | None) -> "SeasonSamples":
    """The data of generated requests under a profile.

    Args:
        profile: only `lilliput` has data.
        split: `public`, `validation`, or `hidden`.
        hidden_seed: the secret of the hidden split, None on the others.

    Raises:
        LookupError: the profile has no data.
        ValueError: the split is unknown, or is hidden and the seed is missing.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if profile != "lilliput":
        raise LookupError(f"generated requests have no data under profile {profile}, only under lilliput")
    return SeasonSamples(LilliputSamples(split=split, hidden_seed=hidden_seed))


class SeasonSamples:
    """The inputs of a request, needed or not, and the references of its answers. Inputs of all requests share data."""

    def __init__(self, world: LilliputSamples) -> None:
        self._world = world
        self.digest = world.digest

    def missing(self, *, task: Task) -> str | None:  # noqa: ARG002 - the world has data for every request
        """See `SampleSource`."""
        return None

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """See `SampleSource`."""
        return {given.name: self._value(given, index=index) for given in cast(SeasonTask, task).spec.given}

    def reference(self, *, task: Task, index: int) -> Value:
        """See `SampleSource`."""
        wanted = cast(SeasonTask, task).wanted
        return self._world.answer(base=wanted.base, language=wanted.language, index=index)

    def inputs_key(self, *, task: Task) -> str:
        """See `SharingSource`."""
        return canonical_json.digest(
            [
                [given.name, given.noun, given.source, sorted(given.degradations), given.is_clozed, given.is_needed]
                for given in cast(SeasonTask, task).spec.given
            ]
        )

    def reference_key(self, *, task: Task) -> str:
        """See `SharingSource`."""
        wanted = cast(SeasonTask, task).wanted
        return canonical_json.digest([wanted.base, wanted.language])

    def _value(self, given: InputSpec, *, index: int) -> Value:
        if not given.is_needed:
            index += _ELSEWHERE
        if given.source is None:
            return self._world.image(degradations=given.degradations, index=index)
        return self._world.text(base=given.source, name=given.noun, is_clozed=given.is_clozed, index=index)
