"""Suites of other packages: found by entry point, refused where names clash, checked, and made from a template."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suites import registry
from evaluator.core.suites.registry import package_with, refused_packages, suite_names, suite_of
from tests.evaluator.workbench.test_own_tasks import made
from tests.processes import ROOT

EXAMPLE = ROOT / "examples" / "suite_plug_in"


@pytest.fixture(autouse=True)
def registry_of_this_test(monkeypatch):
    yield
    monkeypatch.undo()
    registry.forget()


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory) -> Path:
    """A folder with the example, built as a wheel and installed by pip, without the network."""
    folder = tmp_path_factory.mktemp("packages")
    source = shutil.copytree(EXAMPLE, folder / "source")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index", "--no-cache-dir"]
    build = [*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(build, check=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", *offline, "--target", str(folder / "site"), str(wheel)], check=True, timeout=120)
    return folder / "site"


def planarena(*arguments: str, packages: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    command = [sys.executable, "-m", "evaluator", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=ROOT, check=False)


def install(folder: Path, *, monkeypatch, name: str, module: str, code: str) -> None:
    """Put a package with one module and its entry point on the path of this process."""
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(code)
    facts = folder / f"{name}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[planarena.suites]\n{name} = {module}\n")
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(folder)
    registry.forget()


def sums_called(slug: str) -> str:
    """The module of a suite with this name."""
    return (
        "from dataclasses import replace\nfrom tests.toy_suite import SUITES as OTHERS, sums\n"
        f"SUITES = (replace(OTHERS[0], slug={slug!r}, build=lambda: replace(sums(), slug={slug!r})),)\n"
    )


class TestInstalledWheel:
    def test_it_is_listed_checked_and_evaluated(self, site_packages):
        listed = json.loads(planarena("suites", "list", "--json", packages=site_packages).stdout)
        assert [one["package"] for one in listed if one["slug"] == "parcels"] == ["parcels-suite 1.0.0"]
        checked = planarena("check", "suite", "parcels", "--json", packages=site_packages)
        found = json.loads(checked.stdout)
        assert checked.returncode == 0, found
        assert found["package"]["name"] == "parcels-suite"
        assert {one["check"] for one in found["checks"]} >= {
            "gold perfect",
            "floors",
            "determinism",
            "leakage",
            "licence",
        }
        run = planarena("evaluate", "--suite", "parcels", "--planner", "gold", "--json", packages=site_packages)
        assert json.loads(run.stdout)["summary"]["metrics"]["same"]["mean"] == 1.0


class TestClashes:
    def test_a_name_of_this_library_is_refused_and_the_library_s_suite_stays(self, tmp_path, monkeypatch):
        digest = suite_of("toolmini").digest
        install(tmp_path, monkeypatch=monkeypatch, name="copycat", module="copycat_suite", code=sums_called("toolmini"))
        assert refused_packages() == (
            'The suites of copycat 1.0 are left out: PlanArena has a suite "toolmini" too; uninstall or rename one.',
        )
        assert suite_of("toolmini").digest == digest

    def test_of_two_packages_with_one_name_neither_is_used(self, tmp_path, monkeypatch):
        for name in ("one", "two"):
            code = sums_called("shared")
            install(tmp_path / name, monkeypatch=monkeypatch, name=name, module=f"{name}_suite", code=code)
        assert "shared" not in suite_names()
        with pytest.raises(LookupError, match='has a suite "shared" too; uninstall or rename one'):
            suite_of("shared")

    def test_a_module_named_in_the_environment_comes_first(self, tmp_path, monkeypatch):
        install(tmp_path, monkeypatch=monkeypatch, name="late", module="late_suite", code=sums_called("sums"))
        assert package_with("sums") is not None
        monkeypatch.setenv(SUITES_VARIABLE, "tests.toy_suite")
        registry.forget()
        assert package_with("sums") is None
        assert len(refused_packages()) == 1

    @pytest.mark.parametrize(
        ("code", "why"),
        [
            ("import nothing_like_it\n", "broken_suite cannot be imported: ModuleNotFoundError"),
            ("raise SystemError('no')\n", "cannot be imported: SystemError: no"),
            ("SUITES = ['sums']\n", "has no tuple SUITES of evaluator.core.suites.registry.Entry"),
            (sums_called("Big Sums"), "the suite's name 'Big Sums' must be 2 to 40 lower-case letters"),
        ],
    )
    def test_a_package_that_cannot_be_used_is_named_and_others_work(self, tmp_path, monkeypatch, code, why):
        install(tmp_path, monkeypatch=monkeypatch, name="broken", module="broken_suite", code=code)
        (sentence,) = refused_packages()
        assert sentence.startswith("broken 1.0")
        assert why in sentence
        assert "toolmini" in suite_names()
        with pytest.raises(LookupError, match=r"broken 1\.0"):
            suite_of("broken")

    def test_the_list_of_suites_says_which_package_cannot_be_used_and_shows_the_others(self, tmp_path, monkeypatch):
        install(tmp_path, monkeypatch=monkeypatch, name="broken", module="broken_suite", code="SUITES = ['sums']\n")
        done = CliRunner().invoke(app, ["suites", "list"])
        assert done.exit_code == 0
        assert "has no tuple SUITES of evaluator.core.suites.registry.Entry" in done.stderr
        assert "toolmini" in done.stdout


class TestTemplate:
    def test_it_passes_under_its_new_name(self, tmp_path):
        folder = tmp_path / "night-shifts"
        done = CliRunner().invoke(app, ["new", "suite", str(folder)])
        assert done.exit_code == 0, done.output
        assert not [path for path in folder.rglob("*") if path.is_file() and "arcels" in path.read_text()]
        project = (folder / "pyproject.toml").read_text()
        assert 'night-shifts = "night_shifts_suite.suite"' in project
        environment = {"PYTHONPATH": str(folder / "src"), SUITES_VARIABLE: "night_shifts_suite.suite"}
        command = [sys.executable, "-m", "evaluator", "check", "suite", "night-shifts", "--json"]
        checked = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, cwd=ROOT,
            check=False,
        )  # fmt: skip
        assert checked.returncode == 0, checked.stdout + checked.stderr

    def test_runs_of_the_workbench_become_a_private_suite_that_is_evaluated(self, tmp_path):
        task, folder = tmp_path / "task.json", tmp_path / "mine"
        task.write_text(made())
        other = tmp_path / "other.json"
        other.write_text(made(request="Another title for a.png"))
        done = CliRunner().invoke(app, ["new", "suite", str(folder), "--task", str(task), "--task", str(other)])
        assert done.exit_code == 0, done.output
        environment = {"PYTHONPATH": str(folder / "src"), SUITES_VARIABLE: "mine_suite.suite"}
        command = [sys.executable, "-m", "evaluator", "evaluate", "--suite", "mine", "--json", "--planner"]
        means = []
        for planner in ("gold", "no-op"):
            run = subprocess.run(
                [*command, planner], capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
                cwd=ROOT, check=False,
            )  # fmt: skip
            assert run.returncode == 0, run.stdout + run.stderr
            means.append(json.loads(run.stdout)["summary"]["metrics"]["same"]["mean"])
        assert means == [1.0, 0.0]

    def test_a_file_that_is_no_task_is_refused_and_writes_nothing(self, tmp_path):
        task = tmp_path / "task.json"
        task.write_text(made(suite="no-such"))
        done = CliRunner().invoke(app, ["new", "suite", str(tmp_path / "mine"), "--task", str(task)])
        assert done.exit_code == 2
        assert "there is no suite 'no-such' here" in " ".join(done.stderr.split())
        assert [path.name for path in tmp_path.iterdir()] == ["task.json"]

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (["here"], "exists; name a folder that does not"),
            (["new", "--name", "Two Words"], "is no slug: give --name 2 to 40 lower-case letters"),
            (["new", "--name", "toolmini"], "there is a suite 'toolmini' already"),
        ],
    )
    def test_bad_usage_is_refused_and_writes_nothing(self, tmp_path, monkeypatch, arguments, why):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "here").mkdir()
        done = CliRunner().invoke(app, ["new", "suite", *arguments])
        assert done.exit_code == 2
        assert why in " ".join(done.stderr.split())
        assert [path.name for path in tmp_path.iterdir()] == ["here"]
