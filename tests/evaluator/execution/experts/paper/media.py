"""Small checkpoints of the models of sounds and clips in their released layouts, as in `released.py`."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.execution.random_weights.networks import NETWORKS
from evaluator.execution.random_weights.pipelines import PIPELINES
from tests.evaluator.execution.experts.released import State, state_of, write, write_config, write_weights

_NORMED = re.compile(r"\.parametrizations\.weight\.original([01])$")


def _as_released(state: State) -> State:
    """Parameters of normed convolutions under their old names."""
    return {_NORMED.sub(lambda found: f".weight_{'gv'[int(found[1])]}", name): value for name, value in state.items()}


def _network(name: str, *, weights: tuple[str, ...]) -> Callable[[Path], None]:
    def write_repository(folder: Path) -> None:
        network = NETWORKS[name](True)
        model = network.model()
        folder.mkdir(parents=True, exist_ok=True)
        if model.can_generate() and name != "text-to-speech":
            model.generation_config.save_pretrained(folder)
        write_config(folder, model)
        network.files(folder)
        write_weights(folder, _as_released(state_of(model)), names=weights)

    return write_repository


def whisper(folder: Path) -> None:
    """openai/whisper-base: with the weights of other frameworks, and a vocabulary beside the tokenizer."""
    _network("speech-to-text", weights=("model.safetensors", "pytorch_model.bin", "tf_model.h5"))(folder)
    write(folder, "normalizer.json", {"colour": "color"})


def bark(folder: Path) -> None:
    """suno/bark: `.bin` only, the authors' own files, and voices in a folder."""
    _network("text-to-speech", weights=("pytorch_model.bin", "text_2.pt"))(folder)
    write(folder, "speaker_embeddings/v2/en_speaker_0_semantic_prompt.npy", "a voice")
    write(folder, "speaker_embeddings_path.json", {"repo_or_path": "suno/bark"})


def _pipeline(folder: Path, *, name: str, weights: tuple[str, ...]) -> None:
    pipeline = PIPELINES[name](True)
    pipeline.write(folder)
    for part, build in pipeline.parts.items():
        network = build()
        if part.endswith("encoder"):
            write_config(folder / part, network)
            write_weights(folder / part, state_of(network), names=weights)
        else:
            settings = {key: value for key, value in network.config.items() if not key.startswith("_")}
            write(folder, f"{part}/config.json", {**settings, "_class_name": type(network).__name__})
            write_weights(folder / part, state_of(network), names=tuple(f"diffusion_{file}" for file in weights))


def text_to_video(folder: Path) -> None:
    """ali-vilab/text-to-video-ms-1.7b: `.bin` in both precisions."""
    _pipeline(folder, name="text-to-video", weights=("pytorch_model.bin", "pytorch_model.fp16.bin"))


def image_to_video(folder: Path) -> None:
    """ali-vilab/i2vgen-xl."""
    _pipeline(folder, name="image-to-video", weights=("pytorch_model.bin", "pytorch_model.fp16.bin"))
    index = json.loads((folder / "model_index.json").read_text())
    write(folder, "model_index.json", {**index, "_diffusers_version": "0.25.0.dev0"})


MEDIA_BUILDERS: Mapping[str, Callable[[Path], None]] = {
    "speech-to-text": whisper,
    "sound-classification": _network("sound-classification", weights=("model.safetensors", "pytorch_model.bin")),
    "text-to-music": _network("text-to-music", weights=("model.safetensors", "pytorch_model.bin")),
    "text-to-speech": bark,
    "text-to-video": text_to_video,
    "image-to-video": image_to_video,
}
"""By the name of the profile's checkpoint, what writes its repository."""
