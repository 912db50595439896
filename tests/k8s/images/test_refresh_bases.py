"""New digests of base images replace the old ones, and nothing else."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_spec = importlib.util.spec_from_file_location("refresh_bases", ROOT / "k8s" / "images" / "refresh_bases.py")
refresh_bases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh_bases)

OLD, NEW = f"sha256:{'0' * 64}", f"sha256:{'f' * 64}"
TEXT = f"ARG A=python:3.11-slim@{OLD}\nFROM ${{A}} AS b\n  image: docker.io/ubuntu/squid:6.6-24.04_beta@{OLD}\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    path = tmp_path / "k8s" / "a.Dockerfile"
    path.parent.mkdir()
    path.write_text(TEXT)
    monkeypatch.setattr(refresh_bases, "ROOT", path.parent)
    monkeypatch.setattr(refresh_bases, "FILES", (path,))
    return path


def test_every_image_gets_the_digest_of_its_tag_unless_that_is_only_checked(files, capsys):
    asked = []
    assert refresh_bases.main([], digest_of=lambda tagged: asked.append(tagged) or NEW) == 0
    assert asked == ["python:3.11-slim", "docker.io/ubuntu/squid:6.6-24.04_beta"]
    assert files.read_text() == TEXT.replace(OLD, NEW)
    assert capsys.readouterr().out == "k8s/a.Dockerfile\n"
    files.write_text(TEXT)
    # A check changes nothing, and fails when a digest is old.
    assert refresh_bases.main(["--check"], digest_of=lambda _: NEW) == 1
    assert capsys.readouterr().out == "k8s/a.Dockerfile\n"
    assert refresh_bases.main(["--check"], digest_of=lambda _: OLD) == 0
    assert files.read_text() == TEXT


def test_a_registry_that_does_not_answer_changes_nothing(files, monkeypatch, tmp_path):
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\necho 'no such host' >&2\nexit 1\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert refresh_bases.main([]) == 2
    docker.write_text("#!/bin/sh\necho 'sha256:no-digest'\n")
    assert refresh_bases.main([]) == 2
    docker.write_text(f"#!/bin/sh\necho {NEW}\n")
    assert refresh_bases.main([]) == 0
    assert files.read_text() == TEXT.replace(OLD, NEW)


def test_every_file_that_names_an_image_by_digest_is_looked_at():
    found = {
        path
        for path in (ROOT / "k8s").rglob("*")
        if path.is_file() and re.search(r":[\w.-]+@sha256:[0-9a-f]{64}", path.read_text(errors="replace"))
    }
    assert found == set(refresh_bases.FILES)
