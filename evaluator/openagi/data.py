"""Choosing the source of OpenAGI's samples for a profile and a split."""

import os
from pathlib import Path
from typing import cast

from evaluator.core import canonical_json
from evaluator.core.suites.samples import SampleSource
from evaluator.miniature.lilliput_samples import LilliputSamples, SampleTask
from evaluator.openagi.built import BuiltSamples
from evaluator.openagi.released import ReleasedFolderSamples

SPLITS = ("public", "validation", "hidden")
DATA_VARIABLE = "PLANARENA_OPENAGI_DATA"
"""What `data` is if nobody says, so that workers and web servers agree without an option of their own."""


def built_data_folder() -> Path:
    """Where built data belong: `suites/openagi` in `PLANARENA_DATA`, or in `.data` where that is not set."""
    return Path(os.environ.get("PLANARENA_DATA", ".data")) / "suites" / "openagi"


def sample_source(*, profile: str, split: str, hidden_seed: str | None = None, data: str | None = None) -> SampleSource:
    """The data of the suite under a profile.

    Args:
        profile: name of the profile; `lilliput` brings its own procedural data.
        split: `public`, `validation`, or `hidden`.
        hidden_seed: the server's secret, used for the hidden split only.
        data: for the profile `paper`: `folder:PATH` for the released data, or `hub` for those that
            `planarena profiles build-data` made; the environment's `PLANARENA_OPENAGI_DATA` if not given.

    Raises:
        LookupError: there are no data for this combination.
        ValueError: the split is unknown, or is hidden and the seed is missing; or `data` is not understood.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if profile == "paper":
        return _paper_source(split=split, data=data or os.environ.get(DATA_VARIABLE))
    if profile != "lilliput":
        raise LookupError(f"there are no data for suite openagi under profile {profile}")
    if data is not None:
        raise ValueError(f"profile {profile} brings its own data; --data {data} is for the profile paper")
    # The tasks of this suite have what the miniature world reads off a task (`SampleTask`).
    return cast(SampleSource, _SharingSamples(split=split, hidden_seed=hidden_seed if split == "hidden" else None))


def _paper_source(*, split: str, data: str | None) -> SampleSource:
    if split != "public":
        raise LookupError(f"the papers' data are public; there is no {split} split of them")
    if data is None:
        raise LookupError(
            "profile paper needs to be told its data: --data folder:PATH (the released folders) or --data hub "
            f"(built by `planarena profiles build-data`), or either in {DATA_VARIABLE}"
        )
    kind, _, path = data.partition(":")
    # The tasks of this suite are `OpenAGITask`, which these sources ask for.
    if kind == "folder" and path:
        return cast(SampleSource, ReleasedFolderSamples(Path(path)))
    if kind == "hub":
        return cast(SampleSource, BuiltSamples(Path(path) if path else built_data_folder()))
    raise ValueError(f"--data is folder:PATH, hub, or hub:PATH, not {data!r}")


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
