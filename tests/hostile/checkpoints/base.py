"""What all hostile checkpoints are made from: an honest one, which answers every prompt with nothing at once."""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evaluator.core.suites.registry import suite_of
from tests.fakes.tiny_models import BEGIN, END, PAD, byte_level_bpe, saved
from tests.hostile.canaries import Canaries

Files = dict[str, bytes]
CONTEXT, LONG_CONTEXT = 512, 30_000
"""Tokens. The prompts of the suite have some four thousand: a model with the shorter context reads them, and refuses
them before it computes anything, which keeps the corpus fast."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a checkpoint may try to read: files that everybody on this machine may read."""

    path: str
    """Of a file whose content is `bait`."""
    bait: str
    secrets: str
    """Of the folder with the site's keys."""
    port: str
    """Of the site."""
    canaries: Canaries | None = None
    wanted: Mapping[str, str] = field(default_factory=dict)
    """Further secrets to look for, by what they are."""


Build = Callable[[Files, Target], Files]
"""Changes the files of an honest checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A hostile checkpoint."""

    name: str
    """What it tries, or what is odd about it."""
    build: Build


CASES: list[Case] = []


def add(builds: Mapping[str, Build]) -> None:
    """Add checkpoints to the corpus, by their names."""
    CASES.extend(Case(name=name, build=build) for name, build in builds.items())


@cache
def _honest() -> Mapping[str, bytes]:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    suite = suite_of("toolmini")
    texts = [task.text for task in suite.tasks] + [str(tool) for tool in suite.catalogue.tools.values()]
    tokenizer = byte_level_bpe(texts=texts, size=1200)
    tokenizer.model_max_length = CONTEXT
    # As small as there are: that it answers 120 long prompts is what an evaluation here costs.
    config = LlamaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=CONTEXT, hidden_size=8, intermediate_size=8,
        num_hidden_layers=1, num_attention_heads=1, pad_token_id=PAD, eos_token_id=END, bos_token_id=BEGIN,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        # Every hidden state is the same, and the end is the likeliest token after it.
        model.get_input_embeddings().weight.fill_(1.0)
        model.model.norm.weight.fill_(1.0)
        model.get_output_embeddings().weight[END] = 1.0
    with TemporaryDirectory() as folder:
        saved(Path(folder), model=model, tokenizer=tokenizer)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def honest() -> Files:
    """The files of a small model in safetensors, by name."""
    return dict(_honest())


def settings(files: Files, name: str) -> Any:
    """A JSON file of the checkpoint."""
    return json.loads(files[name])


def changed(files: Files, name: str, **values: Any) -> Files:
    """With these values in a JSON file, which is made if there is none."""
    return {**files, name: json.dumps({**json.loads(files.get(name, b"{}")), **values}).encode()}


def with_config(files: Files, **values: Any) -> Files:
    """With these settings of the model."""
    return changed(files, "config.json", **values)


def with_tokenizer(files: Files, **values: Any) -> Files:
    """With these parts of the tokenizer."""
    return changed(files, "tokenizer.json", **values)


def that_answers(files: Files) -> Files:
    """With room for whole prompts, so that the model computes an answer to each."""
    return with_settings(with_config(files, max_position_embeddings=LONG_CONTEXT), model_max_length=LONG_CONTEXT)


def with_settings(files: Files, **values: Any) -> Files:
    """With these settings of the tokenizer."""
    return changed(files, "tokenizer_config.json", **values)


def with_template(files: Files, template: str) -> Files:
    """With this chat template, and without any other."""
    return with_settings({name: data for name, data in files.items() if "jinja" not in name}, chat_template=template)


def split_by(pattern: str) -> dict[str, Any]:
    """A step of a tokenizer that splits texts by a regular expression."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def before_splitting(files: Files, *steps: dict[str, Any]) -> Files:
    """With further steps before the tokenizer splits a text."""
    own = settings(files, "tokenizer.json")["pre_tokenizer"]
    return with_tokenizer(files, pre_tokenizer={"type": "Sequence", "pretokenizers": [*steps, own]})


def tensors(header: dict[str, Any] | bytes, data: bytes = b"", *, length: int | None = None) -> bytes:
    """A file of safetensors with any header, and with a length of it that may be a lie."""
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded) if length is None else length) + encoded + data


def header_of(data: bytes) -> dict[str, Any]:
    """The header of a file of safetensors."""
    (length,) = struct.unpack_from("<Q", data)
    return dict(json.loads(data[8 : 8 + length]))


def with_header(files: Files, change: Callable[[dict[str, Any]], Any]) -> Files:
    """With a changed header of the weights."""
    data = files["model.safetensors"]
    (length,) = struct.unpack_from("<Q", data)
    header = header_of(data)
    change(header)
    return {**files, "model.safetensors": tensors(header, data[8 + length :])}
