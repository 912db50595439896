"""The checks of a submitted model's settings files, the same for a zip, a hub and a folder.

They run in a process with limits, since the files determine the cost of reading them. No torch, no network, no native
code. The content of `tokenizer.json`, chat templates and the values of `config.json` are not checked: only the sandbox
that loads the model parses them, and bounds their cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.sandbox.admission.rules import (
    CONFIG,
    INDEX,
    MOST_SETTINGS_BYTES,
    Config,
    ModelRefusedError,
    read_config,
    settings_of,
    shards_named,
)
from evaluator.sandbox.admission.tokenizer_settings import (
    MOST_TOKENIZER_BYTES,
    SPECIAL_TOKENS_MAP,
    TEMPLATE_JSON,
    TEMPLATE_TEXT,
    TOKENIZER,
    TOKENIZER_CONFIG,
    TokenizerSettings,
    check_tokenizer_file,
    checked_template,
    read_special_tokens_map,
    read_tokenizer_config,
)
from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, call, serve

SETTINGS_FILES = (CONFIG, INDEX, TOKENIZER_CONFIG, SPECIAL_TOKENS_MAP, TEMPLATE_TEXT, TEMPLATE_JSON, TOKENIZER)
"""All files that are read, the largest last."""

Read = Callable[[str], bytes | None]
"""Returns a file by name; None if it does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFiles:
    """The checked files of a tokenizer."""

    content: str
    """`tokenizer.json`, not parsed: only the sandbox that loads the model passes it to the native library."""
    settings: TokenizerSettings


def most_bytes(name: str) -> int:
    """The largest size of a settings file."""
    return MOST_TOKENIZER_BYTES if name == TOKENIZER else MOST_SETTINGS_BYTES


def check_size(*, name: str, size: int) -> None:
    """Refuse a settings file that is too large.

    Raises:
        ModelRefusedError: it is.
    """
    if size > most_bytes(name):
        raise ModelRefusedError(f"{name} has {size} bytes; at most {most_bytes(name)} are possible.")


def check_settings(read: Read) -> Config:
    """Check all settings files, and return the configuration.

    Raises:
        ModelRefusedError: one is missing, or not accepted.
    """
    data = read(CONFIG)
    if data is None:
        raise ModelRefusedError(f"The model has no {CONFIG}.")
    config = read_config(data)
    if (index := read(INDEX)) is not None:
        shards_named(index, name=INDEX)
    read_tokenizer_files(read)
    return config


def read_tokenizer_files(read: Read) -> TokenizerFiles:
    """The checked files of a tokenizer; its configuration overrides the older map of special tokens.

    Raises:
        ModelRefusedError: `tokenizer.json` is missing, or a file is not accepted.
    """
    settings: TokenizerSettings = {}
    if (data := read(SPECIAL_TOKENS_MAP)) is not None:
        settings |= read_special_tokens_map(data)
    if (data := read(TOKENIZER_CONFIG)) is not None:
        settings |= read_tokenizer_config(data)
    if template := _template(read):
        settings["chat_template"] = template
    data = read(TOKENIZER)
    check_tokenizer_file(has=data is not None, size=None if data is None else len(data))
    try:
        return TokenizerFiles(content=(data or b"").decode(), settings=settings)
    except UnicodeDecodeError:
        raise ModelRefusedError(f"{TOKENIZER} is no UTF-8 text.") from None


def folder_reader(folder: Path) -> Read:
    """A reader of the files in a folder, which refuses too large ones."""

    def read(name: str) -> bytes | None:
        try:
            with (folder / name).open("rb") as file:
                data = file.read(most_bytes(name) + 1)
        except FileNotFoundError:
            return None
        if len(data) > most_bytes(name):
            raise ModelRefusedError(f"{name} has more than {most_bytes(name)} bytes.")
        return data

    return read


def _template(read: Read) -> str | None:
    """The chat template in a separate file, which overrides the one in the tokenizer's configuration."""
    if (data := read(TEMPLATE_TEXT)) is not None:
        try:
            return checked_template(data.decode())
        except UnicodeDecodeError:
            raise ModelRefusedError(f"{TEMPLATE_TEXT} is no UTF-8 text.") from None
    if (data := read(TEMPLATE_JSON)) is not None:
        value = settings_of(data, name=TEMPLATE_JSON).get("chat_template")
        return checked_template(value) if isinstance(value, str) else None
    return None


_LIMITS = Limits(memory_bytes=1024**3, cpu_seconds=20, wall_seconds=60.0)
"""Settings are parsed up to 4 MiB a file; `tokenizer.json`, of at most 64 MiB, is only decoded."""


def inspect_settings(folder: Path) -> str:
    """Check the settings files in a folder, and return the architecture.

    Raises:
        ModelRefusedError: one is not accepted.
    """
    return check_settings(folder_reader(folder)).architecture


def inspect_settings_confined(folder: Path, *, limits: Limits = _LIMITS) -> str:
    """Like `inspect_settings`, with limits on memory and time.

    Raises:
        ModelRefusedError: one is not accepted, or reading takes too much time or memory.
    """
    try:
        answer = call(__name__, str(folder), limits=limits)
    except LimitExceededError as error:
        most = (
            f"{limits.cpu_seconds} seconds of processor time"
            if error.what is Exceeded.TIME
            else f"{limits.memory_bytes // 1024**2} MiB of memory"
        )
        raise ModelRefusedError(f"Reading the model's settings and tokenizer takes more than {most}.") from None
    if "refused" in answer:
        raise ModelRefusedError(answer["refused"])
    return str(answer["architecture"])


def _answer(request: Any) -> Any:
    try:
        return {"architecture": inspect_settings(Path(request))}
    except ModelRefusedError as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    serve(_answer)
