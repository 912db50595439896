"""The released tasks of ARC-AGI-1: pinned, and no part of this repository.

They are the 800 files of github.com/fchollet/ARC-AGI, folder `data`, under the Apache License 2.0, copyright 2019
François Chollet. `data/released_files.txt` here has the path, size and SHA-256 of each.
"""

from importlib.resources import files

from evaluator.network.released_files import PublicFile, Release

COMMIT = "399030444e0ab0cc8b4e199870fb20b863846f34"
"""Of June 2024, when tasks were last corrected."""
LICENCE = "Apache-2.0"
_ORIGIN = "https://github.com/fchollet/ARC-AGI"
_BASE = f"https://raw.githubusercontent.com/fchollet/ARC-AGI/{COMMIT}"
_LICENCE_FILE = PublicFile(
    name="LICENSE", base=_BASE, bytes=11_347, sha256="b3a161754ffc20840ccf92aec0fe464fbbcf42f14c22f78a3ec2e98fca3864ca"
)


def _task_files() -> tuple[PublicFile, ...]:
    listed = files(__package__).joinpath("data/released_files.txt").read_text(encoding="utf-8")
    rows = (line.split(" ") for line in listed.splitlines())
    return tuple(PublicFile(name=name, base=_BASE, bytes=int(size), sha256=digest) for name, size, digest in rows)


TASK_FILES = _task_files()
"""In the order of their names, training first."""
RELEASE = Release(name="arc", origin=_ORIGIN, commit=COMMIT, files=(*TASK_FILES, _LICENCE_FILE))
