"""The wheel's build. What pyproject.toml cannot say: what the site reads outside the packages, and the commit.

`./planarena wheel` builds the front end first; `pip wheel .` needs it to be built.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
SITE_FILES = ("docs", "examples", "frontend/dist", "frontend/templates")
"""Folders that the site reads. They keep their places below `leaderboard/shipped`."""
TEMPLATE = Path("examples/suite_plug_in")
"""What `planarena new suite` writes, with other names."""
LOCK_OF_FRONT_END = "frontend/package-lock.json"


class BuildWithResources(build_py):
    """Packages, with the folders and facts that a checkout has beside them."""

    def run(self) -> None:
        """Build, then copy; an editable installation reads the checkout."""
        super().run()
        if self.editable_mode:
            return
        if not (ROOT / "frontend" / "dist" / "app.js").is_file():
            raise SystemExit(
                "planarena: frontend/dist has no app.js: build the front end before the wheel, with ./planarena wheel "
                "or with `npm ci && npm run build` in frontend/."
            )
        built = Path(self.build_lib)
        for name in SITE_FILES:
            shutil.copytree(
                ROOT / name,
                built / "leaderboard" / "shipped" / name,
                ignore=shutil.ignore_patterns(".*", "__pycache__"),
            )
        library = built / "evaluator" / "shipped"
        library.mkdir(parents=True)
        shutil.copy(ROOT / LOCK_OF_FRONT_END, library)
        shutil.copytree(ROOT / TEMPLATE, library / TEMPLATE.name, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        (library / "commit.json").write_text(json.dumps(commit_facts()) + "\n", encoding="utf-8")


def commit_facts() -> dict[str, str | bool | None]:
    """The commit that is built and whether it was changed; None where neither git nor PLANARENA_COMMIT tells."""
    if commit := os.environ.get("PLANARENA_COMMIT"):
        return {"commit": commit, "dirty": False}
    head = _git("rev-parse", "HEAD")
    return {"commit": head, "dirty": None if head is None else bool(_git("status", "--porcelain"))}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - fixed program, no user input
            ["git", "-C", str(ROOT), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


# Elsewhere than in the checkout: files of an earlier build would end up in the wheel.
scratch = tempfile.TemporaryDirectory(prefix="planarena-build-")
setup(
    cmdclass={"build_py": BuildWithResources},
    options={"build": {"build_base": scratch.name}, "egg_info": {"egg_base": scratch.name}},
)
