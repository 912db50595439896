"""`planarena`, the console script of the installed package, which dispatches commands.

It imports only the standard library, so that `--version`, `--help` and the error about a missing extra work in every
installation.
"""

import os
import re
import sys
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import NoReturn

from evaluator import __version__
from evaluator.cli.warm.calling import Call
from evaluator.core.commands.table import COMPLETE, listed, top_level
from evaluator.core.naming import similar_names
from evaluator.core.process import settle_streams
from evaluator.core.provenance import SHIPPED, version_line

OWN_PACKAGES = ("evaluator", "gpu_jobs", "leaderboard")
WORKER, SITE, VIEW = "worker", "site", "view"
PROGRAMS: Mapping[str, str] = {
    "view": "Show reports of evaluate in a browser, with the pages of a site, or write them as files.",
    "worker": "A worker that evaluates for a site.",
    "manage": "Django's management commands.",
    "demo": "The whole arena on this machine; --port chooses its port, --once ends after its evaluations.",
}
"""Commands that are programs of their own, each with its help."""
CHECKOUT: Mapping[str, str] = {
    "test": "Install what the tests need, then run linters, type checks and all tests.",
    "dev": "The site for development: reloads, with Vite's development server.",
    "wheel": "Build the wheel of planarena into a folder; by default: wheels.",
    "lock": "Write the hashes of all packages after a change of pyproject.toml or constraints.txt.",
}
"""Commands of a checkout. All but `dev` are handled by its script and reach this module only if mistyped."""
EXTRA_OF: Mapping[str, str] = {
    **{name: entry.extra for name, entry in top_level().items()},
    "view": VIEW,
    "worker": WORKER,
    "manage": SITE,
    "demo": SITE,
    "dev": SITE,
}
"""The extra of pyproject.toml that a command requires. A command of the library may need only a part of it, depending
on its arguments: it is run, and reports a missing package when it needs it."""
_ALSO: Mapping[str, str] = {"demo": WORKER, "dev": WORKER}
"""A second extra, for commands that start workers."""
_SECTIONS: Mapping[str, str] = {
    "client": "With a site",
    "plans": "The library",
    "agents": "With agents",
    "worker": "What executes plans",
    "view": "Pages of results",
    "train": "Training",
    "site": "A site",
}
_IS_CHECKOUT = not SHIPPED.is_dir()
_BAD_USAGE = 2
_WORTH_REPEATING = (None, 0, 3)
"""Exit codes of commands after which another one is likely."""
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def main() -> None:
    """Entry point of the console script."""
    settle_streams()
    sys.exit(run(sys.argv[1:]))


def usage(*, is_checkout: bool = _IS_CHECKOUT) -> str:
    """The output of `planarena --help`."""
    summaries = {**{name: entry.summary for name, entry in top_level().items()}, **PROGRAMS}
    sections = [
        f"{title} (planarena[{extra}])\n"
        + listed((name, summary) for name, summary in summaries.items() if EXTRA_OF[name] == extra)
        for extra, title in _SECTIONS.items()
    ]
    if is_checkout:
        sections.append("This checkout\n" + listed(CHECKOUT.items()))
    head = f"Usage: {'./' if is_checkout else ''}planarena COMMAND        each command has --help\n"
    return "\n".join([head, *sections, listed([("--version", "Version and commit.")])])


def run(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> int:
    """Run one command and return its exit code.

    `environment` must be the process's own, from which Django's settings read.
    """
    if COMPLETE in environment:
        _library(arguments)
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        sys.stdout.write(usage())
        return 0 if arguments else _BAD_USAGE
    if arguments[0] in {"-V", "--version", "version"}:
        sys.stdout.write(version_line(__version__) + "\n")
        return 0
    if sentence := refusal(arguments):
        return _fail(sentence)
    command = _command(arguments)
    extras = [EXTRA_OF[command], *([_ALSO[command]] if command in _ALSO else [])]
    if (command in PROGRAMS or command == "dev") and (missing := missing_packages(extras)):
        return _fail(_sentence(command=command, extras=extras, missing=missing))
    try:
        return _dispatch(command=command, arguments=arguments, environment=environment)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in OWN_PACKAGES:
            raise
        return _fail(_sentence(command=command, extras=extras, missing=[package]))


def check() -> None:
    """Exit with an error if there is no such command; called by the script of a checkout before it installs
    anything."""
    if sentence := refusal(sys.argv[1:], known=[*EXTRA_OF, *CHECKOUT]):
        sys.exit(_fail(sentence))


def refusal(arguments: Sequence[str], *, known: Collection[str] = tuple(EXTRA_OF)) -> str:
    """An error if there is no such command, with suggestions; empty if there is."""
    command = _command(arguments)
    if command in known:
        return ""
    similar = similar_names(command, [*EXTRA_OF, *(CHECKOUT if _IS_CHECKOUT else ())], most=3)
    hint = f"Did you mean {' or '.join(map(repr, similar))}? " if similar else ""
    return f"there is no command {command or arguments[0]!r}. {hint}planarena --help lists them."


def _command(arguments: Sequence[str]) -> str:
    return next((word for word in arguments if not word.startswith("-")), "")


def _dispatch(*, command: str, arguments: Sequence[str], environment: MutableMapping[str, str]) -> int:
    """Dispatch to the part that implements the command, and load only that."""
    if not _IS_CHECKOUT:
        # For child processes: `python -m` would import modules from the working directory first.
        environment.setdefault("PYTHONSAFEPATH", "1")
    if command == "worker":
        # As `python -m gpu_jobs`, under which a worker restarts itself without its secrets.
        os.execv(sys.executable, [sys.executable, "-m", "gpu_jobs", *arguments])  # noqa: S606 - our own program
    if command == "view":
        from leaderboard.evaluations.web.reports.command import main as view

        view([word for word in arguments if word != command])
    if EXTRA_OF[command] != SITE:
        call = Call.of(command=command, arguments=arguments, environment=environment)
        if call is not None and (code := call.run()) is not None:
            return code
        try:
            _library(arguments)
        except SystemExit as end:
            if call is not None and end.code in _WORTH_REPEATING:
                call.start_daemon()
            raise
    from leaderboard.platform.managing import run as manage

    environment.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.platform.settings")
    environment["PLANARENA_PROGRAM"] = "planarena manage" if command == "manage" else "planarena"
    if command != "manage":
        environment["PLANARENA_DEMO"] = "1"
    return manage(arguments[1:] if command == "manage" else arguments)


def _library(arguments: Sequence[str]) -> NoReturn:
    from evaluator.cli.main import main as library

    library(arguments)


def missing_packages(extras: Sequence[str]) -> list[str]:
    """Packages that these extras of the installed planarena require and that are missing; [] in a checkout."""
    # Imported here: it takes longer than all else that a warm command needs of this module.
    from importlib import metadata

    try:
        required = metadata.requires("planarena") or []
    except metadata.PackageNotFoundError:
        return []
    pending, seen = list(extras), set[str]()
    missing = []
    while pending:
        extra = pending.pop(0)
        seen.add(extra)
        for requirement in required:
            marked = _EXTRA.search(requirement)
            if (marked[1] if marked else "") not in {extra, ""}:
                continue
            match = _NAME.match(requirement)
            name = match[0] if match else requirement
            if name == "planarena":
                inner = requirement.partition("[")[2].partition("]")[0]
                pending += [other for other in inner.split(",") if other not in seen]
                continue
            try:
                metadata.version(name)
            except metadata.PackageNotFoundError:
                missing.append(name)
    return list(dict.fromkeys(missing))


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
