"""Imports without garbage collection leave it as it was, also when they fail."""

import gc
import sys

import pytest

from evaluator.quick_imports import import_without_collection

MODULE = """
import gc
was_enabled = gc.isenabled()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("looking_at_gc", None)


def test_nothing_is_collected_meanwhile(folder):
    (folder / "looking_at_gc.py").write_text(MODULE)
    assert import_without_collection("looking_at_gc").was_enabled is False
    assert gc.isenabled()


def test_collection_goes_on_after_an_import_that_fails(folder):
    (folder / "looking_at_gc.py").write_text("raise ValueError('no')")
    with pytest.raises(ValueError, match="no"):
        import_without_collection("looking_at_gc")
    assert gc.isenabled()
