"""Dockerfiles, read as a builder reads them: stages, instructions, and the Python of each image."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
IMAGES = sorted((ROOT / "k8s" / "images").glob("*.Dockerfile"))
MACHINES = ("x86_64", "aarch64")
_PYTHON_OF = {"ubuntu24.04": ("3.12", (2, 39)), "slim": ("", (2, 36))}
"""Python and glibc of a distribution, by the end of a base image's tag; Python's own images name theirs."""


def instructions(path: Path) -> list[tuple[str, str]]:
    """(instruction, rest) of a Dockerfile, lines joined, comments left out."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    found = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [(one, rest) for one, rest in found]


def stages(path: Path) -> list[list[tuple[str, str]]]:
    """The instructions of each stage; the first of each is its FROM."""
    found: list[list[tuple[str, str]]] = []
    for instruction, rest in instructions(path):
        if instruction == "FROM":
            found.append([])
        if found:
            found[-1].append((instruction, rest))
    return found


def of(stage: list[tuple[str, str]], instruction: str) -> list[str]:
    """What follows each instruction of a kind."""
    return [rest for name, rest in stage if name == instruction]


def python_of(path: Path) -> tuple[str, tuple[int, int]]:
    """The version of Python, as in 3.12, and of glibc that the packages of an image are installed for.

    Raises:
        KeyError: its distribution is not known here.
    """
    arguments = dict(rest.partition("=")[::2] for name, rest in instructions(path) if name == "ARG")
    image = arguments.get("PYTHON_IMAGE") or arguments["CUDA_IMAGE"]
    tag = image.partition("@")[0].rpartition(":")[2]
    version, glibc = _PYTHON_OF[tag.rpartition("-")[2]]
    return version or tag.partition("-")[0], glibc


def locks_of(path: Path) -> list[Path]:
    """The files of requirements that an image installs, as built for a GPU."""
    runs = [run for stage in stages(path) for run in of(stage, "RUN") if "pip install" in run]
    names = [name for run in runs for name in re.findall(r'-r "?(requirements/[^"\s]+)', run)]
    return [ROOT / name.replace("${TORCH}", "cuda") for name in names]
