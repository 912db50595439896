"""A submitted tokenizer from its folder: `tokenizer.json` and the settings that are accepted."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from evaluator.sandbox.admission.settings_files import folder_reader, read_tokenizer_files

_LONGEST_PANIC = 200


class TokenizerPanicError(RuntimeError):
    """The tokenizer's native code gave up; the message is what it said."""


class SubmittedTokenizer(PreTrainedTokenizerFast):  # type: ignore[misc]  # transformers has no types
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


def load_tokenizer(folder: Path) -> SubmittedTokenizer:
    """The tokenizer of a model's folder. No other file than those named here is opened.

    Raises:
        ModelRefusedError: there is no `tokenizer.json`, or a setting is not accepted.
        TokenizerPanicError: its content makes the native code give up.
        Exception: whatever else the tokenizers library finds wrong with the content of `tokenizer.json`.
    """
    files = read_tokenizer_files(folder_reader(folder))
    with panics_as_errors():
        native = Tokenizer.from_str(files.content)
        # What is read depends on the text alone, not on the batch or on chance.
        native.no_truncation()
        native.no_padding()
        if hasattr(native.model, "dropout"):
            native.model.dropout = None
        return SubmittedTokenizer(tokenizer_object=native, **files.settings)


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
