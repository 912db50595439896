"""The suite `soundworld`: requests about sounds of the miniature world, whose plans are executed."""

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np

import evaluator
from evaluator.controlllm.soundworld import SLUG
from evaluator.controlllm.soundworld.requests import (
    RESULTS,
    Content,
    Part,
    Request,
    drawn_requests,
    hidden_requests,
    public_requests,
)
from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.sounds import Sound, sound_of
from evaluator.core.suites.base import EXACT, Column, Conditions, IntervalMethod, Panel, Suite, Task
from evaluator.core.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.core.suites.hidden import HIDDEN
from evaluator.core.suites.secrets import derived
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.values import Clip, Image, Label, Labels, Value
from evaluator.episodes.base import Setting
from evaluator.episodes.beside_gold import RELATIVE
from evaluator.episodes.executed import hidden_seed
from evaluator.miniature.grammar.captions import caption, main_caption
from evaluator.miniature.lilliput_samples import clean_image
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split, generator, split_secret
from evaluator.miniature.sounds.dubbing import dubbed
from evaluator.miniature.sounds.effects import SoundClass, draw_sound
from evaluator.miniature.sounds.music import music_for
from evaluator.miniature.sounds.speech import speech_for, spoken, voice_of
from evaluator.miniature.tableaux.captions import clip_caption
from evaluator.miniature.tableaux.clips import draw_clip, frames_of
from evaluator.scoring.metrics import rule_names

VERSION = "1"
DATA_VERSION = "1"
"""Increment it whenever files or references change while requests and world do not."""
SEVERAL = "several"
"""The metric of requests for several results: the mean of their scores."""
SPLITS = ("public", "validation", HIDDEN)
PROFILE = "lilliput"
"""The profile that has data; plans are executed with the one that extends it by tools for sound."""
_INDICES = 2**40
_SCORED_BY = (
    "scoring/metrics/sounds.py", "scoring/metrics/results", "core/naming.py", "core/sounds.py",
    "miniature/sounds/spectra.py",
)  # fmt: skip
"""Code that scores results without a model, relative to the package."""


@dataclass(frozen=True, kw_only=True)
class SoundTask(Task):
    """A request of the suite."""

    group: str
    parts: tuple[Part, ...]
    other_words: str

    @property
    def answers(self) -> tuple[Task, ...]:
        """See `Task`."""
        if len(self.parts) == 1:
            return (self,)
        return tuple(
            replace(self, parts=(part,), metric=RESULTS[part.want][0], expects=RESULTS[part.want][1])
            for part in self.parts
        )

    @property
    def attributes(self) -> dict[str, JsonValue]:
        return {"group": self.group, "results": [part.want for part in self.parts]}

    @property
    def relevant_tools(self) -> frozenset[str]:
        """See `Task`."""
        return frozenset() if self.gold is None else frozenset(self.gold.tools())


def sound_task(request: Request) -> SoundTask:
    """The task of a request."""
    wanted = [RESULTS[part.want] for part in request.parts]
    is_several = len(wanted) > 1
    return SoundTask(
        key=request.key, text=request.text, structure="nonlinear" if is_several else "linear",
        metric=SEVERAL if is_several else wanted[0][0], resources=request.resources,
        expects=None if is_several else wanted[0][1], gold=request.gold, group=request.group, parts=request.parts,
        other_words=request.other_words,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _File:
    """The source of a file: its place in the world."""

    split: Split
    hidden_seed: str | None
    index: int

    def said(self) -> str:
        return caption(draw_scene(split=self.split, index=self.index, hidden_seed=self.hidden_seed)).english

    def shown(self) -> str:
        return main_caption(draw_scene(split=self.split, index=self.index, hidden_seed=self.hidden_seed)).english

    def told(self) -> str:
        return clip_caption(draw_clip(split=self.split, index=self.index, hidden_seed=self.hidden_seed))

    def sound_class(self, wanted: SoundClass | None) -> SoundClass:
        """What is heard: any class, or the wanted one in half of the samples."""
        rng = generator(split=self.split, index=self.index, purpose="class of sound", hidden_seed=self.hidden_seed)
        classes = list(SoundClass)
        drawn = classes[int(rng.integers(len(classes)))]
        return wanted if wanted is not None and rng.random() < 0.5 else drawn

    def speech(self) -> Sound:
        rng = generator(split=self.split, index=self.index, purpose="recording", hidden_seed=self.hidden_seed)
        voice = voice_of(split=self.split, index=self.index, hidden_seed=self.hidden_seed)
        return sound_of(spoken(self.said(), voice=voice, rng=rng).levels)

    def sound(self, wanted: SoundClass | None) -> Sound:
        kind = self.sound_class(wanted)
        return draw_sound(kind=kind, split=self.split, index=self.index, hidden_seed=self.hidden_seed)

    def clip(self) -> Clip:
        return Clip(frames_of(draw_clip(split=self.split, index=self.index, hidden_seed=self.hidden_seed)))

    def image(self) -> Image:
        return clean_image(split=self.split, index=self.index, hidden_seed=self.hidden_seed)

    def still(self) -> Clip:
        """The image as a clip of one frame."""
        return Clip(np.asarray(self.image().convert("RGB"), dtype=np.uint8)[None])

    def value(self, content: Content, *, wanted: SoundClass | None) -> Value:
        """The content of the file."""
        match content:
            case Content.SPEECH:
                return self.speech()
            case Content.SOUND:
                return self.sound(wanted)
            case Content.CLIP:
                return self.clip()
        return self.image()


def _wanted_class(part: Part) -> SoundClass | None:
    return part.sound if part.want == "selected class" else None


@cache
def scores_digest() -> str:
    """Digest of the code in `_SCORED_BY`."""
    package = Path(evaluator.__file__).parent
    files = [file for name in _SCORED_BY for file in sorted((package / name).rglob("*.py")) or [package / name]]
    return canonical_json.digest(
        {file.relative_to(package).as_posix(): file.read_text(encoding="utf-8") for file in files}
    )


class SoundSamples:
    """Files and reference results of each request. No two requests share a file."""

    def __init__(self, *, split: Split, hidden_seed: str | None) -> None:
        """Raises ValueError if the hidden split comes without a secret, or another split with one."""
        split_secret(split=split, hidden_seed=hidden_seed)
        self._split, self._hidden_seed = split, hidden_seed
        self.digest = canonical_json.digest(
            {
                "sounds": DATA_VERSION,
                "world": WORLD_VERSION,
                "pictures": PICTURES_VERSION,
                "split": split.value,
            }
        )
        """SHA-256 over the versions and the split, without the hidden seed."""

    def missing(self, *, task: Task) -> str | None:  # noqa: ARG002 - the world has data for every request
        """See `SampleSource`."""
        return None

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """See `SampleSource`."""
        return {
            name: self._file(task, name=name, index=index).value(content, wanted=_wanted_class(part))
            for part in cast(SoundTask, task).parts
            for name, content in part.contents().items()
        }

    def reference(self, *, task: Task, index: int) -> Value:
        """See `SampleSource`: the reference of the task's first answer."""
        part = cast(SoundTask, task).parts[0]
        files = {slot: self._file(task, name=name, index=index) for slot, name in part.files.items()}
        return _REFERENCES[part.kind](part, files)

    def inputs_key(self, *, task: Task) -> str:
        """See `SharingSource`: requests share no files."""
        return task.key

    def reference_key(self, *, task: Task) -> str:
        """See `SharingSource`: each result of a request has its own reference."""
        return f"{task.key} {cast(SoundTask, task).parts[0].kind}"

    def _file(self, task: Task, *, name: str, index: int) -> _File:
        digest = hashlib.sha256(f"{task.key}\n{name}\n{index}".encode()).digest()
        return _File(self._split, self._hidden_seed, int.from_bytes(digest[:8], "big") % _INDICES)


_Files = Mapping[str, _File]
_REFERENCES: Mapping[str, Callable[[Part, _Files], Value]] = {
    "transcribe": lambda _, files: files["audio"].said(),
    "classify": lambda _, files: Labels((Label(str(files["audio"].sound_class(None))),)),
    "select": lambda part, files: Labels(
        (Label(str(part.sound)),) if files["audio"].sound_class(part.sound) is part.sound else ()
    ),
    "speak": lambda part, _: speech_for(part.text),
    "compose": lambda part, _: music_for(part.style),
    "dub": lambda _, files: dubbed(files["video"].clip(), sound=files["audio"].sound(None)),
    "score_film": lambda part, files: dubbed(files["video"].clip(), sound=music_for(part.style)),
    "narrate_picture": lambda _, files: speech_for(files["image"].shown()),
    "narrate_clip": lambda _, files: dubbed(files["video"].clip(), sound=speech_for(files["video"].told())),
    "film": lambda _, files: dubbed(files["image"].still(), sound=files["audio"].sound(None)),
    "spoken_film": lambda part, files: dubbed(files["image"].still(), sound=speech_for(part.text)),
    "respeak": lambda _, files: speech_for(files["audio"].said()),
    "draw_said": lambda _, files: files["audio"].said(),
}
"""The right result of each kind of request."""

_METRICS = {
    rule_names.TRANSCRIPT: ("Transcripts", "What is said: 1 - word error rate."),
    rule_names.LABELS: ("Classes", "Classes of sounds: F1 of the names."),
    rule_names.SOUND: ("Sounds", "Speech and music: similarity of log-mel embeddings, and of lengths."),
    rule_names.DUB: ("Films", "Clips with sound: product of the scores of picture, sound and sync."),
    "CLIP": ("CLIP", "Pictures drawn from spoken words: mean CLIP score."),
    SEVERAL: ("Several", "Requests for several results: the mean of their scores."),
}
COLUMNS = (
    Column(
        key="score", label="Score", primary=True, is_default=True,
        description="Mean over requests of the scores of their results, each compared with the ground truth.",
    ),
    Column(
        key=RELATIVE, label="Relative", indicator=True,
        description="The score as a share of the gold plan's score on the same sample, at most 1, so that a weak "
        "expert does not count against the planner. Samples on which the gold plan scores 0 are omitted.",
    ),
    Column(
        key=EXACT, label="Exact plan", is_default=True, indicator=True, interval=IntervalMethod.WILSON,
        description="Share of tasks whose plan equals the gold plan up to the names of steps and values and the order "
        "of independent steps.",
        title="Exact plan",
    ),
    *(
        Column(key=metric, label=label, description=description, metric=metric)
        for metric, (label, description) in _METRICS.items()
    ),
)  # fmt: skip
_GROUP, _RESULT = (
    Facet(name="group", label="Group", attribute="group"),
    Facet(name="result", label="Result", attribute="results"),
)
FACETS = Facets(
    filters=(_GROUP, _RESULT, STRUCTURE, MODALITY),
    facts=("group", "result", "structure"),
    breakdowns=("structure", "modality", "group", "result"),
    plots=("group", "structure"),
    comparisons=("group", "result"),
)
SCORING = (
    "Plans are executed on every sample, and each result is compared with the ground truth: what was said, which sound "
    "it is, or what the right sound or clip is like. A request for several results scores their mean."
)


def _reworded(task: Task, rng: random.Random) -> str | None:  # noqa: ARG001 - there is one other wording
    return cast(SoundTask, task).other_words


def soundworld_suite() -> Suite:
    """The public requests; bundled, so always available."""
    return Suite(
        slug=SLUG,
        version=VERSION,
        title=SLUG,
        description="60 requests about speech, music, other sounds and clips with sound, with execution.",
        metrics=COLUMNS,
        catalogue=CONTROLLLM,
        tasks=tuple(map(sound_task, public_requests())),
        conditions=Conditions(experts=True, samples=True, splits=SPLITS),
        panels=(Panel.SCORES, Panel.ARTEFACTS),
        scoring=SCORING,
        facets=FACETS,
        training_splits=("validation",),
        reworded=_reworded,
        public_draws=lambda count: map(sound_task, drawn_requests(count=count)),
        hidden_requests=lambda _, seed: tuple(
            map(sound_task, hidden_requests(seed=derived("requests", SLUG, seed=seed)))
        ),
    )


def sound_samples(*, profile: str, split: str, hidden_seed: str | None) -> SoundSamples:
    """The data under a profile.

    Args:
        profile: only `lilliput` has data.
        split: `public`, `validation`, or `hidden`.
        hidden_seed: the secret of the hidden split; None for the others.

    Raises:
        LookupError: the profile has no data.
        ValueError: the split is unknown, or the seed of the hidden split is missing.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if profile != PROFILE:
        raise LookupError(f"requests about sounds have no data under profile {profile}, only {PROFILE}")
    return SoundSamples(split=Split(split), hidden_seed=hidden_seed)


def samples_of(setting: Setting) -> SoundSamples:
    """The data in a setting."""
    return sound_samples(profile=setting.profile, split=setting.split or "public", hidden_seed=hidden_seed(setting))
