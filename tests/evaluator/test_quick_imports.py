"""Imports without garbage collection leave it as it was, also when they fail; others leave a package's rest alone."""

import gc
import subprocess
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


@pytest.mark.full
def test_a_module_of_a_package_comes_without_the_others():
    program = """
import sys
from evaluator.quick_imports import import_without_package

module = import_without_package("bert_score.utils")
assert module.greedy_cos_idf.__module__ == "bert_score.utils"
assert import_without_package("bert_score.utils") is module
print(sys.modules["bert_score"].__version__, "pandas" in sys.modules, "matplotlib" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.split()[1:] == ["False", "False"]
