"""Building OpenAGI's data from the public data sets that the paper names: the first samples of each, never shuffled.

The released data sit in a shared drive; this makes data of the same kind, with seeded degradations (`photos.py`), from
the sets on the hub of Hugging Face `datasets` or from copies of them that `Dataset.save_to_disk` wrote. German
references are translations of the English ones, as in the release, by whatever `translate` is; without it the German
tasks have no data.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from evaluator.core.values import Image
from evaluator.openagi.data import FORMAT, GERMAN, MANIFEST, TEXTS
from evaluator.openagi.grammar import Base
from evaluator.openagi.photos import fitted

Translate = Callable[[Sequence[str]], list[str]]
Row = Mapping[str, Any]


class DataError(Exception):
    """The data could not be built; the message is a sentence for who asked for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A public data set and how a row of it becomes samples."""

    key: str
    """Of its images and its copy on disk."""
    repo: str
    split: str
    texts: Callable[[Row, "Names"], Mapping[Base, Mapping[str, str]]]
    """The texts of a row by base task."""
    config: str | None = None
    has_image: bool = False


class Names:
    """The names behind the numbers of a data set's class labels."""

    def __init__(self, features: Any) -> None:
        self._features = features

    def of(self, *path: str) -> list[str]:
        """Names of the label feature at a path, through lists.

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


def _class_label(row: Row, names: Names) -> dict[Base, dict[str, str]]:
    return {Base.CLASSIFICATION: {"reference": names.of("label")[int(row["label"])]}}


def _caption(row: Row, names: Names) -> dict[Base, dict[str, str]]:  # noqa: ARG001
    """Captions also are what is translated and drawn."""
    said = _line(row["answer"][0])
    return {
        Base.CAPTIONING: {"reference": said},
        Base.TRANSLATION: {"text": said, "reference": said},
        Base.TEXT_TO_IMAGE: {"text": said, "reference": said},
    }


def _objects(row: Row, names: Names) -> dict[Base, dict[str, str]]:
    """Names with repetitions in the order of the annotations; none is an empty text."""
    known = names.of("objects", "category")
    return {Base.DETECTION: {"reference": ", ".join(known[int(number)] for number in row["objects"]["category"])}}


def _summary(row: Row, names: Names) -> dict[Base, dict[str, str]]:  # noqa: ARG001
    return {Base.SUMMARIZATION: {"text": _line(row["article"]), "reference": _line(row["highlights"])}}


def _sentiment(row: Row, names: Names) -> dict[Base, dict[str, str]]:
    named = names.of("label")[int(row["label"])]
    return {Base.SENTIMENT: {"text": _line(row["sentence"]), "reference": named}}


def _visual_question(row: Row, names: Names) -> dict[Base, dict[str, str]]:  # noqa: ARG001
    return {Base.VQA: {"query": _line(row["question"]), "reference": _line(row["answers"][0])}}


def _question(row: Row, names: Names) -> dict[Base, dict[str, str]]:  # noqa: ARG001
    texts = {"document": _line(row["context"]), "query": _line(row["question"])}
    return {Base.QA: {**texts, "reference": _line(row["answers"]["text"][0])}}


ORIGINS = (
    Origin(key="imagenet", repo="ILSVRC/imagenet-1k", split="validation", texts=_class_label, has_image=True),
    Origin(key="coco-captions", repo="lmms-lab/COCO-Caption2017", split="val", texts=_caption, has_image=True),
    Origin(key="coco-objects", repo="detection-datasets/coco", split="val", texts=_objects, has_image=True),
    Origin(key="textvqa", repo="lmms-lab/textvqa", split="validation", texts=_visual_question, has_image=True),
    Origin(key="cnn-dailymail", repo="abisee/cnn_dailymail", config="3.0.0", split="test", texts=_summary),
    Origin(key="sst2", repo="stanfordnlp/sst2", split="validation", texts=_sentiment),
    Origin(key="squad", repo="rajpurkar/squad", split="validation", texts=_question),
)
"""The paper's data sets. The repositories are copies that need no code of their own to be loaded."""


def build(
    *,
    target: Path,
    samples: int,
    copies: Path | None = None,
    translate: Translate | None = None,
    origins: Iterable[Origin] = ORIGINS,
    report: Callable[[str], None] = print,
) -> None:
    """Write the data into a folder, whole or not at all.

    Args:
        target: the folder; what was there is replaced.
        samples: how many of each data set.
        copies: folder with a saved data set for each origin, by its key, instead of the hub.
        translate: English texts to German ones; without it there are no German references.
        origins: the data sets.
        report: prints progress.

    Raises:
        DataError: a data set cannot be read or is not as expected; nothing was changed.
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
        for found in _samples(origin=origin, samples=samples, copies=copies, folder=staging):
            for base, values in found.items():
                texts.setdefault(str(base), []).append(values)
    _write_json(path=staging / TEXTS, value=texts)
    return texts


def _samples(
    *, origin: Origin, samples: int, copies: Path | None, folder: Path
) -> Iterator[Mapping[Base, Mapping[str, str]]]:
    """The texts of the first rows; their images are written into the folder."""
    rows, names = _opened(origin=origin, copies=copies)
    count = 0
    for index, row in enumerate(islice(rows, samples)):
        try:
            found = origin.texts(row, names)
            if origin.has_image:
                _write_image(image=row["image"], path=folder / origin.key / f"{index}.png")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise DataError(f"row {index} of {origin.repo} is not as expected: {error!r}") from None
        count += 1
        yield found
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
            # Streaming: only the first samples of sets of many gigabytes are wanted.
            found: Any = datasets.load_dataset(origin.repo, origin.config, split=origin.split, streaming=True)
        else:
            found = datasets.load_from_disk(str(copies / origin.key))
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{where} cannot be read ({why}); --from DIR takes copies from DIR/{origin.key}, which save_to_disk writes"
        ) from None
    return found, Names(found.features)


def _write_image(*, image: Image, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    fitted(image).save(path, format="PNG")


def _finish(*, staging: Path, target: Path, samples: int, origins: Iterable[Origin]) -> None:
    """Write the manifest and put the folder in its place."""
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
    """A text on one line, as the release stores it."""
    return " ".join(text.split())
