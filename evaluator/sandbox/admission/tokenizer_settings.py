"""The settings of a submitted tokenizer that are used. No torch, no network, no file is opened.

A tokenizer is `tokenizer.json` and a few scalars. `transformers` reads more: settings that name local files (`vocab`,
`merges`, `*_file`), positional arguments of constructors (`init_inputs`), classes that read further files
(`tokenizer_class`). Each can be used to read files of the machine that loads the tokenizer, so none is passed to a
constructor: listed settings are used, settings that name files are refused, all others are ignored.
"""

import re
from collections.abc import Mapping
from typing import Any

from evaluator.sandbox.admission.rules import ModelRefusedError, refuse_code, settings_of

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
SPECIAL_TOKENS_MAP = "special_tokens_map.json"
TEMPLATE_TEXT, TEMPLATE_JSON = "chat_template.jinja", "chat_template.json"
MOST_TOKENIZER_BYTES = 64 * 1024 * 1024
"""Size of `tokenizer.json`. The largest published ones (vocabularies of 260,000 tokens) have about 35 MB."""
_MOST_TEXT = 1000
"""Characters of a special token."""
_MOST_TEMPLATE = 64 * 1024
"""Characters of a chat template. The longest published ones have about 30,000."""

SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_SWITCHES = (
    "add_bos_token", "add_eos_token", "add_prefix_space", "clean_up_tokenization_spaces", "split_special_tokens",
)  # fmt: skip
_SIDES = ("padding_side", "truncation_side")
_LENGTH = "model_max_length"
_TEMPLATE = "chat_template"

_NAMES_FILES = re.compile(r"vocab|vocabulary|merges|init_inputs|tokenizer_object|gguf|(.*_)?(files?|path|dir|folder)")
_IGNORED = frozenset({"special_tokens_map_file", "name_or_path"})
"""Paths on the author's machine, which some published tokenizers contain (flan-t5) and nothing reads."""

TokenizerSettings = dict[str, str | bool | int]
"""Checked arguments of the tokenizer's constructor."""


def check_tokenizer_file(*, has: bool, size: int | None) -> None:
    """Refuse a model without `tokenizer.json`, or with one that is too large; `size` is None if unknown.

    Raises:
        ModelRefusedError: it is refused.
    """
    if not has:
        raise ModelRefusedError(
            f"The model has no {TOKENIZER}, the only form of a tokenizer that is read. Load the tokenizer with "
            "transformers' AutoTokenizer and save it with save_pretrained: that writes one."
        )
    if size is not None and size > MOST_TOKENIZER_BYTES:
        raise ModelRefusedError(f"{TOKENIZER} has {size} bytes; at most {MOST_TOKENIZER_BYTES} are possible.")


def read_tokenizer_config(data: bytes) -> TokenizerSettings:
    """The used settings in `tokenizer_config.json`.

    Raises:
        ModelRefusedError: it is not a JSON object, names files, needs custom code, or has a setting of a wrong type.
    """
    content = settings_of(data, name=TOKENIZER_CONFIG)
    refuse_code(content, name=TOKENIZER_CONFIG)
    refuse_files(content, name=TOKENIZER_CONFIG)
    template = _template(content.get(_TEMPLATE))
    settings: TokenizerSettings = {**_special_tokens(content, name=TOKENIZER_CONFIG)}
    for key in _SWITCHES:
        if (value := content.get(key)) is not None:
            if not isinstance(value, bool):
                raise ModelRefusedError(f"{key} in {TOKENIZER_CONFIG} must be true or false.")
            settings[key] = value
    for key in _SIDES:
        if (value := content.get(key)) is not None:
            if value not in ("left", "right"):
                raise ModelRefusedError(f'{key} in {TOKENIZER_CONFIG} must be "left" or "right".')
            settings[key] = value
    if (length := content.get(_LENGTH)) is not None:
        # "No limit" is written as 1e30, also as a float.
        if isinstance(length, bool) or not isinstance(length, int | float) or not 0 < length < 10**40:
            raise ModelRefusedError(f"{_LENGTH} in {TOKENIZER_CONFIG} must be a number of tokens.")
        settings[_LENGTH] = int(length)
    if template:
        settings[_TEMPLATE] = template
    return settings


def read_special_tokens_map(data: bytes) -> TokenizerSettings:
    """The special tokens in `special_tokens_map.json`.

    Raises:
        ModelRefusedError: see `read_tokenizer_config`.
    """
    content = settings_of(data, name=SPECIAL_TOKENS_MAP)
    refuse_files(content, name=SPECIAL_TOKENS_MAP)
    return {**_special_tokens(content, name=SPECIAL_TOKENS_MAP)}


def refuse_files(content: Mapping[str, Any], *, name: str) -> None:
    """Refuse settings that name files, or build a tokenizer from anything but `tokenizer.json`.

    Raises:
        ModelRefusedError: such a setting is not empty.
    """
    for key, value in content.items():
        if value and key not in _IGNORED and _NAMES_FILES.fullmatch(key.lower()):
            raise ModelRefusedError(
                f"{name} sets {key[:60]!r}, which names a file or builds a tokenizer; only {TOKENIZER} is read. "
                "Remove the setting."
            )


def checked_template(text: str) -> str:
    """Check the length of a chat template, which only the sandbox that loads the model parses.

    Raises:
        ModelRefusedError: it is too long.
    """
    if len(text) > _MOST_TEMPLATE:
        raise ModelRefusedError(f"The chat template has {len(text)} characters; at most {_MOST_TEMPLATE} are possible.")
    return text


def _special_tokens(content: Mapping[str, Any], *, name: str) -> dict[str, str]:
    """The texts of special tokens. How they are matched (`lstrip`, `normalized`, ...) is in `tokenizer.json`."""
    tokens = {}
    for key in SPECIAL_TOKENS:
        if (value := content.get(key)) is not None:
            text = value.get("content") if isinstance(value, Mapping) else value
            if not isinstance(text, str) or len(text) > _MOST_TEXT:
                raise ModelRefusedError(f"{key} in {name} must be a text of at most {_MOST_TEXT} characters.")
            tokens[key] = text
    return tokens


def _template(value: object) -> str | None:
    """The chat template; the one named `default` if there are several."""
    if value is None or isinstance(value, str):
        return checked_template(value) if value else None
    named = value if isinstance(value, list) else []
    templates = {
        entry.get("name"): entry.get("template")
        for entry in named
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
    }
    default = templates.get("default")
    if not isinstance(default, str):
        raise ModelRefusedError(f'{_TEMPLATE} in {TOKENIZER_CONFIG} is neither a text nor a list with a "default".')
    return checked_template(default)
