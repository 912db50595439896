"""Builds OpenAGI's data from the paper's public data sets: the first samples of each, not shuffled.

The released data are in a shared drive. This builds data of the same kind, with seeded degradations (`photos.py`), from
the Hugging Face hub or from copies written by `Dataset.save_to_disk`. German references are translations of the English
ones by `translate`, as in the release; without it the German tasks have no data.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from evaluator.openagi.data import FORMAT, GERMAN, MANIFEST, TEXTS
from evaluator.openagi.grammar import Base
from evaluator.openagi.photos import fitted

Translate = Callable[[Sequence[str]], list[str]]
Row = Mapping[str, Any]


class DataError(Exception):
    """The data could not be built; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A public data set, and the conversion of its rows to samples."""

    key: str
    """Name of the folder of its images, and of its copy on disk."""
    repo: str
    split: str
    texts: Callable[[Row, "Names"], Mapping[Base, Mapping[str, str]]]
    """The texts of a row by base task."""
    config: str | None = None
    has_image: bool = False


class Names:
    """The class names of a data set."""

    def __init__(self, features: Any) -> None:
        self._features = features

    def of(self, *path: str) -> list[str]:
        """Names of the label feature at a path, which may lead through lists.

        Raises:
            DataError: there is no such feature.
        """
        feature = self._features
        for name in path:
            feature = _inner(feature)
            if not isinstance(feature, Mapping) or name not in feature:
                raise DataError(f"the data set has no column {'.'.join(path)}")
            feature = feature[name]
        names = getattr(_inner(feature), "names", None)
        if names is None:
            raise DataError(f"the column {'.'.join(path)} of the data set has no class names")
        return [str(name) for name in names]


def _inner(feature: Any) -> Any:
    """The feature inside lists of features."""
    while not isinstance(feature, Mapping) and hasattr(feature, "feature"):
        feature = feature.feature
    return feature


def _caption(row: Row, _: Names) -> dict[Base, dict[str, str]]:
    """Captions are also the texts to translate and to draw."""
    caption = _line(row["answer"][0])
    return {
        Base.CAPTIONING: {"reference": caption},
        Base.TRANSLATION: {"text": caption, "reference": caption},
        Base.TEXT_TO_IMAGE: {"text": caption, "reference": caption},
    }


def _objects(row: Row, names: Names) -> dict[Base, dict[str, str]]:
    """Names in the order of the annotations, including duplicates; empty without objects."""
    known = names.of("objects", "category")
    return {Base.DETECTION: {"reference": ", ".join(known[int(number)] for number in row["objects"]["category"])}}


def _label(row: Row, names: Names) -> str:
    return names.of("label")[int(row["label"])]


def _question(row: Row, _: Names) -> dict[Base, dict[str, str]]:
    texts = {"document": _line(row["context"]), "query": _line(row["question"])}
    return {Base.QA: {**texts, "reference": _line(row["answers"]["text"][0])}}


ORIGINS = (
    Origin(
        key="imagenet", repo="ILSVRC/imagenet-1k", split="validation", has_image=True,
        texts=lambda row, names: {Base.CLASSIFICATION: {"reference": _label(row, names)}},
    ),
    Origin(key="coco-captions", repo="lmms-lab/COCO-Caption2017", split="val", texts=_caption, has_image=True),
    Origin(key="coco-objects", repo="detection-datasets/coco", split="val", texts=_objects, has_image=True),
    Origin(
        key="textvqa", repo="lmms-lab/textvqa", split="validation", has_image=True,
        texts=lambda row, _: {Base.VQA: {"query": _line(row["question"]), "reference": _line(row["answers"][0])}},
    ),
    Origin(
        key="cnn-dailymail", repo="abisee/cnn_dailymail", config="3.0.0", split="test",
        texts=lambda row, _: {
            Base.SUMMARIZATION: {"text": _line(row["article"]), "reference": _line(row["highlights"])}
        },
    ),
    Origin(
        key="sst2", repo="stanfordnlp/sst2", split="validation",
        texts=lambda row, names: {Base.SENTIMENT: {"reference": _label(row, names), "text": _line(row["sentence"])}},
    ),
    Origin(key="squad", repo="rajpurkar/squad", split="validation", texts=_question),
)  # fmt: skip
"""The paper's data sets, from repositories that load without custom code."""


def build(
    *, target: Path, samples: int, copies: Path | None = None, translate: Translate | None = None,
    origins: Iterable[Origin] = ORIGINS, report: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Write the data into a folder, atomically.

    Args:
        target: the folder, which is replaced.
        samples: number of samples of each data set.
        copies: folder with a saved data set per origin, by its key, instead of the hub.
        translate: translates English texts to German; without it there are no German references.
        origins: the data sets.
        report: progress callback.

    Raises:
        DataError: a data set cannot be read or is not as expected; the folder is unchanged.
    """
    staging = target.with_name(f".{target.name}-building")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        texts = _gather(staging=staging, samples=samples, copies=copies, origins=origins, report=report)
        if translate is not None:
            report("translating the references")
            german = {base: translate([item["reference"] for item in items]) for base, items in texts.items()}
            _write_json(path=staging / GERMAN, value=german)
        _finish(staging=staging, target=target, samples=samples, origins=origins)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _gather(
    *, staging: Path, samples: int, copies: Path | None, origins: Iterable[Origin], report: Callable[[str], None]
) -> dict[str, list[Mapping[str, str]]]:
    """Write images and texts of all data sets; return the texts by base task."""
    texts: dict[str, list[Mapping[str, str]]] = {}
    for origin in origins:
        report(f"{origin.key}: reading {samples} samples of {origin.repo}")
        for sample in _samples(origin=origin, samples=samples, copies=copies, folder=staging):
            for base, values in sample.items():
                texts.setdefault(str(base), []).append(values)
    _write_json(path=staging / TEXTS, value=texts)
    return texts


def _samples(
    *, origin: Origin, samples: int, copies: Path | None, folder: Path
) -> Iterator[Mapping[Base, Mapping[str, str]]]:
    """The texts of the first rows. Writes their images into the folder."""
    rows, names = _opened(origin=origin, copies=copies)
    count = 0
    for index, row in enumerate(islice(rows, samples)):
        try:
            texts = origin.texts(row, names)
            if origin.has_image:
                path = folder / origin.key / f"{index}.png"
                path.parent.mkdir(exist_ok=True)
                fitted(row["image"]).save(path, format="PNG")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise DataError(f"row {index} of {origin.repo} is not as expected: {error!r}") from None
        count += 1
        yield texts
    if count < samples:
        raise DataError(f"{origin.repo} has only {count} samples, not {samples}")


def _opened(*, origin: Origin, copies: Path | None) -> tuple[Iterable[Row], Names]:
    # Imported here: only building needs it.
    try:
        import datasets
    except ImportError:
        raise DataError("building data needs the package datasets: install the extra `paper`") from None
    where = origin.repo if copies is None else str(copies / origin.key)
    try:
        if copies is None:
            # Streaming, because only the first samples of many gigabytes are needed.
            rows: Any = datasets.load_dataset(origin.repo, origin.config, split=origin.split, streaming=True)
        else:
            rows = datasets.load_from_disk(str(copies / origin.key))
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{where} cannot be read ({why}); --from DIR takes copies from DIR/{origin.key}, which save_to_disk writes"
        ) from None
    return rows, Names(rows.features)


def _finish(*, staging: Path, target: Path, samples: int, origins: Iterable[Origin]) -> None:
    """Write the manifest, and move the folder to its target."""
    files = {
        path.relative_to(staging).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(staging.rglob("*"))
        if path.is_file()
    }
    sources = {origin.key: f"{origin.repo} {origin.config or ''} {origin.split}".split() for origin in origins}
    manifest = {"version": FORMAT, "samples": samples, "sources": sources, "files": files}
    _write_json(path=staging / MANIFEST, value=manifest)
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    staging.replace(target)


def _write_json(*, path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _line(text: str) -> str:
    """A text in one line, as in the release."""
    return " ".join(text.split())
