"""Settings and weights that cost time or memory, and models that answer badly."""

import json
from typing import Any

import torch
from safetensors.torch import load, save

from tests.hostile.checkpoints.base import (
    Files,
    Target,
    add,
    changed,
    header_of,
    tensors,
    that_answers,
    with_config,
    with_header,
)


def _configured(files: Files, before: bytes, after: bytes) -> Files:
    return {**files, "config.json": files["config.json"].replace(before, after, 1)}


def _weighed(files: Files, data: bytes) -> Files:
    return {**files, "model.safetensors": data}


def _of_tensors(header: dict[str, Any]) -> dict[str, Any]:
    return {name: entry for name, entry in header.items() if name != "__metadata__"}


def _not_numbers(files: Files, _: Target) -> Files:
    files = with_config(files, hidden_size=-32, num_attention_heads=0, rms_norm_eps="1e-6", eos_token_id=10**30)
    return _configured(files, b'"hidden_size": -32', b'"hidden_size": NaN')


def _long_rope(files: Files, _: Target) -> Files:
    rope = {"rope_type": "longrope", "long_factor": [1e308] * 100_000, "short_factor": [0.0] * 100_000,
            "factor": 1e308, "rope_theta": -1.0, "original_max_position_embeddings": 0}  # fmt: skip
    return with_config(files, rope_scaling=rope, rope_parameters=rope)


def _million_tensors(files: Files, _: Target) -> Files:
    header = {f"t{at}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for at in range(300_000)}
    return _weighed(files, tensors(header))


def _overlap(header: dict[str, Any]) -> None:
    first, *rest = _of_tensors(header).values()
    start = first["data_offsets"][0]
    for entry in rest:
        entry["data_offsets"] = [start, start + entry["data_offsets"][1] - entry["data_offsets"][0]]


def _shrink(header: dict[str, Any]) -> None:
    for entry in _of_tensors(header).values():
        entry["dtype"] = "I8"


def _move(header: dict[str, Any]) -> None:
    for at, entry in enumerate(_of_tensors(header).values()):
        entry["data_offsets"] = [-4, 2**63 - 1] if at % 2 else [2**63, 2**64 - 1]


def _parts_in_a_circle(files: Files, _: Target) -> Files:
    names = _of_tensors(header_of(files["model.safetensors"]))
    parts = [f"model-0000{at}-of-00002.safetensors" for at in (1, 2)]
    index = {"metadata": {"total_size": -1}, "weight_map": {name: parts[at % 2] for at, name in enumerate(names)}}
    without = {name: data for name, data in files.items() if name != "model.safetensors"}
    return {**without, parts[0]: files["model.safetensors"], parts[1]: tensors({}),
            "model.safetensors.index.json": json.dumps(index).encode()}  # fmt: skip


def _foreign_format(files: Files, target: Target) -> Files:
    metadata = {"format": "../../" + target.path, "x": "y" * 500_000}
    return with_header(files, lambda header: header.update(__metadata__=metadata))


def _with_weights(files: Files, name: str, value: float) -> Files:
    weights = load(files["model.safetensors"])
    weights[name] = weights[name] * 0 + torch.tensor(value)
    return _weighed(files, save(weights, metadata={"format": "pt"}))


def _slow_layers(files: Files, _: Target) -> Files:
    weights = load(files["model.safetensors"])
    part = {name: tensor for name, tensor in weights.items() if ".layers.0." in name}
    rest = {name: tensor for name, tensor in weights.items() if ".layers." not in name}
    many = {name.replace(".0.", f".{at}."): tensor.clone() for at in range(1500) for name, tensor in part.items()}
    rest["lm_head.weight"] = torch.zeros_like(rest["lm_head.weight"])
    data = save({name: tensor.half() for name, tensor in {**rest, **many}.items()}, metadata={"format": "pt"})
    return _weighed(with_config(that_answers(files), num_hidden_layers=1500), data)


_TOO_LARGE: dict[str, dict[str, Any]] = {
    "two thousand million layers": {"num_hidden_layers": 2 * 10**9},
    "layers by the name that another architecture has": {
        "model_type": "gpt2", "n_layer": 1900, "n_embd": 60_000, "n_head": 1},
    "a vocabulary of four thousand million": {"vocab_size": 2**32},
    "positions without end": {"max_position_embeddings": 2**40, "original_max_position_embeddings": 1},
    "a hidden size of a million": {"hidden_size": 2**20, "intermediate_size": 2**30, "head_dim": 2**20},
    "heads without number": {"num_attention_heads": 2**31, "num_key_value_heads": 2**31, "head_dim": 1},
    "a million labels": {"num_labels": 50_000_000},
}  # fmt: skip
add({name: lambda files, _, values=values: with_config(files, **values) for name, values in _TOO_LARGE.items()})
add({
    "frequencies of positions without end": _long_rope,
    "a model inside of a model inside of a model": lambda files, _: {
        **files, "config.json": b'{"text_config":' * 50_000 + b"{}" + b"}" * 50_000},
    "numbers that are negative, none, texts, and larger than a machine word": _not_numbers,
    "an integer of a million digits": lambda files, _: _configured(
        files, b"{", b'{"hidden_size": 1' + b"0" * 1_000_000 + b","),
    "one value twice, so that two readers take different ones": lambda files, _: _configured(
        files, b"{",
        b'{"model_type": "llama", "auto_map": {}, "num_hidden_layers": 2, "num_hidden_layers": 900000000,'),
    "settings as attributes of the configuration's class": lambda files, target: with_config(
        files, attribute_map={"hidden_size": "vocab_size"}, to_dict=1, get_text_config="x", __class__="dict",
        _attn_implementation_internal=target.path, is_encoder_decoder=True,
        pruned_heads={"0": list(range(10_000))}, tie_word_embeddings=True),
})  # fmt: skip
# Weights that lie.
add({
    "a header of a terabyte": lambda files, _: _weighed(files, tensors({}, length=2**40)),
    "a header with a million tensors": _million_tensors,
    "a header that is nested a hundred thousand deep": lambda files, _: _weighed(
        files, tensors(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)),
    "tensors that overlap": lambda files, _: with_header(files, _overlap),
    "a type that is smaller than its data": lambda files, _: with_header(files, _shrink),
    "a shape whose product is larger than a machine word": lambda files, _: _weighed(
        files, tensors({"lm_head.weight": {"dtype": "F32", "shape": [2**32] * 3, "data_offsets": [0, 0]}})),
    "offsets before the beginning and after the end": lambda files, _: with_header(files, _move),
    "weights of another model's shapes": lambda files, _: with_config(files, hidden_size=64, intermediate_size=32),
    "no weights at all, which would be made up": lambda files, _: _weighed(
        files, tensors({"__metadata__": {"format": "pt"}})),
    "parts that name each other": _parts_in_a_circle,
    "metadata in a foreign format": _foreign_format,
})  # fmt: skip
# Answers that are none, or never end.
add({
    "answers of numbers that are none": lambda files, _: _with_weights(
        that_answers(files), "model.norm.weight", float("nan")),
    "answers of infinite numbers": lambda files, _: _with_weights(
        that_answers(files), "lm_head.weight", float("inf")),
    "texts that never end": lambda files, _: _with_weights(
        with_config(that_answers(files), eos_token_id=None, max_length=10**9), "lm_head.weight", 0.0),
    "fifteen hundred tiny layers for every token": _slow_layers,
    "special tokens that there are not": lambda files, _: with_config(
        that_answers(files), eos_token_id=[10**6, -1], pad_token_id=10**6, bos_token_id=-(2**31),
        unk_token_id=2**62),
    "a decoder of a model that has none": lambda files, _: with_config(
        that_answers(files), is_encoder_decoder=True, is_decoder=False, add_cross_attention=True,
        decoder_start_token_id=2**40, use_cache="no", return_dict=False, output_attentions=True,
        output_hidden_states=True, torchscript=True),
    "generation with a thousand million beams": lambda files, _: changed(
        that_answers(files), "generation_config.json", num_beams=10**9, max_new_tokens=10**9, min_length=1,
        num_return_sequences=10**9, cache_implementation="offloaded", forced_decoder_ids=[[1, 2]] * 10_000,
        watermarking_config={"greenlist_ratio": 1e308}, sequence_bias=[[[1], 1e308]] * 10_000),
})  # fmt: skip
