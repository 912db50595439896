"""What the process of a command and the daemon must have in common, and which commands may use it.

Imports only the standard library, and of it little: the command waits for it.
"""

import hashlib
import os
import re
import resource
import signal
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SETTING = "PLANARENA_DAEMON"
"""`off`, or the minutes without a command after which the daemon ends."""
IDLE_MINUTES = 10
COMMANDS = frozenset({"evaluate"})
"""Commands whose time is mostly imports."""
PACKAGE = Path(__file__).resolve().parent.parent.parent
"""The folder of the package `evaluator`."""
_OFF = frozenset({"off", "0", "no", "false"})
_READ_BY_IMPORTS = re.compile(
    r"(PYTHON|OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|NUMEXPR_|BLIS_|TORCH|PYTORCH|ATEN_|ONEDNN_|DNNL_|CUDA|NVIDIA_|NCCL_|HF_"
    r"|HUGGINGFACE_|TRANSFORMERS_|DIFFUSERS_|DATASETS_|TOKENIZERS_|SAFETENSORS_|ACCELERATE_|TQDM_|LD_|GLIBC_|MALLOC_"
    r"|LC_|LANG|TZ$|HOME$|XDG_|TMPDIR$|TEMP$|TMP$|TERMINAL_WIDTH$|FORCE_COLOR$|PY_COLORS$|GITHUB_ACTIONS$|_?TYPER)"
)
"""Variables that Python, native libraries and packages read when they are loaded."""
_SECRET = re.compile(r"TOKEN|SECRET|KEY|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_STANDARD = 3
"""Descriptors that a command hands over."""


def minutes_of(environment: Mapping[str, str]) -> float | None:
    """Minutes without a command after which the daemon ends; None if there is to be none."""
    text = environment.get(SETTING, "").strip().lower()
    if text in _OFF or (not text and environment.get("CI")):
        return None
    try:
        minutes = float(text or IDLE_MINUTES)
    except ValueError:
        return None
    return minutes if 0 < minutes <= 24 * 60 else None


def may_use(*, command: str, arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a command may run in a fork of the daemon. What is unusual runs as without it."""
    return (
        command in COMMANDS
        and sys.platform == "linux"
        and minutes_of(environment) is not None
        # Libraries read it while they are imported.
        and "--verbose" not in arguments
        and not environment.get("PLANARENA_VERBOSE")
        # Suites of the user's own, whose code the stamp does not cover.
        and not environment.get("PLANARENA_SUITES")
        and not {"-h", "--help"} & set(arguments)
        and not sys.flags.interactive
        and sys.gettrace() is None
        and sys.getprofile() is None
        and all(Path(f"/proc/self/fd/{number}").exists() for number in range(_STANDARD))
        # Other descriptors stay here; a shell names them so: `plans:<(...)`.
        and not any(place in word for word in arguments for place in ("/dev/fd/", "/proc/"))
        and not signal.pthread_sigmask(signal.SIG_BLOCK, [])
    )


def environment_of_daemon(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that the daemon itself has: what loading reads, and nothing secret."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name == "PATH" or (_READ_BY_IMPORTS.match(name) and not _SECRET.search(name))
    }


def stamp(environment: Mapping[str, str]) -> str:
    """Identifies everything that a command in a fork of the daemon takes from the daemon and not from its caller.

    Two digests, joined by a dash: `code_stamp`, and one over the flags of the interpreter, the variables that libraries
    read while they are loaded, and limits, namespaces and rights of the process.
    """
    variables = environment_of_daemon(environment)
    # What a command starts is found in the caller's own.
    variables.pop("PATH", None)
    facts = [repr(sys.flags), repr(sys.warnoptions), repr(sys._xoptions), *_inherited(), repr(variables)]
    return f"{code_stamp()}-{_digest(facts)}"


def code_stamp() -> str:
    """SHA-256 over the files of this package with sizes and times, the folders of installed packages, and the
    interpreter."""
    return _digest([*_files_of(PACKAGE), sys.version, sys.executable, *_installed()])


def _digest(facts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()


def _files_of(folder: Path) -> Iterator[str]:
    pending = [str(folder)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        pending.append(entry.path)
                else:
                    status = entry.stat()
                    yield f"{entry.path} {status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _installed() -> Iterator[str]:
    """The folders of packages with the times at which something was installed or removed."""
    for folder in map(Path, sys.path):
        if folder.name in {"site-packages", "dist-packages"}:
            with suppress(OSError):
                yield f"{folder} {folder.stat().st_mtime_ns}"


def _inherited() -> Iterator[str]:
    """What a process hands to its children and cannot always take back."""
    yield f"{os.getresuid()} {os.getresgid()} {sorted(os.getgroups())} {os.nice(0)} {sorted(os.sched_getaffinity(0))}"
    limits = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    yield repr([resource.getrlimit(getattr(resource, name)) for name in limits])
    for namespace in _NAMESPACES:
        with suppress(OSError):
            yield str(Path(f"/proc/self/ns/{namespace}").readlink())
    with suppress(OSError):
        yield Path("/proc/self/cgroup").read_text(encoding="utf-8")
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        yield repr([line for line in status if line.startswith(("Cap", "NoNewPrivs", "Seccomp:"))])
    root = Path("/").stat()
    yield f"{root.st_dev} {root.st_ino} {stat.S_IMODE(root.st_mode)}"
