"""`./planarena test`: sets up what the tests need, then runs every check. CI runs this and nothing else.

Each check runs even if another one failed, so that one run shows everything; the exit code is 0 only if all passed.
`--full` runs the tests that are marked `full` too (docs/extending.md#testing). Other arguments are for pytest, and
then only pytest runs: `./planarena test tests/evaluator -k engine`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PROCESSES = min(4, (os.cpu_count() or 1) + 1)
"""Of pytest: one more than there are cores, since the tests with real sites wait much of their time."""
Check = tuple[str, list[str]]
"""A name and a command."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main(arguments: Sequence[str]) -> int:
    """Run the checks and return the exit code."""
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    browser = find_or_install_browser()
    if browser is None:
        print(
            "planarena: the browser tests need Chromium. It was not found, and neither Debian's package nor "
            "Playwright's own could be installed. Install Chromium, or set CHROMIUM_PATH to its program.",
            file=sys.stderr,
        )
        return 1
    os.environ["CHROMIUM_PATH"] = browser
    if not find_or_install_redis():
        print(
            "planarena: the tests of the queue need the program redis-server. It was not found, and Debian's package "
            "could not be installed. Install Redis 6 or newer, so that redis-server is on the PATH.",
            file=sys.stderr,
        )
        return 1
    find_or_install_bubblewrap()
    keep_bytecode()
    pytest = [sys.executable, "-m", "pytest"]
    if set(arguments) - {"--full"}:
        return run_all([("pytest", [*pytest, *arguments])])
    # Else each process would have as many threads as there are cores, which wait for each other most of the time.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // PROCESSES)))
    checks = [
        ("lint", ["ruff", "check", "."]),
        ("format", ["ruff", "format", "--check", "."]),
        ("types", ["mypy"]),
        ("import contracts", ["lint-imports"]),
        ("migrations", [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"]),
        ("front-end types", ["npm", "--prefix", "frontend", "run", "--silent", "check"]),
    ]
    # The longest groups come first as they are collected (`conftest.py`).
    tests = ("pytest", [*pytest, "-n", str(PROCESSES), "--no-loadscope-reorder", *arguments])
    return run_all([tests], beside=checks)


def keep_bytecode() -> None:
    """Compile our modules once. Hundreds of sites, workers and commands are started, some in environments that would
    have each of them compile everything again."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    packages = [str(ROOT / name) for name in ("evaluator", "gpu_jobs", "leaderboard")]
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "0", *packages], check=False)


def run_all(checks: Sequence[Check], *, beside: Sequence[Check] = ()) -> int:
    """Run each check, print how it went and how long it took, and return 1 if any failed.

    Args:
        checks: one after the other, with their output as it comes.
        beside: one after the other beside them; the output of those that fail comes at the end.
    """
    with ThreadPoolExecutor(1) as thread:
        others = [thread.submit(run, check, quiet=True) for check in beside]
        failed = [name for name, code in (run(check) for check in checks) if code]
        failed += [name for name, code in (other.result() for other in others) if code]
    print(f"\n== failed: {', '.join(failed)}" if failed else "\n== all checks passed", flush=True)
    return 1 if failed else 0


def run(check: Check, *, quiet: bool = False) -> tuple[str, int]:
    """Run a check, and return its name and exit code."""
    name, command = check
    if not quiet:
        print(f"\n== {name}: {' '.join(Path(part).name for part in command[:4])}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="planarena-checks-") as data:
        environment = os.environ | {"PLANARENA_DATA": data, "PLANARENA_DEMO": "1"} if name == "migrations" else None
        done = subprocess.run(
            command, cwd=ROOT, env=environment, check=False, text=True,
            stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
        )  # fmt: skip
    verdict = "ok" if done.returncode == 0 else f"FAILED (exit code {done.returncode})"
    output = f"{done.stdout}" if quiet and done.returncode else ""
    print(f"{output}\n== {name}: {verdict}, {time.monotonic() - started:.0f} s", flush=True)
    return name, done.returncode


def find_or_install_browser() -> str | None:
    """Path of a Chromium: the machine's, else Debian's package when root, else Playwright's own; None if all fail."""
    found = find_browser()
    if found is None and install_debian("chromium"):
        found = find_browser()
    if found is None:
        print("== installing Chromium (Playwright's own)", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
        found = playwrights_own()
    return found


def find_or_install_redis() -> bool:
    """Whether there is a `redis-server` to start: the machine's, else Debian's package when root."""
    if shutil.which("redis-server") is None:
        install_debian("redis-server")
    return shutil.which("redis-server") is not None


def find_or_install_bubblewrap() -> None:
    """See that the sandbox of submitted models is tested with bubblewrap too; without it, they have another one."""
    if sys.platform == "linux" and shutil.which("bwrap") is None:
        install_debian("bubblewrap")


def install_debian(package: str) -> bool:
    """Install a package of Debian's, and say whether that was tried at all: it takes root and apt."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print(f"== installing {package} (Debian's package)", flush=True)
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", package]):
        subprocess.run(
            command,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.DEVNULL,
            check=False,
        )
    return True


def find_browser() -> str | None:
    """A Chromium that is on the machine."""
    named = os.environ.get("CHROMIUM_PATH")
    if named and Path(named).exists():
        return named
    on_path = (shutil.which(name) for name in BROWSERS)
    return next((path for path in on_path if path), None) or playwrights_own()


def playwrights_own() -> str | None:
    """The browser that Playwright installed for itself, if it did."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
