"""Keeping what libraries say about themselves off the terminal, where results and our own errors are read.

Their errors stay, and so does everything that this package logs. `--verbose` or PLANARENA_VERBOSE=1 shows all.
"""

import logging
import os
import sys
import warnings
from collections.abc import MutableMapping, Sequence

VERBOSE = "PLANARENA_VERBOSE"
LIBRARIES = (
    "accelerate",
    "bert_score",
    "datasets",
    "diffusers",
    "huggingface_hub",
    "tokenizers",
    "torch",
    "transformers",
)
_SETTINGS = {
    "DATASETS_VERBOSITY": "error",
    "DIFFUSERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}
"""Read by the libraries when they are imported. What the user has set stays."""
_BARS = frozenset({"HF_HUB_DISABLE_PROGRESS_BARS", "TQDM_DISABLE"})
_DOWNLOADS = ("profiles", "fetch")


def is_verbose(environment: MutableMapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for what libraries say."""
    return environment.get(VERBOSE, "").strip().lower() not in {"", "0", "false", "no", "off"}


def only_downloads(arguments: Sequence[str]) -> bool:
    """Whether a command, given by the arguments after the program's name, downloads gigabytes and does nothing else:
    there the libraries' bars are what people look at."""
    return tuple(arguments[: len(_DOWNLOADS)]) == _DOWNLOADS


def quieten(environment: MutableMapping[str, str] = os.environ, *, bars: bool = False) -> None:
    """Have libraries report errors only, unless `is_verbose`; with `bars` also how far downloads are.

    Call it before they are imported. Child processes inherit what it sets.
    Warnings of Python are shown again where `python -W` or PYTHONWARNINGS asks for them.
    """
    if is_verbose(environment):
        return
    for name, value in _SETTINGS.items():
        if not (bars and name in _BARS):
            environment.setdefault(name, value)
    if not sys.warnoptions:
        # All of them: a warning counts as of the module that its library blames, which may be one of ours.
        warnings.simplefilter("ignore")
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.ERROR)
