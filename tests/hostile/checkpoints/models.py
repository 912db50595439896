"""Settings and weights that cost time or memory, and models that answer badly."""

import json

import torch
from safetensors.torch import load, save

from tests.hostile.checkpoints.base import (
    Files,
    Target,
    case,
    changed,
    header_of,
    tensors,
    that_answers,
    with_config,
    with_header,
)

GROWS, HANGS, LIES = "fill memory: ", "hang: ", "lie about its weights: "


@case(tries=GROWS + "two thousand million layers")
def layers_without_number(files: Files, target: Target) -> Files:
    del target
    return with_config(files, num_hidden_layers=2 * 10**9)


@case(tries=GROWS + "layers by the name that another architecture has")
def layers_by_another_name(files: Files, target: Target) -> Files:
    del target
    return with_config(files, model_type="gpt2", n_layer=1900, n_embd=60_000, n_head=1)


@case(tries=GROWS + "a vocabulary of four thousand million")
def vocabulary_without_end(files: Files, target: Target) -> Files:
    del target
    return with_config(files, vocab_size=2**32)


@case(tries=GROWS + "positions without end")
def positions_without_end(files: Files, target: Target) -> Files:
    del target
    return with_config(files, max_position_embeddings=2**40, original_max_position_embeddings=1)


@case(tries=GROWS + "a hidden size of a million")
def wide_layers(files: Files, target: Target) -> Files:
    del target
    return with_config(files, hidden_size=2**20, intermediate_size=2**30, head_dim=2**20)


@case(tries=GROWS + "heads without number")
def heads_without_number(files: Files, target: Target) -> Files:
    del target
    return with_config(files, num_attention_heads=2**31, num_key_value_heads=2**31, head_dim=1)


@case(tries=GROWS + "a million labels")
def labels_without_end(files: Files, target: Target) -> Files:
    del target
    return with_config(files, num_labels=50_000_000)


@case(tries=GROWS + "frequencies of positions without end")
def long_rope(files: Files, target: Target) -> Files:
    del target
    rope = {"rope_type": "longrope", "long_factor": [1e308] * 100_000, "short_factor": [0.0] * 100_000,
            "factor": 1e308, "rope_theta": -1.0, "original_max_position_embeddings": 0}  # fmt: skip
    return with_config(files, rope_scaling=rope, rope_parameters=rope)


@case(tries=GROWS + "a model inside of a model inside of a model")
def nested_configurations(files: Files, target: Target) -> Files:
    del target
    return {**files, "config.json": b'{"text_config":' * 50_000 + b"{}" + b"}" * 50_000}


@case(tries="make numbers of settings: negative, not a number, texts, and larger than a machine word")
def numbers_that_are_none(files: Files, target: Target) -> Files:
    del target
    files = with_config(files, hidden_size=-32, num_attention_heads=0, rms_norm_eps="1e-6", eos_token_id=10**30)
    return {**files, "config.json": files["config.json"].replace(b'"hidden_size": -32', b'"hidden_size": NaN')}


@case(tries="crash the parser with an integer of a million digits")
def integer_of_a_million_digits(files: Files, target: Target) -> Files:
    del target
    return {
        **files,
        "config.json": files["config.json"].replace(b"{", b'{"hidden_size": 1' + b"0" * 1_000_000 + b",", 1),
    }


@case(tries="set one value twice, so that two readers take different ones")
def settings_twice(files: Files, target: Target) -> Files:
    del target
    twice = b'{"model_type": "llama", "auto_map": {}, "num_hidden_layers": 2, "num_hidden_layers": 900000000,'
    return {**files, "config.json": files["config.json"].replace(b"{", twice, 1)}


@case(tries=GROWS + "settings as attributes of the configuration's class")
def settings_that_are_attributes(files: Files, target: Target) -> Files:
    return with_config(files, attribute_map={"hidden_size": "vocab_size"}, to_dict=1, get_text_config="x",
                       __class__="dict", _attn_implementation_internal=target.path, is_encoder_decoder=True,
                       pruned_heads={"0": list(range(10_000))}, tie_word_embeddings=True)  # fmt: skip


@case(tries=LIES + "a header of a terabyte")
def header_of_a_terabyte(files: Files, target: Target) -> Files:
    del target
    return {**files, "model.safetensors": tensors({}, length=2**40)}


@case(tries=LIES + "a header with a million tensors")
def header_of_a_million(files: Files, target: Target) -> Files:
    del target
    header = {f"t{at}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for at in range(300_000)}
    return {**files, "model.safetensors": tensors(header)}


@case(tries=LIES + "a header that is nested a hundred thousand deep")
def nested_header(files: Files, target: Target) -> Files:
    del target
    return {**files, "model.safetensors": tensors(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)}


@case(tries=LIES + "tensors that overlap")
def tensors_that_overlap(files: Files, target: Target) -> Files:
    del target

    def overlap(header: dict[str, dict[str, list[int]]]) -> None:
        names = [name for name in header if name != "__metadata__"]
        for name in names[1:]:
            start = header[names[0]]["data_offsets"][0]
            length = header[name]["data_offsets"][1] - header[name]["data_offsets"][0]
            header[name]["data_offsets"] = [start, start + length]

    return with_header(files, overlap)


@case(tries=LIES + "a type that is smaller than its data")
def type_that_lies(files: Files, target: Target) -> Files:
    del target

    def shrink(header: dict[str, dict[str, str]]) -> None:
        for name in header:
            if name != "__metadata__":
                header[name]["dtype"] = "I8"

    return with_header(files, shrink)


@case(tries=LIES + "a shape whose product is larger than a machine word")
def shape_that_overflows(files: Files, target: Target) -> Files:
    del target
    header = {"lm_head.weight": {"dtype": "F32", "shape": [2**32, 2**32, 2**32], "data_offsets": [0, 0]}}
    return {**files, "model.safetensors": tensors(header)}


@case(tries=LIES + "offsets before the beginning and after the end")
def offsets_outside(files: Files, target: Target) -> Files:
    del target

    def move(header: dict[str, dict[str, list[int]]]) -> None:
        for at, name in enumerate(name for name in header if name != "__metadata__"):
            header[name]["data_offsets"] = [-4, 2**63 - 1] if at % 2 else [2**63, 2**64 - 1]

    return with_header(files, move)


@case(tries=LIES + "weights of another model's shapes")
def weights_of_other_shapes(files: Files, target: Target) -> Files:
    del target
    return with_config(files, hidden_size=64, intermediate_size=32)


@case(tries=LIES + "no weights at all, which would be made up")
def weights_that_are_missing(files: Files, target: Target) -> Files:
    del target
    return {**files, "model.safetensors": tensors({"__metadata__": {"format": "pt"}})}


@case(tries=LIES + "parts that name each other")
def parts_in_a_circle(files: Files, target: Target) -> Files:
    del target
    names = [name for name in header_of(files["model.safetensors"]) if name != "__metadata__"]
    parts = [f"model-0000{at}-of-00002.safetensors" for at in (1, 2)]
    index = {"metadata": {"total_size": -1}, "weight_map": {name: parts[at % 2] for at, name in enumerate(names)}}
    without = {name: data for name, data in files.items() if name != "model.safetensors"}
    return {**without, parts[0]: files["model.safetensors"], parts[1]: tensors({}),
            "model.safetensors.index.json": json.dumps(index).encode()}  # fmt: skip


@case(tries=LIES + "metadata in a foreign format")
def metadata_of_another_format(files: Files, target: Target) -> Files:
    def change(header: dict[str, object]) -> None:
        header["__metadata__"] = {"format": "../../" + target.path, "x": "y" * 500_000}

    return with_header(files, change)


@case(tries="answer with numbers that are none")
def logits_that_are_no_numbers(files: Files, target: Target) -> Files:
    del target
    return _with_weights(that_answers(files), "model.norm.weight", torch.tensor(float("nan")))


@case(tries="answer with numbers that are infinite")
def logits_that_are_infinite(files: Files, target: Target) -> Files:
    del target
    return _with_weights(that_answers(files), "lm_head.weight", torch.tensor(float("inf")))


@case(tries=HANGS + "texts that never end")
def texts_without_end(files: Files, target: Target) -> Files:
    del target
    files = with_config(that_answers(files), eos_token_id=None, max_length=10**9)
    return _with_weights(files, "lm_head.weight", torch.tensor(0.0))


@case(tries=HANGS + "fifteen hundred tiny layers for every token")
def slow_layers(files: Files, target: Target) -> Files:
    del target
    weights = load(files["model.safetensors"])
    part = {name: tensor for name, tensor in weights.items() if ".layers.0." in name}
    rest = {name: tensor for name, tensor in weights.items() if ".layers." not in name}
    many = {name.replace(".0.", f".{at}."): tensor.clone() for at in range(1500) for name, tensor in part.items()}
    rest["lm_head.weight"] = torch.zeros_like(rest["lm_head.weight"])
    data = save({name: tensor.half() for name, tensor in {**rest, **many}.items()}, metadata={"format": "pt"})
    return {**with_config(that_answers(files), num_hidden_layers=1500), "model.safetensors": data}


@case(tries="have the special tokens be tokens that there are not")
def special_tokens_out_of_range(files: Files, target: Target) -> Files:
    del target
    return with_config(
        that_answers(files), eos_token_id=[10**6, -1], pad_token_id=10**6, bos_token_id=-(2**31), unk_token_id=2**62
    )


@case(tries="make a decoder of a model that has none")
def decoder_that_is_none(files: Files, target: Target) -> Files:
    del target
    return with_config(that_answers(files), is_encoder_decoder=True, is_decoder=False, add_cross_attention=True,
                       decoder_start_token_id=2**40, use_cache="no", return_dict=False, output_attentions=True,
                       output_hidden_states=True, torchscript=True)  # fmt: skip


def _with_weights(files: Files, name: str, value: torch.Tensor) -> Files:
    weights = load(files["model.safetensors"])
    weights[name] = weights[name] * 0 + value
    return {**files, "model.safetensors": save(weights, metadata={"format": "pt"})}


@case(tries=HANGS + "generation with a thousand million beams")
def settings_of_generation(files: Files, target: Target) -> Files:
    del target
    return changed(that_answers(files), "generation_config.json", num_beams=10**9, max_new_tokens=10**9, min_length=1,
                   num_return_sequences=10**9, cache_implementation="offloaded", forced_decoder_ids=[[1, 2]] * 10_000,
                   watermarking_config={"greenlist_ratio": 1e308}, sequence_bias=[[[1], 1e308]] * 10_000)  # fmt: skip
