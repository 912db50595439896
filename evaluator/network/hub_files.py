"""The files of a hub repository that a checkpoint needs."""

import re
from collections.abc import Sequence

_SMALL = re.compile(
    r"(config|generation_config|preprocessor_config|processor_config|tokenizer|tokenizer_config|special_tokens_map|"
    r"added_tokens|vocab|model_index|scheduler_config)\.json|vocab\.txt|merges\.txt|.*\.model"
)
"""Settings and vocabularies."""
_SAFE = re.compile(r"(diffusion_pytorch_)?model(-\d+-of-\d+)?\.safetensors(\.index\.json)?")
_UNSAFE = re.compile(r"(diffusion_)?pytorch_model(-\d+-of-\d+)?\.bin(\.index\.json)?")
"""Weights that are converted after the download; used only if there are no others."""


def needed_files(*, names: Sequence[str], folders: Sequence[str]) -> tuple[str, ...]:
    """The files of a repository that a checkpoint needs: settings, vocabularies, and weights in one format.

    Args:
        names: all paths in the repository.
        folders: needed folders besides the top.
    """
    chosen: list[str] = []
    for folder in ("", *folders):
        inside = {name.rpartition("/")[2]: name for name in names if name.rpartition("/")[0] == folder}
        safe = [file for file in inside if _SAFE.fullmatch(file)]
        weights = safe or [file for file in inside if _UNSAFE.fullmatch(file)]
        chosen += [inside[file] for file in inside if _SMALL.fullmatch(file) or file in weights]
    return tuple(sorted(chosen))
