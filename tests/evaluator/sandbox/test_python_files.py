"""Confined processes may read what Python needs, and nothing that only lies beside it."""

from pathlib import Path

import httpx

import evaluator
from evaluator.sandbox.isolation.python_files import files_of_python
from tests.processes import ROOT


def is_readable(path, *, files):
    return any(Path(path).resolve().is_relative_to(Path(name).resolve()) for name in files)


def test_installed_packages_and_the_given_one_are_readable_but_not_what_lies_beside_them(tmp_path, monkeypatch):
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "given.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "beside")
    files = files_of_python("given")
    for path in (evaluator.__file__, httpx.__file__, tmp_path / "beside" / "given.py"):
        assert is_readable(path, files=files)
    for path in (tmp_path, Path.home(), "/etc/passwd", ROOT / ".env"):
        assert not is_readable(path, files=files)


def test_of_a_folder_of_the_path_that_holds_the_data_only_packages_and_modules_are_readable(tmp_path, monkeypatch):
    for name in ("given.py", "settings.env", "package/__init__.py", "data/database"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path / "data"))
    monkeypatch.syspath_prepend(tmp_path)
    files = files_of_python("given")
    names = ("given.py", "settings.env", "package/__init__.py", "data/database")
    assert [is_readable(tmp_path / name, files=files) for name in names] == [True, False, True, False]
