"""OpenAGI's released data: a folder per request, a file or a line per sample.

    0 to 14      inputs/images/{k}.jpg                           outputs/images/{k}.jpg
    15 to 104    inputs/images/{k}.jpg                           outputs/labels.txt
    105, 106     inputs/captions.txt                             (nothing)
    107 to 116   inputs/text.txt                                 outputs/labels.txt
    117 to 176   inputs/images/{k}.jpg, inputs/questions.txt     outputs/answers.txt
    177 to 184   inputs/context.txt, inputs/questions.txt        outputs/answers.txt

Samples are sorted by their number k. The release degraded and masked the files per task, without seeds, so the same k
is a different input in other tasks. No pickles are read.
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from PIL import Image as PillowImage

from evaluator.core import canonical_json
from evaluator.core.values import Image, Value
from evaluator.openagi.grammar import Base
from evaluator.openagi.photos import MASK, fitted
from evaluator.openagi.tasks import OpenAGITask

_IMAGES = frozenset({".jpg", ".jpeg", ".png"})
_TEXT_FILES = {
    Base.VQA: {"query": "questions.txt"},
    Base.QA: {"document": "context.txt", "query": "questions.txt"},
    Base.TEXT_TO_IMAGE: {"text": "captions.txt"},
}
"""By base task; `text.txt` for the others."""
_PLAIN_CAPTIONS = "106"
"""The request with unmasked captions, which are the references of images for the masked ones."""


class ReleasedFolderSamples:
    """The released data in a folder, with a subfolder per request."""

    def __init__(self, folder: Path) -> None:
        """Raises LookupError if the folder does not have the released layout."""
        if not any((folder / str(number)).is_dir() for number in range(185)):
            raise LookupError(f"{folder} has no folders 0 to 184 with inputs and outputs, as OpenAGI's data have")
        self._folder = folder
        self._lines: dict[Path, list[str]] = {}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over names and bytes of all files of the requests."""
        files = sorted(path for number in range(185) for path in (self._folder / str(number)).rglob("*"))
        return canonical_json.digest(
            {
                "data": "openagi-released/1",
                "files": {
                    path.relative_to(self._folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
                    for path in files
                    if path.is_file()
                },
            }
        )

    def missing(self, *, task: OpenAGITask) -> str | None:
        """Why there is no data for a task, or None if there is."""
        try:
            count = self.count(task=task)
        except LookupError as error:
            return str(error)
        return None if count else f"{self._folder / task.key} has no samples"

    def count(self, *, task: OpenAGITask) -> int:
        """Number of samples of a task.

        Raises:
            LookupError: a file is missing, or the numbers of the files differ; the message names the files.
        """
        counts = {name: len(self._inputs_of(task=task, name=name)) for name in task.resources}
        counts["reference"] = len(self._references(task=task))
        if len(set(counts.values())) > 1:
            numbers = ", ".join(f"{count} of {name}" for name, count in counts.items())
            raise LookupError(f"{self._folder / task.key} has different numbers of samples: {numbers}")
        return counts["reference"]

    def inputs(self, *, task: OpenAGITask, index: int) -> Mapping[str, Value]:
        """The named inputs of a sample; images have 256x256 pixels, as with the release's loader.

        Raises:
            LookupError: there is no such sample.
        """
        return {name: self._value(task=task, items=self._inputs_of(task=task, name=name), index=index)
                for name in task.resources}  # fmt: skip

    def reference(self, *, task: OpenAGITask, index: int) -> Value:
        """The expected answer of a sample: the clean image, a text, or the caption of an image to draw.

        Raises:
            LookupError: there is no such sample.
        """
        return self._value(task=task, items=self._references(task=task), index=index)

    def _value(self, *, task: OpenAGITask, items: list[str] | list[Path], index: int) -> Value:
        if not 0 <= index < len(items):
            raise LookupError(f"{self._folder / task.key} has {len(items)} samples; there is no sample {index}")
        item = items[index]
        return item if isinstance(item, str) else _image(item)

    def _inputs_of(self, *, task: OpenAGITask, name: str) -> list[str] | list[Path]:
        inputs = self._folder / task.key / "inputs"
        if name == "image":
            return _numbered(inputs / "images")
        return self._read(inputs / _TEXT_FILES.get(task.base, {}).get(name, "text.txt"))

    def _references(self, *, task: OpenAGITask) -> list[str] | list[Path]:
        outputs = self._folder / task.key / "outputs"
        if task.base is Base.RESTORATION:
            return _numbered(outputs / "images")
        if task.base is Base.TEXT_TO_IMAGE:
            return self._captions(task=task)
        return self._read(outputs / ("answers.txt" if task.base in (Base.VQA, Base.QA) else "labels.txt"))

    def _captions(self, *, task: OpenAGITask) -> list[str]:
        """The release has no reference images. The reference is the caption, before a word was masked."""
        plain = self._read(self._folder / _PLAIN_CAPTIONS / "inputs" / "captions.txt")
        own = self._read(self._folder / task.key / "inputs" / "captions.txt")
        for number, (text, original) in enumerate(zip(own, plain, strict=False)):
            words, originals = text.split(), original.split()
            # Some of the words may be masked.
            if len(words) != len(originals) or not all(
                word in (other, MASK) for word, other in zip(words, originals, strict=True)
            ):
                raise LookupError(f"caption {number} of request {task.key} is not that of request {_PLAIN_CAPTIONS}")
        return plain

    def _read(self, path: Path) -> list[str]:
        """The stripped lines of a file, including blank lines, because an answer may be empty."""
        if path not in self._lines:
            if not path.is_file():
                raise LookupError(f"there is no file {path}")
            try:
                text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
            except UnicodeDecodeError as error:
                raise LookupError(f"{path} is no UTF-8 text: {error}") from None
            # Not `splitlines`, which also splits at other separators inside texts.
            self._lines[path] = [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
        return self._lines[path]


def _numbered(folder: Path) -> list[Path]:
    """The images of a folder, sorted by number.

    Raises:
        LookupError: the folder is missing, or the numbers are not 0, 1, 2 and so on.
    """
    if not folder.is_dir():
        raise LookupError(f"there is no folder {folder}")
    paths = [path for path in folder.iterdir() if path.suffix.lower() in _IMAGES and path.stem.isdecimal()]
    paths.sort(key=lambda path: int(path.stem))
    for number, path in enumerate(paths):
        if int(path.stem) != number:
            raise LookupError(f"{folder} has {path.name}, but not number {number}")
    return paths


def _image(path: Path) -> Image:
    try:
        with PillowImage.open(path) as image:
            return fitted(image)
    except (OSError, ValueError) as error:
        raise LookupError(f"{path} cannot be read as an image: {error}") from None
