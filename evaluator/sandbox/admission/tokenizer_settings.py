"""Which settings of a submitted tokenizer are used. No torch, no network, no file is opened.

A tokenizer is `tokenizer.json` and a few scalars. `transformers` reads more: settings that name files on this machine
(`vocab`, `merges`, `*_file`), positional arguments for any constructor (`init_inputs`), classes that read further
files (`tokenizer_class`). Each of these can be used to read files of the machine that loads the tokenizer, so none
reaches a constructor here: listed settings are taken, settings that name files are refused, all others are ignored.
"""

import re
from collections.abc import Mapping
from typing import Any

from evaluator.sandbox.admission.rules import ModelRefusedError, refuse_code, settings_of

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
SPECIAL_TOKENS_MAP = "special_tokens_map.json"
TEMPLATE_TEXT, TEMPLATE_JSON = "chat_template.jinja", "chat_template.json"
MOST_TOKENIZER_BYTES = 64 * 1024 * 1024
"""Of `tokenizer.json`. The largest that are published (vocabularies of 260,000 tokens) have about 35 MB."""
_MOST_TEXT = 1000
"""Characters of one special token."""
_MOST_TEMPLATE = 64 * 1024
"""Characters of a chat template. The longest published ones have some 30,000."""

SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_SWITCHES = (
    "add_bos_token", "add_eos_token", "add_prefix_space", "clean_up_tokenization_spaces", "split_special_tokens",
)  # fmt: skip
_SIDES = ("padding_side", "truncation_side")
_LENGTH = "model_max_length"
_TEMPLATE = "chat_template"

_NAMES_FILES = re.compile(r"vocab|vocabulary|merges|init_inputs|tokenizer_object|gguf|(.*_)?(files?|path|dir|folder)")
_IGNORED = frozenset({"special_tokens_map_file", "name_or_path"})
"""Where the author's machine kept things. Published tokenizers have them (flan-t5), and nothing reads them."""

TokenizerSettings = dict[str, str | bool | int]
"""Arguments of the tokenizer's constructor, each checked."""


def check_tokenizer_file(*, has: bool, size: int | None) -> None:
    """Refuse a model without `tokenizer.json`, or with one that is too large.

    Args:
        has: whether the file is there.
        size: its bytes; None: not known yet.

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
    """The settings in `tokenizer_config.json` that are used.

    Raises:
        ModelRefusedError: it is no JSON object, names files, needs code of its own, or has a setting of a wrong kind.
    """
    content = settings_of(data, name=TOKENIZER_CONFIG)
    refuse_code(content, name=TOKENIZER_CONFIG)
    refuse_files(content, name=TOKENIZER_CONFIG)
    template = _template(content.get(_TEMPLATE))
    return {
        **_special_tokens(content, name=TOKENIZER_CONFIG),
        **{key: _switch(key, content[key]) for key in _SWITCHES if content.get(key) is not None},
        **{key: _side(key, content[key]) for key in _SIDES if content.get(key) is not None},
        **({_LENGTH: _length(content[_LENGTH])} if content.get(_LENGTH) is not None else {}),
        **({_TEMPLATE: template} if template else {}),
    }


def read_special_tokens_map(data: bytes) -> TokenizerSettings:
    """The named special tokens in `special_tokens_map.json`.

    Raises:
        ModelRefusedError: as `read_tokenizer_config`.
    """
    content = settings_of(data, name=SPECIAL_TOKENS_MAP)
    refuse_files(content, name=SPECIAL_TOKENS_MAP)
    return {**_special_tokens(content, name=SPECIAL_TOKENS_MAP)}


def refuse_files(content: Mapping[str, Any], *, name: str) -> None:
    """Refuse settings that name files or build a tokenizer out of something else than `tokenizer.json`.

    Raises:
        ModelRefusedError: there is one that is not empty.
    """
    for key, value in content.items():
        if value and key not in _IGNORED and _NAMES_FILES.fullmatch(key.lower()):
            raise ModelRefusedError(
                f"{name} sets {key[:60]!r}, which names a file or builds a tokenizer; only {TOKENIZER} is read. "
                "Remove the setting."
            )


def checked_template(text: str) -> str:
    """A chat template, which only the sandbox that loads the model parses and renders.

    Raises:
        ModelRefusedError: it is too long.
    """
    if len(text) > _MOST_TEMPLATE:
        raise ModelRefusedError(f"The chat template has {len(text)} characters; at most {_MOST_TEMPLATE} are possible.")
    return text


def _special_tokens(content: Mapping[str, Any], *, name: str) -> dict[str, str]:
    return {key: _token(key, content[key], name=name) for key in SPECIAL_TOKENS if content.get(key) is not None}


def _token(key: str, value: object, *, name: str) -> str:
    """A special token's text. How it is matched (`lstrip`, `normalized`, ...) is in `tokenizer.json`."""
    text = value.get("content") if isinstance(value, Mapping) else value
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise ModelRefusedError(f"{key} in {name} must be a text of at most {_MOST_TEXT} characters.")
    return text


def _switch(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ModelRefusedError(f"{key} in {TOKENIZER_CONFIG} must be true or false.")
    return value


def _side(key: str, value: object) -> str:
    if value not in {"left", "right"}:
        raise ModelRefusedError(f'{key} in {TOKENIZER_CONFIG} must be "left" or "right".')
    return str(value)


def _length(value: object) -> int:
    # "No limit" is written as 1e30, also as a float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**40:
        raise ModelRefusedError(f"{_LENGTH} in {TOKENIZER_CONFIG} must be a number of tokens.")
    return int(value)


def _template(value: object) -> str | None:
    """The chat template, of several the one named `default`."""
    if value is None or isinstance(value, str):
        return checked_template(value) if value else None
    named = value if isinstance(value, list) else []
    templates = {one.get("name"): one.get("template") for one in named if isinstance(one, Mapping)
                 if isinstance(one.get("name"), str)}  # fmt: skip
    default = templates.get("default")
    if not isinstance(default, str):
        raise ModelRefusedError(f'{_TEMPLATE} in {TOKENIZER_CONFIG} is neither a text nor a list with a "default".')
    return checked_template(default)
