"""What an engineer reads first is true: commands name what is there, hooks run what `./planarena test` runs."""

import re

import pytest
import yaml

from evaluator.cli.program.table import top_level
from tests.packaging.conftest import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
SCRIPT = (ROOT / "planarena").read_text()


def test_every_path_and_link_of_the_contributors_page_is_there():
    paths = set(re.findall(r"\b(?:tests|examples|docs|requirements)/[\w./-]*\w", TEXT)) - {"requirements/"}
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", TEXT)}
    assert len(paths) > 8
    assert [path for path in sorted(paths | links) if not (ROOT / path).exists()] == []


def test_every_command_of_the_script_that_the_page_names_is_one():
    named = set(re.findall(r"\./planarena ([a-z][\w-]*)", TEXT))
    assert {"dev", "test", "lock", "wheel", "evaluate"} <= named
    unknown = [name for name in named if name not in top_level() and not re.search(rf"\b{name}\b", SCRIPT)]
    assert unknown == []


def test_anchors_lead_to_headings_of_the_manual():
    from leaderboard.docs_pages.chapters import anchor_of

    headings = {anchor_of(text) for text in re.findall(r"^#+ (.+)$", (ROOT / "docs/operating.md").read_text(), re.M)}
    assert set(re.findall(r"docs/operating\.md#([\w-]+)", TEXT)) - headings == set()


@pytest.mark.parametrize("command", ["ruff check", "ruff format"])
def test_hooks_run_the_linter_of_the_virtual_environment_and_download_nothing(command):
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    (hook,) = [hook for hook in repository["hooks"] if hook["name"] == command]
    assert hook["language"] == "system"
    assert hook["entry"].startswith(f".venv/bin/{command}")
    assert "additional_dependencies" not in hook


def test_the_changelog_knows_the_version_that_is_built():
    number = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert number in (ROOT / "CHANGELOG.md").read_text()
