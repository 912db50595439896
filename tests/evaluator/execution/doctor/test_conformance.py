"""`planarena check expert`: each check finds an expert that violates it, and the example passes them all."""

from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.expert import ExpertSpec, InputError
from evaluator.execution.doctor.conformance import conformance
from tests.plug_ins import install_example


class Echo:
    """Returns its text in capitals, except for its fault."""

    def __init__(self, fault: str) -> None:
        self.fault, self.runs = fault, 0

    def run(self, batch):
        self.runs += 1
        return [self.one(item["text"], place=place, batch=batch) for place, item in enumerate(batch)]

    def one(self, text, *, place, batch):
        match self.fault:
            case "name":
                return {"summary": text}
            case "kind":
                return {"text": Image.new("RGB", (1, 1))}
            case "mapping":
                return text
            case "empty" if not text:
                raise ZeroDivisionError("no words")
            case "refuses" if not text:
                raise InputError("a text needs words")
            case "repeat":
                return {"text": f"{text} {self.runs}"}
            case "position":
                return {"text": f"{text} {place}"}
            case "company":
                return {"text": f"{text} {len({one['text'] for one in batch})}"}
        return {"text": text.upper()}


def violated(fault: str, *, seconds: float = 60, memory: int = 10**12) -> dict[str, str]:
    spec = ExpertSpec(
        tool="Text Summarization", id="fake", implementation="fake", path=Path("nowhere"), weights_digest="none",
        batch_size=4,
    )  # fmt: skip
    found = conformance(
        spec=spec, device="cpu", seconds=seconds, memory=memory, load=lambda *, spec, device: Echo(fault)
    )
    return {finding.check: finding.detail for finding in found if not finding.holds}


@pytest.mark.parametrize(
    ("fault", "check", "words"),
    [
        ("name", "types of outputs", 'there is no output "text"; Text Summarization returns text'),
        ("kind", "types of outputs", 'output "text" is Image; text is str'),
        ("mapping", "types of outputs", "the result of an item is str, not a mapping"),
        ("empty", "odd input: an empty text", "ZeroDivisionError: no words; raise InputError"),
        ("repeat", "repeatable", "two runs of a batch differ"),
        ("position", "position in a batch", "reversed differ"),
        ("company", "company in a batch", "alone and in company differ"),
    ],
)
def test_a_violation_is_found_and_explained(fault, check, words):
    assert words in violated(fault)[check]


def test_an_expert_without_fault_passes_and_may_refuse_inputs_with_a_reason():
    assert violated("") == violated("refuses") == {}


def test_time_and_memory_have_limits():
    assert violated("", seconds=-1, memory=-1).keys() == {"time", "memory"}


def test_an_expert_that_does_not_load_and_a_tool_of_no_catalogue_are_findings():
    def load(*, spec, device):
        raise OSError("no such file")

    spec = ExpertSpec(tool="Text Summarization", id="fake", implementation="fake", path=Path("x"), weights_digest="0")
    (finding,) = conformance(spec=spec, device="cpu", seconds=1, memory=1, load=load)
    assert (finding.holds, finding.detail) == (False, "OSError: no such file")


def test_the_example_passes_and_unknown_names_are_bad_usage(tmp_path, monkeypatch):
    install_example(tmp_path, monkeypatch=monkeypatch)

    def check(*words):
        return CliRunner().invoke(app, ["check", "expert", *words])

    done = check("lead", "--profile", "lead")
    assert (done.exit_code, "lead of lead-summary 1.0.0" in done.stdout) == (0, True), done.output
    assert check("lead", "--profile", "lead", "--seconds", "0").exit_code == 1
    for words, said in (
        (("leed", "--profile", "lead"), 'no installed package has an expert "leed"'),
        (("lead", "--profile", "lilliput"), 'profile lilliput has no expert with implementation = "lead"'),
        (("lead", "--profile", "nowhere"), "there is no profile 'nowhere'"),
    ):
        done = check(*words)
        assert (done.exit_code, said in done.stderr) == (2, True), done.output
