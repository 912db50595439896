"""What libraries say stays off the terminal; errors, and what we say, do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.cli.main import only_downloads

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
from evaluator.cli.main import quieten
quieten()
import logging, warnings
from tqdm import tqdm
from transformers.utils import logging as theirs
warnings.warn("a warning")
theirs.get_logger("transformers.models").warning("advice")
theirs.get_logger("transformers.models").error("their error")
logging.getLogger("huggingface_hub.file_download").warning("a retry")
logging.getLogger("evaluator.execution.engine").warning("our warning")
list(tqdm([1], desc="a bar"))
raise SystemExit("our error")
"""
NOISE = ("a warning", "advice", "a retry", "a bar")
KEPT = ("their error", "our warning", "our error")


def said(*command: str, **environment: str) -> str:
    dropped = ("PLANARENA_", "TRANSFORMERS_", "HF_", "TQDM_", "PYTHONWARNINGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False,
        timeout=280,
    )  # fmt: skip
    return done.stderr


def test_only_errors_of_libraries_are_seen():
    shown = said("-c", PROGRAM)
    assert [text for text in NOISE if text in shown] == []
    assert [text for text in KEPT if text not in shown] == []


@pytest.mark.full
def test_everything_is_seen_on_request():
    shown = said("-c", PROGRAM, PLANARENA_VERBOSE="1")
    assert [text for text in (*NOISE, *KEPT) if text not in shown] == []


@pytest.mark.full
def test_a_download_shows_how_far_it_is():
    assert only_downloads(["profiles", "fetch", "paper"])
    assert not only_downloads(["profiles", "verify", "paper"])
    shown = said("-c", PROGRAM.replace("quieten()", "quieten(bars=True)"))
    assert [text for text in NOISE if text in shown] == ["a bar"]


@pytest.mark.full
@pytest.mark.timeout(600)
def test_an_evaluation_prints_its_progress_and_nothing_else(tmp_path):
    evaluate = ("-m", "evaluator", "evaluate", "--planner", "gold", "--tasks", "98", "--samples", "1", "--store")
    foreign = [line for line in said(*evaluate, str(tmp_path / "a")).splitlines() if not line.startswith("gold on ")]
    assert foreign == []
    assert "UserWarning" in said(*evaluate, str(tmp_path / "b"), "--verbose")
