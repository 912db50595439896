"""`planarena`, the console script of the installed package: sends each command to the part that has it.

Importing this needs no package besides the standard library, so that `--version`, `--help` and the sentence about a
missing extra work in every installation.
"""

import os
import re
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from importlib import metadata
from typing import NoReturn

from evaluator import __version__
from evaluator.provenance import SHIPPED, version_line

OWN_PACKAGES = ("evaluator", "gpu_jobs", "leaderboard")
CLIENT, PLANS, WORKER, SITE, TRAIN = "client", "plans", "worker", "site", "train"
EXTRA_OF: Mapping[str, str] = {
    **dict.fromkeys(("submit", "status", "cancel", "results", "visibility", "try-endpoint", "verify"), CLIENT),
    **dict.fromkeys(("suites", "planners", "tools", "profiles", "sbom"), PLANS),
    **dict.fromkeys(("score-plans", "score-decompositions", "judge-plans"), PLANS),
    **dict.fromkeys(("evaluate", "validity", "bench", "lilliput"), WORKER),
    "worker": WORKER,
    "train": TRAIN,
    "manage": SITE,
    "demo": SITE,
    "dev": SITE,
}
"""The extra of pyproject.toml that has what a command needs."""
_ALSO: Mapping[str, str] = {"demo": WORKER, "dev": WORKER}
"""A second one: these start workers too."""
_LAZY = frozenset(
    {*(name for name, extra in EXTRA_OF.items() if extra in {CLIENT, PLANS, TRAIN}), "evaluate", "lilliput"}
)
"""Commands that need only a part of their extra, depending on their arguments: they run, and what is missing is named
when it is missed. `planarena submit` needs no numpy, and judging a plan no torch."""
USAGE = """\
Usage: planarena COMMAND        each command has --help

With a site (planarena[client])
  submit, status, cancel, results, visibility, try-endpoint, verify

The library (planarena[plans]; what executes plans: planarena[worker])
  suites, planners, tools, profiles, sbom
  score-plans, score-decompositions, judge-plans
  evaluate, validity, bench, lilliput
  train                         planarena[train]

A worker of a site (planarena[worker])
  worker --url URL

A site (planarena[site])
  manage ...                    Django's management commands
  demo [--once]                 the whole arena; needs planarena[worker] too

  --version                     version and commit
"""
_BAD_USAGE = 2
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> int:
    """Run one command and return its exit code.

    `environment` must be the process's own, from which Django's settings read.
    """
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        sys.stdout.write(USAGE)
        return 0 if arguments else _BAD_USAGE
    if arguments[0] in {"-V", "--version", "version"}:
        sys.stdout.write(version_line(__version__) + "\n")
        return 0
    command = next((word for word in arguments if not word.startswith("-")), "")
    if command not in EXTRA_OF:
        return _fail(f"there is no command {command or arguments[0]!r}. planarena --help lists them.")
    extras = [EXTRA_OF[command], *([_ALSO[command]] if command in _ALSO else [])]
    if command not in _LAZY and (missing := missing_packages(extras)):
        return _fail(_sentence(command=command, extras=extras, missing=missing))
    try:
        return _dispatch(command=command, arguments=arguments, environment=environment)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in OWN_PACKAGES:
            raise
        return _fail(_sentence(command=command, extras=extras, missing=[package]))


def _dispatch(*, command: str, arguments: Sequence[str], environment: MutableMapping[str, str]) -> int:
    """Hand over to the part that has the command. Each loads only what it needs."""
    extra = EXTRA_OF[command]
    if SHIPPED.is_dir():
        # For the processes that this one starts: `python -m` would look for modules in the working directory first.
        environment.setdefault("PYTHONSAFEPATH", "1")
    if extra == CLIENT:
        from evaluator.client.__main__ import app

        app(args=list(arguments), prog_name="planarena")
    elif command == "worker":
        _become_worker(arguments)
    elif extra == SITE:
        from leaderboard.site.managing import run as manage

        environment.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.site.settings")
        environment["PLANARENA_PROGRAM"] = "planarena manage" if command == "manage" else "planarena"
        if command != "manage":
            environment["PLANARENA_DEMO"] = "1"
        return manage(arguments[1:] if command == "manage" else arguments)
    else:
        from evaluator.cli.main import main as library

        library()
    return 0


def _become_worker(arguments: Sequence[str]) -> NoReturn:
    """Go on as `python -m gpu_jobs`: a worker starts itself again without its secrets, by that name."""
    os.execv(sys.executable, [sys.executable, "-m", "gpu_jobs", *arguments])  # noqa: S606 - our own program


def missing_packages(extras: Sequence[str]) -> list[str]:
    """Packages that these extras of the installed planarena need and that are not installed; [] in a checkout."""
    try:
        required = metadata.requires("planarena") or []
    except metadata.PackageNotFoundError:
        return []
    wanted, seen = list(extras), set[str]()
    missing = []
    while wanted:
        extra = wanted.pop(0)
        seen.add(extra)
        for requirement in required:
            marked = _EXTRA.search(requirement)
            if (marked[1] if marked else "") not in {extra, ""}:
                continue
            name = _name_of(requirement)
            if name == "planarena":
                inner = requirement.partition("[")[2].partition("]")[0]
                wanted += [one for one in inner.split(",") if one not in seen]
            elif not _installed(name):
                missing.append(name)
    return list(dict.fromkeys(missing))


def _name_of(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else requirement


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _sentence(*, command: str, extras: Sequence[str], missing: Sequence[str]) -> str:
    shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    return (
        f"planarena {command} needs packages that are not installed ({shown}). Install them with: "
        f"pip install 'planarena[{','.join(extras)}]'"
    )


def _fail(sentence: str) -> int:
    sys.stderr.write(f"planarena: {sentence}\n")
    return _BAD_USAGE


if __name__ == "__main__":
    main()
