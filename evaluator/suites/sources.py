"""Choosing the source of samples for a suite, a profile and a split."""

from typing import cast

from evaluator import canonical_json
from evaluator.lilliput.openagi_samples import LilliputSamples, SampleTask
from evaluator.suites.samples import SampleSource

SPLITS = ("public", "validation", "hidden")


def sample_source(*, suite: str, profile: str, split: str, hidden_seed: str | None = None) -> SampleSource:
    """The data of a suite under a profile.

    Args:
        suite: slug of the suite.
        profile: name of the profile; `lilliput` brings its own procedural data.
        split: `public`, `validation`, or `hidden`.
        hidden_seed: the server's secret, used for the hidden split only.

    Raises:
        LookupError: there are no data for this combination.
        ValueError: the split is unknown, or is hidden and the seed is missing.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if (suite, profile) != ("openagi", "lilliput"):
        raise LookupError(f"there are no data for suite {suite} under profile {profile}")
    # The tasks of this suite have what the miniature world reads off a task (`SampleTask`).
    return cast(SampleSource, _SharingSamples(split=split, hidden_seed=hidden_seed if split == "hidden" else None))


class _SharingSamples(LilliputSamples):
    """Says which tasks have the same data: the samples depend on nothing but what `SampleTask` names."""

    def inputs_key(self, *, task: SampleTask) -> str:
        """See `SharingSource`."""
        names = list(task.resources)
        # A picture is the same whatever is asked about it; texts are written for the domain task.
        base = None if names == ["image"] else task.base
        return canonical_json.digest([base, sorted(task.degradations), names, sorted(task.clozed)])

    def reference_key(self, *, task: SampleTask) -> str:
        """See `SharingSource`."""
        return canonical_json.digest([task.base, task.language])
