"""The files that a model server may read besides the model: interpreter, libraries, `evaluator` and `gpu_jobs`."""

import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import evaluator
import gpu_jobs
from evaluator.planners.language_models import ModelUnusableError

_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "pydantic", "psutil")
_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_FACTS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
"""Torch reads these to choose its threads and kernels."""
_OWN_FACTS = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel/random/uuid",
              "/proc/sys/vm/overcommit_memory")  # fmt: skip
RANDOM = ("/dev/urandom", "/dev/random")
_OF_GPUS = ("/dev/nvidia*", "/dev/dri", "/dev/kfd")
_GPU_FACTS = ("/proc/driver/nvidia", "/sys/module/nvidia", "/sys/bus/pci", "/sys/class/drm", "/sys/class/kfd")


@dataclass(frozen=True, slots=True)
class Code:
    """Files of a server."""

    interpreter: Path
    search: tuple[Path, ...]
    """Folders of packages, for `PYTHONPATH`."""
    bound: tuple[Path, ...]
    """Files and folders to mount at the same paths."""
    facts: tuple[Path, ...]
    """Readable files of the kernel."""


@cache
def code(*, gpu: bool) -> Code:
    """The files of this worker's interpreter and packages.

    Args:
        gpu: whether the model runs on a GPU.
    """
    interpreter = Path(os.path.realpath(sys.executable))
    packages = [_folder_of(name) for name in _PACKAGES]
    own = [Path(os.path.realpath(str(package.__file__))).parent for package in (evaluator, gpu_jobs)]
    needed = [
        interpreter,
        Path(os.path.realpath(sys.base_prefix)) / "lib",
        *(Path(os.path.realpath(sysconfig.get_path(kind))) for kind in ("stdlib", "platstdlib")),
        *packages,
        *own,
        *map(Path, _SYSTEM),
        *map(Path, _FACTS),
        *(map(Path, _GPU_FACTS[1:]) if gpu else ()),
    ]
    return Code(
        interpreter=interpreter,
        search=(*dict.fromkeys(package.parent for package in own), *dict.fromkeys(packages)),
        bound=tuple(_without_nested(needed)),
        facts=tuple(map(Path, (*_OWN_FACTS, *RANDOM, *(_GPU_FACTS if gpu else ())))),
    )


def _folder_of(package: str) -> Path:
    """The folder of a package, usually `site-packages`. Does not import it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return Path(sysconfig.get_path("purelib"))
    return Path(os.path.realpath(spec.origin)).parent.parent


def gpu_devices() -> tuple[Path, ...]:
    """The devices of this machine's GPUs."""
    return tuple(path for pattern in _OF_GPUS for path in sorted(Path("/").glob(pattern.lstrip("/"))))


def model_files(folder: Path) -> dict[str, Path]:
    """The files of a model's folder by relative path, with links resolved, since a hub's client links to its blobs.

    Raises:
        ModelUnusableError: a link leads out of the folder and its blobs.
    """
    roots = [folder.resolve()]
    if folder.parent.name == "snapshots":
        roots.append(folder.parent.parent.resolve() / "blobs")
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        target = path.resolve()
        if not any(target.is_relative_to(root) for root in roots) or not target.is_file():
            raise ModelUnusableError(f"{path.relative_to(folder)} is a link to a file outside of the model.")
        files[str(path.relative_to(folder))] = target
    return files


def _without_nested(paths: list[Path]) -> Iterator[Path]:
    """Existing paths, without nested ones; links are not resolved."""
    existing = [path for path in dict.fromkeys(paths) if path.exists()]
    for path in existing:
        if not any(path != other and path.is_relative_to(other) for other in existing):
            yield path
