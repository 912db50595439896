"""The package of `examples/expert_plug_in`, as an installer leaves it, in a folder of a test's own on `sys.path`."""

import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from evaluator.execution.experts import plug_ins
from tests.processes import ROOT

EXAMPLE = ROOT / "examples" / "expert_plug_in"


def install_example(folder: Path, *, monkeypatch: pytest.MonkeyPatch, version: str | None = None) -> Path:
    """Install the example and its profile `lead`; the files of its package can then be changed.

    Args:
        folder: receives package and profile.
        monkeypatch: puts it on `sys.path` and names it as the folder of profiles.
        version: of the package, by default the example's.

    Returns:
        The folder of the package's modules.
    """
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copytree(EXAMPLE / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLE / "lead.toml", folder)
    facts = folder / "lead_summary.dist-info"
    facts.mkdir(exist_ok=True)
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version or project['version']}\n"
    )
    points = project["entry-points"]["planarena.experts"]
    lines = [f"{name} = {value}" for name, value in points.items()]
    (facts / "entry_points.txt").write_text("\n".join(["[planarena.experts]", *lines, ""]))
    # As in a new process.
    monkeypatch.delitem(sys.modules, "lead_summary", raising=False)
    monkeypatch.setattr(plug_ins, "_imported", {})
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PLANARENA_PROFILES", str(folder))
    return folder / "lead_summary"
