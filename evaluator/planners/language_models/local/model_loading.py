"""Loads a language model and its tokenizer from a folder, with the settings that `admission` accepts and no more memory
than the weights account for.

`transformers` never reads `config.json`: it gets a configuration built from checked settings, which specifies nothing
about decoding but the tokens that begin and end a completion. `generation_config.json` is never opened.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

from evaluator.execution.experts.devices import loading
from evaluator.execution.experts.pretrained import dtype_of, load_pretrained
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.sandbox.admission.rules import CONFIG, MOST_SETTINGS_BYTES, ModelRefusedError, read_config
from evaluator.sandbox.admission.safetensors_headers import HeaderError, file_header
from evaluator.sandbox.admission.settings_files import folder_reader, read_tokenizer_files

LARGEST_CALL = 8192
"""Sequence length, in tokens, for which the cache of keys and values must fit into memory."""
_SMALL_CHANGE = 20_000_000
"""Parameters that weights of any size may lack: masks and position tables are not stored."""
_MORE_THAN_STORED = 1.5
_CACHE_OF_WEIGHTS = 4
"""Limit of the largest call's cache, relative to the weights. The caches of published models are smaller than these."""
_SMALL_CACHE_BYTES = 1024**3
_OF_MEMORY = 0.9
_GIB = 1024**3
_LAYERS = ("decoder_layers", "num_decoder_layers", "num_hidden_layers")
"""Settings for the number of a decoder's layers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The settings of a model that are used."""

    config: Any
    """A configuration of `transformers`."""
    token_ids: Mapping[str, int | list[int]]
    """The tokens that begin and end a completion, if the checkpoint specifies them."""


def read_settings(folder: Path) -> ModelSettings:
    """The settings of a model's folder.

    Raises:
        ModelRefusedError: they are not accepted.
        Exception: any exception of the configuration class.
    """
    try:
        with (folder / CONFIG).open("rb") as file:
            data = file.read(MOST_SETTINGS_BYTES + 1)
    except FileNotFoundError:
        raise ModelRefusedError(f"The model has no {CONFIG}.") from None
    if len(data) > MOST_SETTINGS_BYTES:
        raise ModelRefusedError(f"{CONFIG} has more than {MOST_SETTINGS_BYTES} bytes.")
    checked = read_config(data)
    config = CONFIG_MAPPING[checked.architecture](**checked.fields)
    ids = {name: checked.fields[name] for name in ("eos_token_id", "decoder_start_token_id")
           if checked.fields.get(name) is not None}  # fmt: skip
    return ModelSettings(config=config, token_ids=ids)


def load_module(folder: Path, *, settings: ModelSettings, device: str, precision: str) -> Any:
    """The model with its weights, ready for inference.

    Raises:
        ModelUnusableError: it does not continue texts.
        WeightsError: see `load_pretrained`.
    """
    return load_pretrained(
        _class_of(settings.config, folder=folder),
        folder=folder,
        device=device,
        precision=precision,
        config=settings.config,
        generation_config=GenerationConfig(**settings.token_ids),
    )


def refuse_oversized(folder: Path, *, settings: ModelSettings, device: str, precision: str) -> None:
    """Refuse a model that needs more memory than its weights account for, or than available. Allocates nothing.

    `transformers` allocates and initializes missing weights before it reports them, and the size of the cache of keys
    and values depends on settings that affect no weight.

    Raises:
        ModelUnusableError: it needs more than its weights account for, or they are invalid.
        ModelError: it needs more than this machine has.
    """
    headers = []
    for path in folder.glob("*.safetensors"):
        try:
            headers.append(file_header(path))
        except HeaderError as error:
            raise ModelUnusableError(f"{path.name} {error}.") from None
    layers, tensors = max(_numbers(settings.config, *_LAYERS), default=0), sum(len(each.shapes) for each in headers)
    if layers > tensors:
        # Even instantiating so many layers on the meta device would take too long.
        raise ModelUnusableError(
            f"The settings in {folder} describe {layers} layers, and the weights have {tensors} tensors."
        )
    with loading(), torch.device("meta"):
        module = _class_of(settings.config, folder=folder).from_config(settings.config)
    described = sum(tensor.numel() for tensor in (*module.parameters(), *module.buffers()))
    stored = sum(header.parameters for header in headers)
    if described > _MORE_THAN_STORED * stored + _SMALL_CHANGE:
        raise ModelUnusableError(
            f"The settings in {folder} describe a model of {described} numbers, and the weights have {stored}."
        )
    size = dtype_of(precision).itemsize
    weights, cache = described * size, cache_bytes(settings.config, tokens=LARGEST_CALL) * size
    if cache > _CACHE_OF_WEIGHTS * weights + _SMALL_CACHE_BYTES:
        raise ModelUnusableError(
            f"The settings in {folder} describe keys and values of {cache / _GIB:.1f} GiB for a text of {LARGEST_CALL} "
            f"tokens, and the weights have {weights / _GIB:.1f} GiB: layers, heads or head_dim are too many."
        )
    if device.startswith("cuda"):
        memory = int(torch.cuda.mem_get_info(device)[1])
    else:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if weights + cache > _OF_MEMORY * memory:
        raise ModelError(
            f"The model in {folder} needs {(weights + cache) / _GIB:.1f} GiB for its weights and a text of "
            f"{LARGEST_CALL} tokens, and there are {memory / _GIB:.1f} GiB here."
        )


def cache_bytes(config: Any, *, tokens: int) -> int:
    """Numbers in the cache of keys and values of one sequence, ignoring sliding windows."""
    layers = _first(config, *_LAYERS)
    heads = _first(config, "decoder_attention_heads", "num_attention_heads")
    groups = _first(config, "num_key_value_heads", "num_kv_heads") or heads
    size = _first(config, "head_dim", "d_kv") or max(1, _first(config, "d_model", "hidden_size") // max(1, heads))
    # Latent attention may cache keys and values of different sizes, decompressed.
    size = max(
        size, _first(config, "qk_nope_head_dim") + _first(config, "qk_rope_head_dim"), _first(config, "v_head_dim")
    )
    both = 2 if not config.is_encoder_decoder else 4  # of the decoder, and in each layer of the encoder's text
    return both * layers * groups * size * tokens


def _first(config: Any, *names: str) -> int:
    return next(iter(_numbers(config, *names)), 0)


def _numbers(config: Any, *names: str) -> list[int]:
    values = (getattr(config, name, None) for name in names)
    return [value for value in values if isinstance(value, int) and value > 0]


def _class_of(config: Any, *, folder: Path) -> Any:
    if config.is_encoder_decoder and type(config) in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING:
        return AutoModelForSeq2SeqLM
    if not config.is_encoder_decoder and type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        return AutoModelForCausalLM
    raise ModelUnusableError(f"The model in {folder} is a {config.model_type}, which is no model that continues texts.")


_LONGEST_PANIC = 200


class TokenizerPanicError(RuntimeError):
    """The tokenizer's native code panicked; the message quotes it."""


class SubmittedTokenizer(PreTrainedTokenizerFast):  # type: ignore[misc]  # transformers has no types
    """A fast tokenizer that raises `TokenizerPanicError` where the Rust library panics.

    A panic reaches Python as a `BaseException`, which `except Exception` does not catch: it would end the worker.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with panics_as_errors():
            return super().__call__(*args, **kwargs)

    def decode(self, *args: Any, **kwargs: Any) -> Any:
        with panics_as_errors():
            return super().decode(*args, **kwargs)


def load_tokenizer(folder: Path) -> SubmittedTokenizer:
    """The tokenizer of a model's folder, from `tokenizer.json` and its accepted settings.

    Raises:
        ModelRefusedError: there is no `tokenizer.json`, or a setting is not accepted.
        TokenizerPanicError: its content makes the native code panic.
        Exception: any other exception of the tokenizers library.
    """
    files = read_tokenizer_files(folder_reader(folder))
    with panics_as_errors():
        native = Tokenizer.from_str(files.content)
        # The tokens of a text must not depend on the batch or on chance.
        native.no_truncation()
        native.no_padding()
        if hasattr(native.model, "dropout"):
            native.model.dropout = None
        return SubmittedTokenizer(tokenizer_object=native, **files.settings)


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise panics of Rust code as `TokenizerPanicError`."""
    try:
        yield
    except BaseException as error:
        # The class cannot be imported: PyO3 creates one for each extension module.
        if type(error).__module__ != "pyo3_runtime":
            raise
        said = " ".join(str(error).split())[:_LONGEST_PANIC]
        raise TokenizerPanicError(f"the tokenizer's native code gave up: {said}") from None
