"""Checkpoints as people zip them, made on the spot."""

import io
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


@cache
def tiny_files() -> Mapping[str, bytes]:
    """The files of a tiny causal model, by name."""
    # Loads PyTorch.
    from tests.fakes.tiny_models import gpt2, saved, unigram

    tokenizer = unigram()
    with TemporaryDirectory() as folder:
        saved(Path(folder), model=gpt2(tokenizer), tokenizer=tokenizer)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def zipped(files: Mapping[str, bytes] | None = None, **changes: bytes | None) -> bytes:
    """A zip of these files, by default of the tiny model's; changes by name with `__` for the dot, None: left out."""
    chosen: dict[str, bytes | None] = {**(tiny_files() if files is None else files)}
    chosen |= {name.replace("__", "."): data for name, data in changes.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(chosen.items()):
            if data is not None:
                # A fixed date, so that the same files are the same zip.
                archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def zipped_folder(folder: Path) -> bytes:
    """A zip of a folder's files."""
    return zipped({path.name: path.read_bytes() for path in folder.iterdir() if path.suffix not in {".csv", ".svg"}})
