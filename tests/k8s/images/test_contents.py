"""What an image copies and installs is enough for what is started from it: its own files, and no package besides."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.k8s.images.dockerfiles import IMAGES, ROOT, locks_of, of, stages

pytestmark = pytest.mark.full

REFUSING = """
import sys

REFUSED = frozenset({refused})


class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"{{name}} is not in the image", name=name)


sys.meta_path.insert(0, Refusing())
"""
SITE = {
    "PLANARENA_SECRET_KEY": "k" * 50, "PLANARENA_WEBHOOK_KEY": "w" * 50, "PLANARENA_ALLOWED_HOSTS": "arena.example",
    "PLANARENA_EMAIL_VERIFICATION": "none", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "BROKER_URL": "redis://127.0.0.1:1/0", "PLANARENA_KUBERNETES_POOLS": '[{"name": "cpu"}]',
    "PLANARENA_LAUNCHER": "leaderboard.queue.launching.kubernetes_launcher",
}  # fmt: skip
COMMANDS = {
    "web": [
        ["manage.py", "check"],
        ["manage.py", "collectstatic", "--no-input", "--verbosity=0"],
        ["manage.py", "watch_kubernetes", "--help"],
        ["-m", "celery", "-A", "leaderboard.platform.celery:app", "report"],
        ["-c", "import leaderboard.wiring.asgi, leaderboard.wiring.urls"],
        ["-m", "evaluator.sandbox.programs.serving", "--help"],
        ["-m", "evaluator", "sbom"],
        ["-m", "leaderboard.platform.healthcheck"],
    ],
    "worker": [
        ["-m", "gpu_jobs", "worker", "--help"],
        ["-m", "gpu_jobs.model_server.serving", "--help"],
        ["-c", "import gpu_jobs.runner, gpu_jobs.worker, evaluator.episodes.execution"],
        ["-m", "evaluator", "sbom"],
    ],
}
NOT_HEALTHY = ["-m", "leaderboard.platform.healthcheck"]
"""Ends with 1 here, where no site answers."""


@pytest.fixture(scope="module", params=IMAGES, ids=lambda path: path.stem)
def image(request, tmp_path_factory):
    """Which image, and its folder /app with a hook that refuses packages that it does not install."""
    folder = tmp_path_factory.mktemp(request.param.stem)
    for rest in of(stages(request.param)[-1], "COPY"):
        if "--from=" not in rest:
            *sources, target = rest.split()
            for source in sources:
                copy(ROOT / source, folder / target)
    hook = folder / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(REFUSING.format(refused=sorted(not_installed(request.param))))
    return request.param, folder


def copy(source: Path, target: Path) -> None:
    """As COPY does: a folder's content into a folder."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), copy_function=link)
    else:
        # Into a folder, as all that the images copy by name.
        target.mkdir(parents=True, exist_ok=True)
        link(source, target / source.name)


def link(source: Path, target: Path) -> None:
    """A file under another name, or a copy where that is on another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def not_installed(dockerfile: Path) -> set[str]:
    """Modules of packages that are here, and not in the image."""
    text = "\n".join(path.read_text() for path in locks_of(dockerfile))
    locked = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", text, re.M)}
    found = {"leaderboard"} if dockerfile.stem == "worker" else set()
    for module, packages in metadata.packages_distributions().items():
        # What an editable installation has of ours is copied.
        if not {canonicalize_name(name) for name in packages} & {*locked, "planarena"}:
            found.add(module)
    return found


def test_what_is_started_needs_nothing_else(image, tmp_path):
    dockerfile, folder = image
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(folder / "hook"), str(folder)]),
        "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path), "PLANARENA_DATA": str(tmp_path), "PLANARENA_COMMIT": "c",
    }  # fmt: skip
    for command in COMMANDS[dockerfile.stem]:
        done = subprocess.run(
            [sys.executable, *command], cwd=folder, env=environment | (SITE if dockerfile.stem == "web" else {}),
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert done.returncode == (command == NOT_HEALTHY), f"{command}: {done.stderr[-3000:]}"
        assert "ModuleNotFoundError" not in done.stderr, f"{command}: {done.stderr[-3000:]}"
        if command[-1] == "sbom":
            assert json.loads(done.stdout)["bomFormat"] == "CycloneDX"
