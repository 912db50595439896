"""Models whose tokenizer, template or settings cost time or memory, in the sandbox that loads them.

The site and the worker read none of these parts. Each model costs itself: it is not loaded, fails or is ended with a
sentence, or answers; its worker goes on.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.core.language_model import Completion, Failure, FailureKind, GenerateCall, Message
from evaluator.planners.language_models import ModelUnusableError
from evaluator.sandbox.admission.checkpoint_zip import inspect, unpack
from evaluator.sandbox.admission.rules import ModelRefusedError
from gpu_jobs.model_server.client import Deadlines
from gpu_jobs.model_server.isolation.sandbox import detected
from gpu_jobs.model_server.opening import open_model
from gpu_jobs.model_server.process import _LATE
from tests.fakes.checkpoints import zipped
from tests.hostile.checkpoints import CASES, Case, honest
from tests.hostile.checkpoints.base import Target

ROOT = Path(__file__).parents[3]
MOST = 10**9
PROMPT = "Summarize the text. eeee aaaa bbbb xx " * 20


@pytest.fixture
def target(tmp_path: Path) -> Target:
    bait = tmp_path / "bait.txt"
    bait.write_text("correct-horse-battery-staple")
    return Target(path=str(bait), bait=bait.read_text(), secrets=str(tmp_path), port="9")


def outcome(archive: Path, folder: Path) -> Completion | Failure | str:
    """What becomes of a zip: an answer to one call, or why there is none."""
    try:
        inspect(archive, most_unpacked_bytes=MOST)
        unpack(archive, folder=folder, most_unpacked_bytes=MOST)
        deadlines = Deadlines(start=120.0, load=120.0, answer=60.0, call=5.0)
        model = open_model(
            folder, name="m", device="cpu", source={}, sandbox=detected().sandbox, deadlines=deadlines
        )  # fmt: skip
    except (ModelRefusedError, ModelUnusableError) as error:
        return str(error)
    try:
        (answer,) = model.answer([GenerateCall(messages=(Message("user", PROMPT),), max_tokens=4)])
        return answer
    finally:
        model.close()


@pytest.mark.full
@pytest.mark.timeout(400)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_hostile_model_costs_itself_and_its_worker_goes_on(case: Case, target: Target, tmp_path: Path):
    archive = tmp_path / "model.zip"
    archive.write_bytes(zipped(case.build(honest(), target)))
    found = outcome(archive, tmp_path / "m")
    assert target.bait not in str(found)
    if isinstance(found, Failure):
        assert found.kind is not FailureKind.UNAVAILABLE, found.message
    if not isinstance(found, Completion):
        sentence = found if isinstance(found, str) else found.message
        assert sentence.strip().endswith("."), sentence


LATE = """
import sys
from gpu_jobs.model_server import server
server.PROMPT_SECONDS = 0.3
def prompt():
    with server.ends_when_late():
        BODY
prompt()
"""


@pytest.mark.parametrize(
    ("body", "late"),
    [("while True: pass", True), ("sum(range(10**12))", True), ("raise ValueError", False), ("sys.exit(0)", False)],
)
def test_a_prompt_that_takes_too_long_ends_the_server_even_in_native_code(tmp_path, body, late):
    (tmp_path / "network.py").write_text(LATE.replace("BODY", body))
    done = subprocess.run(
        [sys.executable, tmp_path / "network.py"], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (_LATE.search(done.stderr) is not None) is late, done.stderr
    assert done.returncode == (0 if "exit" in body else 1)
