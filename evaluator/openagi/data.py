"""The samples of OpenAGI's requests, and which source of them a profile and a split have.

- `lilliput` has data of the miniature world.
- `paper` has the released data (`released`), or data built again from the public data sets (`building`): degraded
  here and seeded, so that sample k of a data set is the same photograph and the same text in every task, with the same
  noise and the same masked word. Reading them needs no data-set library and no network.
"""

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from PIL import Image as PillowImage

from evaluator.core import canonical_json
from evaluator.core.pictures import as_seen
from evaluator.core.suites.samples import MADE_UP, SampleSource
from evaluator.core.values import Image, Value
from evaluator.miniature.lilliput_samples import LilliputSamples, SampleTask
from evaluator.openagi import photos
from evaluator.openagi.grammar import Base
from evaluator.openagi.made_up import MadeUpSamples
from evaluator.openagi.released import ReleasedFolderSamples
from evaluator.openagi.tasks import OpenAGITask

MANIFEST = "manifest.json"
FORMAT = "openagi-data/1"
TEXTS = "texts.json"
GERMAN = "german.json"
AGAIN = "run `planarena profiles build-data`"
IMAGES = {
    Base.RESTORATION: "imagenet",
    Base.CLASSIFICATION: "imagenet",
    Base.CAPTIONING: "coco-captions",
    Base.DETECTION: "coco-objects",
    Base.VQA: "textvqa",
}
"""Folder of the photographs by base task."""


class BuiltSamples:
    """The data in a folder that `build` wrote."""

    def __init__(self, folder: Path) -> None:
        """Raises LookupError if there are no data or they were changed."""
        self._folder = folder
        manifest = _manifest(folder)
        self._digests: Mapping[str, str] = manifest["files"]
        self.samples = int(manifest["samples"])
        """How many every task has."""
        self._texts: Mapping[str, list[dict[str, str]]] = json.loads(self._bytes(TEXTS))
        self._german: Mapping[str, list[str]] = json.loads(self._bytes(GERMAN)) if GERMAN in self._digests else {}
        self.digest: str = canonical_json.digest(
            {
                "data": FORMAT,
                "files": dict(self._digests),
                "photos": [photos.VERSION, photos.SIDE, photos.BLUR_RADIUS, photos.NOISE_VARIANCE, photos.SHRINKING],
            }
        )
        """SHA-256 of all files and of how they are degraded."""

    def missing(self, *, task: OpenAGITask) -> str | None:
        """Why there is no data for a task, or None if there is."""
        if task.language == "de" and task.base not in self._german:
            return f"the data in {self._folder} have no German references; {AGAIN} with the model that makes them"
        folder = IMAGES.get(task.base)
        if folder is not None and f"{folder}/0.png" not in self._digests:
            return f"the data in {self._folder} have no images of {folder}; {AGAIN}"
        if task.base is not Base.RESTORATION and task.base not in self._texts:
            return f'the data in {self._folder} have no samples of "{task.base}"; {AGAIN}'
        return None

    def inputs(self, *, task: OpenAGITask, index: int) -> Mapping[str, Value]:
        """The named inputs of a sample.

        Raises:
            LookupError: there is no such sample.
        """
        return {name: self._input(task=task, name=name, index=index) for name in task.resources}

    def reference(self, *, task: OpenAGITask, index: int) -> Value:
        """The right answer of a sample: the clean photograph, or a text in the language of the task.

        Raises:
            LookupError: there is no such sample.
        """
        if task.base is Base.RESTORATION:
            return self._photograph(base=task.base, index=index)
        if task.language == "de":
            self._require(index=index)
            return self._german[task.base][index]
        return self._text(base=task.base, index=index)["reference"]

    def inputs_key(self, *, task: OpenAGITask) -> str:
        """Equal for tasks that have the same inputs, sample by sample, under the same names."""
        names = sorted(task.resources)
        source = IMAGES[task.base] if names == ["image"] else _source_of(task.base)
        return canonical_json.digest([source, sorted(task.degradations), names, sorted(task.clozed)])

    def reference_key(self, *, task: OpenAGITask) -> str:
        """Equal for tasks that have the same references, sample by sample."""
        return canonical_json.digest([str(task.base), task.language])

    def _input(self, *, task: OpenAGITask, name: str, index: int) -> Value:
        if name == "image":
            image = self._photograph(base=task.base, index=index)
            key = IMAGES[task.base]
            return photos.degraded(image, degradations=task.degradations, key=key, index=index)
        text = self._text(base=task.base, index=index)[name]
        # The same text of the same sample loses the same word, whatever else a task is about.
        return photos.masked(text, key=f"{_source_of(task.base)} {name}", index=index) if name in task.clozed else text

    def _photograph(self, *, base: Base, index: int) -> Image:
        self._require(index=index)
        with PillowImage.open(io.BytesIO(self._bytes(f"{IMAGES[base]}/{index}.png"))) as image:
            return as_seen(image)

    def _text(self, *, base: Base, index: int) -> Mapping[str, str]:
        self._require(index=index)
        return self._texts[base][index]

    def _require(self, *, index: int) -> None:
        if not 0 <= index < self.samples:
            raise LookupError(f"the data in {self._folder} have {self.samples} samples; there is no sample {index}")

    def _bytes(self, name: str) -> bytes:
        try:
            content = (self._folder / name).read_bytes()
        except OSError as error:
            raise LookupError(f"{self._folder / name} cannot be read: {error.strerror}; {AGAIN} again") from None
        if hashlib.sha256(content).hexdigest() != self._digests.get(name):
            raise LookupError(f"{self._folder / name} was changed after it was built; {AGAIN} again")
        return content


def _source_of(base: Base) -> str:
    """What a text belongs to: captions are translated and drawn alike."""
    return "coco-captions" if base in (Base.TRANSLATION, Base.TEXT_TO_IMAGE) else str(base)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise LookupError(f"{folder} holds no data for OpenAGI; {AGAIN}")
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if manifest["version"] != FORMAT or not isinstance(manifest["files"], dict):
            raise LookupError(f"{path} is of another version than {FORMAT}; {AGAIN} again")
    except (ValueError, KeyError, TypeError):
        raise LookupError(f"{path} is damaged; {AGAIN} again") from None
    return manifest


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
            `planarena profiles build-data` made; the environment's `PLANARENA_OPENAGI_DATA` if not given. `made-up`
            (`MADE_UP`) for those of benchmarks.

    Raises:
        LookupError: there are no data for this combination.
        ValueError: the split is unknown, or is hidden and the seed is missing; or `data` is not understood.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if profile == "paper":
        if data == MADE_UP and split == "public":
            return cast(SampleSource, MadeUpSamples())
        return _paper_source(split=split, data=data or os.environ.get(DATA_VARIABLE))
    if profile != "lilliput":
        raise LookupError(f"there are no data for suite openagi under profile {profile}")
    if data is not None:
        raise ValueError(f"profile {profile} brings its own data; --data {data} is for the profile paper")
    # The tasks of this suite have what the miniature world reads off a task (`SampleTask`).
    return cast(SampleSource, SharingSamples(split=split, hidden_seed=hidden_seed if split == "hidden" else None))


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


class SharingSamples(LilliputSamples):
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
