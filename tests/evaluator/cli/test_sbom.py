"""The software bill of materials: valid, complete, and about what is really here."""

import json
from importlib import metadata
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.cli.sbom import SbomError, npm_components, sbom

ROOT = Path(__file__).resolve().parents[3]
LOCK = ROOT / "frontend" / "package-lock.json"


@pytest.fixture(scope="module")
def text():
    """As the command prints it."""
    done = CliRunner().invoke(app, ["sbom"])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def document(text):
    return json.loads(text)


def test_it_keeps_the_schema(text):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_every_installed_package_is_in_it_with_its_version(document):
    listed = {one["bom-ref"]: one for one in document["components"]}
    for found in metadata.distributions():
        component = listed[f"pypi:{canonicalize_name(found.name)}"]
        assert component["version"] == found.version
        assert component["purl"].startswith(f"pkg:pypi/{canonicalize_name(found.name)}@")


def test_every_package_of_the_front_end_is_in_it_with_its_hash(document):
    locked = json.loads(LOCK.read_text())["packages"]
    wanted = {(path.rpartition("node_modules/")[2], entry["version"]) for path, entry in locked.items() if path}
    listed = {
        (f"{one['group']}/{one['name']}" if "group" in one else one["name"], one["version"]): one
        for one in document["components"]
        if one["purl"].startswith("pkg:npm/")
    }
    assert set(listed) == wanted
    assert all(one["hashes"][0]["alg"] == "SHA-512" for one in listed.values())
    assert {one["scope"] for one in listed.values()} <= {"required", "excluded"}


def test_it_says_what_needs_what_and_which_code_it_is_about(document):
    needs = {one["ref"]: set(one.get("dependsOn", ())) for one in document["dependencies"]}
    assert "pypi:httpcore" in needs["pypi:httpx"]
    assert {"pypi:torch", "pypi:django"} <= needs["planarena"]
    assert document["metadata"]["component"]["name"] == "planarena"


def test_the_commit_is_a_property_of_the_whole():
    document = json.loads(sbom(version="1.2.3", commit="c" * 40, npm_lock=None))
    component = document["metadata"]["component"]
    assert component["version"] == "1.2.3"
    assert component["properties"] == [{"name": "planarena:commit", "value": "c" * 40}]
    assert not [one for one in document["components"] if one["purl"].startswith("pkg:npm/")]


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"packages": {"node_modules/a": {}}}'])
def test_a_lock_file_that_is_none_is_named(content, tmp_path):
    path = tmp_path / "package-lock.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SbomError, match=r"package-lock.json is no lock file of npm"):
        npm_components(path)
