"""The wheel: what is in it, what it says it needs, and that its commands find what they need outside a checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes

import pytest
from packaging.requirements import Requirement

from leaderboard.wiring.console import EXTRA_OF, usage
from tests.packaging.conftest import ROOT

pytestmark = pytest.mark.full

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TORCH = {"torch", "transformers", "diffusers", "torchmetrics", "bert-score"}
EMPTY = "import sys; sys.path.insert(0, sys.argv.pop(1)); from leaderboard.wiring.console import main; main()"


@pytest.fixture(scope="module")
def content(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def requirements(content):
    """Requirements by extra, "" being those of every installation."""
    (name,) = [name for name in content if name.endswith(".dist-info/METADATA")]
    found = {}
    for text in message_from_bytes(content[name]).get_all("Requires-Dist"):
        one = Requirement(text)
        extra = re.search(r'extra == "([\w-]+)"', str(one.marker))
        found.setdefault(extra[1] if extra else "", []).append(one)
    return found


def everything(requirements, extra):
    """Names of the packages that an extra needs, with those of the extras that it includes."""
    found = set()
    for one in requirements[""] + requirements[extra]:
        if one.name == "planarena":
            found |= set().union(*(everything(requirements, inner) for inner in one.extras))
        else:
            found.add(one.name)
    return found


def tracked(*folders):
    done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def without_packages(unpacked, *arguments, folder, **environment):
    """The console script in an interpreter that has only the wheel: no package besides the standard library."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", EMPTY, str(unpacked), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"], **environment},
    )  # fmt: skip


def test_it_holds_every_file_of_the_packages_and_none_of_anything_else(content):
    ours = {path for path in tracked("evaluator", "gpu_jobs", "leaderboard") if (ROOT / path).is_file()}
    # Settings of the linter are for developers.
    assert ours - set(content) == {"leaderboard/ruff.toml"}
    others = {name.split("/")[0] for name in content}
    assert {name for name in others if not name.endswith(".dist-info")} == {
        "evaluator",
        "gpu_jobs",
        "leaderboard",
        "planarena.py",
    }


def test_it_holds_what_the_site_reads_beside_the_packages(content):
    shipped = {name.removeprefix("leaderboard/shipped/") for name in content if "leaderboard/shipped/" in name}
    assert tracked("docs", "examples", "frontend/templates") - shipped == set()
    built = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "frontend" / "dist").rglob("[!.]*") if path.is_file()
    }
    assert {"frontend/dist/app.js", "frontend/dist/app.css"} <= built
    assert built - shipped == set()
    assert content["evaluator/shipped/package-lock.json"] == (ROOT / "frontend" / "package-lock.json").read_bytes()


def test_it_holds_no_secrets_and_nothing_of_the_developers_machine(content):
    names = " ".join(content)
    assert not re.search(r"node_modules|__pycache__|\.pyc|\.env|/\.(?!dist-info)|\btests/", names)
    assert not [name for name in content if str(ROOT).encode() in content[name]]


def test_every_extra_of_the_project_is_offered_and_the_base_is_small(requirements):
    assert {"client", "plans", "worker", "site", "train"} <= set(requirements)
    assert {one.name for one in requirements[""]} == {"pydantic", "rich", "typer"}
    assert everything(requirements, "client") == {"pydantic", "rich", "typer", "httpx", "h11", "cryptography", "numpy"}


def test_a_site_needs_no_torch_and_a_worker_no_django(requirements):
    assert not TORCH & everything(requirements, "site")
    assert everything(requirements, "worker") >= TORCH
    assert not {"django", "celery", "psycopg", "kubernetes"} & everything(requirements, "worker")
    assert everything(requirements, "train") == everything(requirements, "worker") | {"onnx", "peft"}


def test_the_version_is_that_of_the_commit_it_was_built_from_wherever_it_is_installed(unpacked, tmp_path):
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    facts = json.loads((unpacked / "evaluator" / "shipped" / "commit.json").read_text())
    assert facts["commit"] == head
    # Within the repository of another project, whose commit it is not.
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    done = without_packages(unpacked, "--version", folder=tmp_path)
    changed = ", with changes" if facts["dirty"] else ""
    assert done.stdout == f"planarena {PROJECT['version']} (commit {head[:12]}{changed})\n", done.stderr


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("submit", "client"), ("verify", "client"), ("score-plans", "plans"), ("evaluate", "worker"),
        ("view", "view"), ("worker", "worker"), ("manage", "site"), ("train", "train"), ("demo", "site,worker"),
    ],
)  # fmt: skip
def test_a_command_whose_extra_is_missing_names_it_in_one_sentence(unpacked, tmp_path, command, extra):
    done = without_packages(unpacked, command, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"planarena: planarena {command} needs packages that are not installed (")
    assert line.endswith(f"pip install 'planarena[{extra}]'")


def test_help_lists_every_command_and_needs_no_package(unpacked, tmp_path):
    done = without_packages(unpacked, "--help", folder=tmp_path)
    printed = usage(is_checkout=False)
    assert (done.returncode, done.stdout) == (0, printed)
    words = set(re.findall(r"[\w-]+", printed))
    assert set(EXTRA_OF) - words == {"dev"}, "dev is for a checkout: it builds the front end"
    assert max(map(len, printed.splitlines())) <= 80


def test_an_installed_site_finds_its_pages_and_keeps_its_data_in_the_working_directory(unpacked, tmp_path):
    program = """
from leaderboard.platform import settings
from leaderboard.help.documents.chapters import DOCS, example
(templates,), (static,) = settings.TEMPLATES[0]["DIRS"], settings.STATICFILES_DIRS
for path in (templates / "base.html", static / "app.js", DOCS / "install.md", example("planner_server.py")):
    assert path.is_file(), path
print(settings.DATA_DIR)
"""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={
            "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(unpacked), *packages]),
            "DJANGO_SETTINGS_MODULE": "leaderboard.platform.settings", "PLANARENA_DEMO": "1",
            "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path.resolve() / ".data")]


def test_modules_of_the_working_directory_are_not_taken_for_the_installed_ones(unpacked, tmp_path):
    (tmp_path / "gpu_jobs").mkdir()
    (tmp_path / "gpu_jobs" / "__init__.py").touch()
    (tmp_path / "gpu_jobs" / "__main__.py").write_text("print('not ours')")
    packages = [path for path in sys.path if path.endswith("site-packages")]
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from leaderboard.wiring.console import main; main()", "worker", "--help"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(unpacked), *packages])},
    )  # fmt: skip
    assert (done.returncode, "--memory-budget" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_wheel_without_the_front_end_is_refused(tmp_path):
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("evaluator", "gpu_jobs", "leaderboard"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("planarena: frontend/dist has no app.js: build the front end before")
