"""Silences logs, warnings and progress bars of libraries on the terminal.

Their errors stay, as do all logs of this package. `--verbose` or PLANARENA_VERBOSE=1 shows everything.
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
"""Read by the libraries on import. Values that the user has set stay."""
_BARS = frozenset({"HF_HUB_DISABLE_PROGRESS_BARS", "TQDM_DISABLE"})
_DOWNLOADS = ("profiles", "fetch")


def is_verbose(environment: MutableMapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for the logs of libraries."""
    return environment.get(VERBOSE, "").strip().lower() not in {"", "0", "false", "no", "off"}


def only_downloads(arguments: Sequence[str]) -> bool:
    """Whether the command does nothing but download gigabytes, so that the libraries' progress bars are useful.

    Args:
        arguments: of the command line, without the program's name.
    """
    return tuple(arguments[: len(_DOWNLOADS)]) == _DOWNLOADS


def quieten(environment: MutableMapping[str, str] = os.environ, *, bars: bool = False) -> None:
    """Limit libraries to errors unless `is_verbose`; with `bars` their progress bars stay.

    Must be called before the libraries are imported. Child processes inherit the settings.
    `python -W` and PYTHONWARNINGS still enable warnings of Python.
    """
    if is_verbose(environment):
        return
    for name, value in _SETTINGS.items():
        if not (bars and name in _BARS):
            environment.setdefault(name, value)
    if not sys.warnoptions:
        # All warnings: libraries attribute theirs to the calling module, which may be one of ours.
        warnings.simplefilter("ignore")
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.ERROR)
