"""What comes with a release is true: paths that documents name, the version in the changelog and the citation."""

import re

import pytest
import yaml

from evaluator import __version__
from evaluator.core.suites.metadata import metadata_of
from tests.packaging.conftest import ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
REPRODUCING = (ROOT / "docs" / "studies" / "reproducing.md").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_every_path_and_link_of_the_contributors_page_is_there():
    paths = set(re.findall(r"\b(?:tests|examples|docs|requirements)/[\w./-]*\w", CONTRIBUTING)) - {"requirements/"}
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", CONTRIBUTING)}
    assert len(paths) > 8
    assert [path for path in sorted(paths | links) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("command", ["ruff check", "ruff format"])
def test_hooks_run_the_linter_of_the_virtual_environment_and_download_nothing(command):
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (hook,) = [hook for hook in repository["hooks"] if hook["name"] == command]
    assert (repository["repo"], hook["language"]) == ("local", "system")
    assert hook["entry"].startswith(f".venv/bin/{command}")


def test_every_figure_has_a_command_and_every_path_is_there():
    table = REPRODUCING.partition("## Figures")[2].partition("## Checklist")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        assert re.search(r"`(\./)?planarena ", row) or "not measured here" in row, row
    paths = re.findall(r"`((?:evaluator|tests|requirements)/[\w./-]+|[\w-]+\.(?:txt|cff))`", REPRODUCING)
    paths += re.findall(r"planarena test ([\w/]+)", REPRODUCING)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_changelog_and_the_citation_know_the_version_and_the_papers_that_the_suites_cite():
    assert __version__ in (ROOT / "CHANGELOG.md").read_text()
    assert (CITATION["cff-version"], CITATION["version"], CITATION["license"]) == ("1.2.0", __version__, "Apache-2.0")
    for slug, entry in zip(("openagi", "tool100"), CITATION["references"], strict=True):
        facts = metadata_of(slug)
        people = [f"{author['family-names']}, {author['given-names']}" for author in entry["authors"]]
        assert people == list(facts.creators[: len(people)])
        assert " and ".join(people) in facts.citation
        assert entry["title"] in facts.citation
        assert entry["identifiers"][0]["value"].removeprefix("arXiv:") in facts.citation
