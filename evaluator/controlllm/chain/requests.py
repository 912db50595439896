"""Chain requests, from plain requests with files or from tasks of suites, and their result files."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as PillowImage

from evaluator.controlllm.chain.running import ChainRequest
from evaluator.controlllm.chain.state import Entry
from evaluator.core.pictures import as_seen
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask, offered_tools, request_for
from evaluator.core.sounds import Sound, read_wav
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import (
    Artefact,
    Boxes,
    Clip,
    Image,
    Labels,
    Masks,
    MediaType,
    Value,
    decode,
    encode,
    findings_from_json,
)
from evaluator.episodes.executed import Prepared
from evaluator.execution.engine.run import Engine
from evaluator.execution.experts.profile import Profile

_CLIPS = (".apng", ".gif")
_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".apng")
_TYPED = re.compile(r"(?:(?P<name>[^=:]+))?(?::(?P<type>[a-z]+))?=(?P<path>.+)")
_MAPS = (
    ResourceType.LINE, ResourceType.HED, ResourceType.SCRIBBLE, ResourceType.POSE, ResourceType.SEGMENTATION,
    ResourceType.EDGE, ResourceType.DEPTH, ResourceType.NORMAL,
)  # fmt: skip
"""Types whose files are pictures."""
_NAME = re.compile(r"[\w./-]+\.(?:a?png|jpe?g|bmp|webp|gif|mp4|wav|mp3)\b", re.IGNORECASE)


class FileError(ValueError):
    """A file option is invalid; the message is the reason."""


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file of a request."""

    name: str
    type: ResourceType
    value: Value


def read_file(text: str) -> GivenFile:
    """The file of an option `PATH`, `NAME=PATH` or `NAME:TYPE=PATH`.

    The name defaults to the base name of the path. The type defaults to that of the extension: `.apng` and `.gif` are
    videos, other pictures are images, `.wav` sounds, `.txt` texts, and `.json` has boxes, masks or categories
    in the experts' format.

    Raises:
        FileError: there is no such file or type, or it cannot be read as that type.
    """
    match = _TYPED.fullmatch(text)
    path = Path(match["path"] if match else text)
    name = (match["name"] if match else None) or path.name
    type_name = match["type"] if match else None
    if type_name and type_name not in list(ResourceType):
        raise FileError(f"there is no resource type {type_name!r}; there are: {', '.join(ResourceType)}")
    kind = ResourceType(type_name) if type_name else None
    if not path.is_file():
        raise FileError(f"--file {text}: there is no file {str(path)!r}")
    try:
        value = _read(path=path, kind=kind)
    except (OSError, ValueError) as error:
        raise FileError(f"--file {text}: {path.name} cannot be read: {error}") from None
    return GivenFile(name=name, type=kind or _type_of(value), value=value)


def write_results(*, results: Mapping[str, Entry], engine: Engine, folder: Path) -> tuple[Path, ...]:
    """Write each result under its name.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, entry in results.items():
        path = folder / name
        path.write_bytes(encode(engine.value(entry.artefact)).data)
        paths.append(path)
    return tuple(paths)


def _read(*, path: Path, kind: ResourceType | None) -> Value:
    ending = path.suffix.lower()
    if ending == ".txt":
        value: Value = path.read_text(encoding="utf-8")
    elif ending == ".wav":
        value = read_wav(path.read_bytes())
    elif ending == ".json":
        value = findings_from_json(json.loads(path.read_text(encoding="utf-8")))
    elif ending in _PICTURES:
        is_clip = kind is ResourceType.VIDEO or (kind is None and ending in _CLIPS)
        if is_clip and ending != ".gif":
            value = decode(Artefact(data=path.read_bytes(), media_type=MediaType.CLIP))
        else:
            with PillowImage.open(path) as picture:
                value = _frames(picture) if is_clip else as_seen(picture)
    else:
        known = ", ".join((*_PICTURES, ".wav", ".txt", ".json"))
        raise ValueError(f"files end with one of {known}")
    value_kind = _type_of(value)
    if kind is not None and kind is not value_kind and not (value_kind is ResourceType.IMAGE and kind in _MAPS):
        raise ValueError(f"it holds {value_kind}, not {kind}")
    return value


def _frames(picture: Image) -> Clip:
    frames = []
    for number in range(getattr(picture, "n_frames", 1)):
        picture.seek(number)
        frames.append(np.asarray(as_seen(picture), dtype=np.uint8))
    return Clip(np.stack(frames))


def _type_of(value: Value) -> ResourceType:
    kinds = {str: ResourceType.TEXT, Clip: ResourceType.VIDEO, Boxes: ResourceType.BBOX, Masks: ResourceType.MASK,
             Labels: ResourceType.CATEGORY, Sound: ResourceType.AUDIO}  # fmt: skip
    return next((kind for cls, kind in kinds.items() if isinstance(value, cls)), ResourceType.IMAGE)


def plain_request(*, text: str, files: Sequence[GivenFile], profile: Profile, turn: int = 0) -> ChainRequest:
    """A request that offers the tools for which the profile has experts.

    Args:
        text: its words.
        files: its files.
        profile: the experts.
        turn: its number in a dialogue; 0: it is a request of its own.

    Raises:
        ValueError: the request is empty, two files have the same name, or it names a file that is not given.
    """
    if not text.strip():
        raise ValueError("the request has no words")
    names = [file.name for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two files are called {twice!r}; name one NAME=PATH")
    missing = [name for name in dict.fromkeys(_NAME.findall(text)) if name not in names]
    if missing:
        raise ValueError(f"the request names {', '.join(missing)}; give it with --file {missing[0]}=PATH")
    request = PlannerRequest(
        suite="",
        task=RequestedTask(id="request", request=text, resources={file.name: str(file.type) for file in files}),
        expects=Expected(type=None),
        tools=list(offered_tools(CONTROLLLM.restricted_to(frozenset(profile.experts)))),
    )
    return ChainRequest(request=request, files={file.name: file.value for file in files}, turn=turn)


def request_of_task(*, prepared: Prepared, key: str, sample: int) -> ChainRequest:
    """A task of a suite with one of its data points.

    Raises:
        LookupError: the suite has no such task, or other tools than ControlLLM's.
    """
    suite = prepared.suite
    if suite.catalogue.name != CONTROLLLM.name:
        raise LookupError(f"the tools of {suite.slug} are not ControlLLM's")
    task = suite.task(key)
    context = suite.context(task=task, offered=frozenset(prepared.profile.experts))
    files = prepared.samples.inputs(task=task, index=sample)
    return ChainRequest(request=request_for(suite=suite, task=task, context=context), files=files, sample=sample)
