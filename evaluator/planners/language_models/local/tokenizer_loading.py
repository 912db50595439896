"""A submitted tokenizer from its folder: `tokenizer.json` and the settings that are accepted."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from evaluator.sandbox.admission.settings_files import folder_reader, read_tokenizer_files

_LONGEST_PANIC = 200
_MOST_NORMALIZED_BYTES = 8 * 1024 * 1024
"""Of one text; the native library needs some hundred bytes of memory for each."""
_PIECE = 1000
"""Characters that are normalized at a time to measure how long a text becomes."""


class TokenizerPanicError(RuntimeError):
    """The tokenizer's native code gave up; the message is what it said."""


class TextTooLongError(ValueError):
    """A text becomes too long when it is normalized; the message is a sentence."""


class SubmittedTokenizer(PreTrainedTokenizerFast):  # type: ignore[misc]  # transformers has no types
    """A fast tokenizer whose panics are errors, and whose normalizer cannot fill the memory.

    A panic of the Rust library reaches Python as a `BaseException`, which no `except Exception` catches: it would end
    the worker.
    """

    growth = 1.0
    """Bytes that the normalizer makes of one byte at most."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See `PreTrainedTokenizerBase.__call__`.

        Raises:
            TextTooLongError: a text becomes too long when it is normalized.
            TokenizerPanicError: the native code gave up.
        """
        with panics_as_errors():
            for text in _texts(args[0] if args else kwargs.get("text")):
                self._refuse_growth(text)
            return super().__call__(*args, **kwargs)

    def _refuse_growth(self, text: str) -> None:
        if len(text.encode(errors="replace")) * self.growth <= _MOST_NORMALIZED_BYTES:
            return
        normalize, total = self.backend_tokenizer.normalizer.normalize_str, 0
        for start in range(0, len(text), _PIECE):
            total += len(normalize(text[start : start + _PIECE]).encode())
            if total > _MOST_NORMALIZED_BYTES:
                raise TextTooLongError(
                    f"The tokenizer's normalizer makes more than {_MOST_NORMALIZED_BYTES} bytes of a text of "
                    f"{len(text)} characters."
                )

    def decode(self, *args: Any, **kwargs: Any) -> Any:
        """See `PreTrainedTokenizerBase.decode`.

        Raises:
            TokenizerPanicError: the native code gave up.
        """
        with panics_as_errors():
            return super().decode(*args, **kwargs)


def load_tokenizer(folder: Path) -> SubmittedTokenizer:
    """The tokenizer of a model's folder. No other file than those named here is opened.

    Raises:
        ModelRefusedError: there is no `tokenizer.json`, or its content or a setting is not accepted.
        TokenizerPanicError: its content makes the native code give up.
        Exception: whatever else the tokenizers library finds wrong with the content of `tokenizer.json`.
    """
    files = read_tokenizer_files(folder_reader(folder))
    with panics_as_errors():
        tokenizer = SubmittedTokenizer(tokenizer_object=Tokenizer.from_str(files.content.text), **files.settings)
    tokenizer.growth = files.content.growth
    return tokenizer


def _texts(given: object) -> Iterator[str]:
    for text in given if isinstance(given, list | tuple) else [given]:
        if isinstance(text, str):
            yield text


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
