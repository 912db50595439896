"""The rules for the settings of a submitted language model. No torch, no network.

Only settings, vocabularies and safetensors; an architecture of the installed `transformers`; no custom code.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evaluator.sandbox.admission.config_fields import USED

# Plain data, since importing the tables of `transformers` imports torch, which a site does not have.
CAUSAL = frozenset(
    {
        "apertus", "arcee", "biogpt", "bloom", "codegen", "cohere", "deepseek_v2", "deepseek_v3", "ernie4_5", "exaone4",
        "falcon", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "gpt-sw3", "gpt2", "gpt_bigcode", "gpt_neo",
        "gpt_neox", "gpt_oss", "gptj", "granite", "helium", "hunyuan_v1_dense", "internlm3", "llama", "ministral",
        "mistral", "mixtral", "mpt", "nemotron", "olmo", "olmo2", "openai-gpt", "opt", "persimmon", "phi", "phi3",
        "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2", "xglm",
    }
)  # fmt: skip
SEQUENCE_TO_SEQUENCE = frozenset(
    {
        "bart", "blenderbot", "blenderbot-small", "led", "longt5", "m2m_100", "marian", "mbart", "mt5", "pegasus",
        "plbart", "switch_transformers", "t5", "umt5",
    }
)  # fmt: skip


CONFIG, INDEX = "config.json", "model.safetensors.index.json"
MOST_SETTINGS_BYTES = 4 * 1024 * 1024
"""Size of a settings file that is read here; vocabularies may be larger, and are not read."""
_CODE_KEYS = ("auto_map", "custom_pipelines")
_IMPLEMENTATION = re.compile(r"_?(attn|experts)_implementation(_internal)?")
"""Implementation of attention or experts: a name in the library, or a repository whose code it would download."""
_OWN_IMPLEMENTATION = re.compile(r"[a-z0-9_]+")
_QUANTIZATION_KEY = "quantization_config"
_WEIGHTS_KEY = "transformers_weights"
_WEIGHTS_FILE = re.compile(r"[A-Za-z0-9_][\w.-]*\.safetensors", re.ASCII)


class ModelRefusedError(ValueError):
    """A language model is not accepted; the message is a sentence for its submitter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """An accepted configuration."""

    architecture: str
    """`model_type`."""
    fields: Mapping[str, Any]
    """The used settings, with unchecked values: only the sandbox that loads the model builds a configuration."""


def read_config(data: bytes) -> Config:
    """The configuration in `config.json`.

    Raises:
        ModelRefusedError: it is invalid, needs custom code or weights from elsewhere, or names an architecture that is
            not accepted.
    """
    content = settings_of(data, name=CONFIG)
    refuse_code(content, name=CONFIG)
    architecture = content.get("model_type")
    if not isinstance(architecture, str) or not architecture:
        raise ModelRefusedError(f"{CONFIG} names no model_type, so that nobody knows which architecture it is for.")
    if architecture not in CAUSAL | SEQUENCE_TO_SEQUENCE:
        raise ModelRefusedError(
            f"{CONFIG} is for the architecture {architecture[:60]!r}, which is no causal or sequence-to-sequence "
            "language model that is loaded here; the documentation lists those that are."
        )
    if content.get(_QUANTIZATION_KEY):
        raise ModelRefusedError(
            f"{CONFIG} sets {_QUANTIZATION_KEY}; quantized weights are not loaded here. Save the weights in bfloat16."
        )
    for key, value in _entries(content):
        if not isinstance(value, str) or not value:
            continue
        if _IMPLEMENTATION.fullmatch(key) and not _OWN_IMPLEMENTATION.fullmatch(value):
            raise ModelRefusedError(
                f"{CONFIG} sets {key} to {value[:60]!r}, which is code from elsewhere; use the library's own, such as "
                "'sdpa', or leave the setting out."
            )
        if key == _WEIGHTS_KEY and not _WEIGHTS_FILE.fullmatch(value):
            raise ModelRefusedError(
                f"{CONFIG} sets {key} to {value[:60]!r}, which is no safetensors file of the model."
            )
    return Config(architecture=architecture, fields={name: content[name] for name in content if name in USED})


def end_tokens(named: object, *, own: int | None) -> tuple[int, ...]:
    """Token ids that end a text; empty if none is known. `generation_config.json` is ignored.

    Args:
        named: `eos_token_id` of `config.json`: one id, several, or None. Negative ids mean none.
        own: the id of the tokenizer's `eos_token`. It comes first: constrained texts end with it.
    """
    several = named if isinstance(named, list | tuple) else [named]
    known = [token for token in several if type(token) is int and token >= 0]
    return tuple(dict.fromkeys([*([own] if own is not None else []), *known]))


def settings_of(data: bytes, *, name: str) -> dict[str, Any]:
    """Parse a settings file.

    Raises:
        ModelRefusedError: it is not a JSON object.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ModelRefusedError(f"{name} is no JSON object.")
    return content


def refuse_code(content: Mapping[str, Any], *, name: str) -> None:
    """Refuse settings that need code shipped with the model.

    Raises:
        ModelRefusedError: they do.
    """
    for key in _CODE_KEYS:
        if content.get(key):
            raise ModelRefusedError(f"It needs code of its own ({key} in {name}), which is never run here.")
    for _, value in _entries(content):
        if isinstance(value, str) and value.endswith(".py"):
            raise ModelRefusedError(f"It needs code of its own ({value[:80]!r} in {name}), which is never run here.")


def shards_named(data: bytes, *, name: str) -> frozenset[str]:
    """The files in an index of weights.

    Raises:
        ModelRefusedError: it is invalid, or names something other than a safetensors file beside it.
    """
    weight_map = settings_of(data, name=name).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(file, str) for file in weight_map.values()):
        raise ModelRefusedError(f"{name} is no index of weights: it has no weight_map.")
    # The library joins these names to the folder's path: ".." would lead to the weights of another model.
    elsewhere = next((file for file in weight_map.values() if not _WEIGHTS_FILE.fullmatch(file)), None)
    if elsewhere is not None:
        raise ModelRefusedError(f"{name} names {elsewhere[:80]!r}, which is no safetensors file beside it.")
    return frozenset(weight_map.values())


def _entries(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """All values in settings with their keys; items of a list get its key.

    Not recursive, since submitted settings may be nested as deep as JSON allows.
    """
    waiting: list[tuple[str, Any]] = [("", content)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, item) for item in value]
        else:
            yield key, value
