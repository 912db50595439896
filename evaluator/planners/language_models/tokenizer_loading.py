"""A stranger's tokenizer from its folder: `tokenizer.json` and the settings that `tokenizer_admission` lets pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from evaluator.planners.language_models.admission import MOST_SETTINGS_BYTES, ModelRefusedError, settings_of
from evaluator.planners.language_models.tokenizer_admission import (
    MOST_TOKENIZER_BYTES,
    SPECIAL_TOKENS_MAP,
    TOKENIZER,
    TOKENIZER_CONFIG,
    TokenizerSettings,
    check_tokenizer_file,
    checked_template,
    read_special_tokens_map,
    read_tokenizer_config,
)

_TEMPLATE_TEXT, _TEMPLATE_JSON = "chat_template.jinja", "chat_template.json"
_LONGEST_PANIC = 200


class TokenizerPanicError(RuntimeError):
    """The tokenizer's native code gave up; the message is what it said."""


class StrangersTokenizer(PreTrainedTokenizerFast):  # type: ignore[misc]  # transformers has no types
    """A fast tokenizer whose panics are errors.

    A panic of the Rust library reaches Python as a `BaseException`, which no `except Exception` catches: it would end
    the worker.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See `PreTrainedTokenizerBase.__call__`.

        Raises:
            TokenizerPanicError: the native code gave up.
        """
        with panics_as_errors():
            return super().__call__(*args, **kwargs)

    def decode(self, *args: Any, **kwargs: Any) -> Any:
        """See `PreTrainedTokenizerBase.decode`.

        Raises:
            TokenizerPanicError: the native code gave up.
        """
        with panics_as_errors():
            return super().decode(*args, **kwargs)


def load_tokenizer(folder: Path) -> StrangersTokenizer:
    """The tokenizer of a model's folder. No other file than those named here is opened.

    Raises:
        ModelRefusedError: there is no `tokenizer.json`, it is too large, or a setting is not accepted.
        TokenizerPanicError: its content makes the native code give up.
        Exception: whatever else the tokenizers library finds wrong with `tokenizer.json`.
    """
    path = folder / TOKENIZER
    check_tokenizer_file(has=path.is_file(), size=None)
    text = _bounded(path, most=MOST_TOKENIZER_BYTES).decode()
    settings = _settings(folder)
    with panics_as_errors():
        return StrangersTokenizer(tokenizer_object=Tokenizer.from_str(text), **settings)


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of Rust code as an ordinary error.

    Raises:
        TokenizerPanicError: there was one.
    """
    try:
        yield
    except BaseException as error:
        # The class itself cannot be imported: PyO3 makes one for each extension module.
        if type(error).__module__ != "pyo3_runtime":
            raise
        said = " ".join(str(error).split())[:_LONGEST_PANIC]
        raise TokenizerPanicError(f"the tokenizer's native code gave up: {said}") from None


def _settings(folder: Path) -> TokenizerSettings:
    """What the constructor is given besides `tokenizer.json`; the configuration before the older map of tokens."""
    settings: TokenizerSettings = {}
    if (folder / SPECIAL_TOKENS_MAP).is_file():
        settings |= read_special_tokens_map(_bounded(folder / SPECIAL_TOKENS_MAP))
    if (folder / TOKENIZER_CONFIG).is_file():
        settings |= read_tokenizer_config(_bounded(folder / TOKENIZER_CONFIG))
    template = _template_file(folder)
    if template:
        settings["chat_template"] = template
    return settings


def _template_file(folder: Path) -> str | None:
    if (folder / _TEMPLATE_TEXT).is_file():
        return checked_template(_bounded(folder / _TEMPLATE_TEXT).decode())
    if (folder / _TEMPLATE_JSON).is_file():
        value = settings_of(_bounded(folder / _TEMPLATE_JSON), name=_TEMPLATE_JSON).get("chat_template")
        return checked_template(value) if isinstance(value, str) else None
    return None


def _bounded(path: Path, *, most: int = MOST_SETTINGS_BYTES) -> bytes:
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ModelRefusedError(f"{path.name} has more than {most} bytes.")
    return data
