"""Batch sizes and compiled networks: what is measured, and what of it goes into a profile."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.expert import ExpertSpec
from evaluator.execution.doctor.compiling import Compiled, compiled
from evaluator.execution.doctor.sizing import MeasuredSize, measured_sizes, proposed_sizes

SPEC = ExpertSpec(
    tool="Machine Translation", id="fake", implementation="fake", path=Path("nowhere"), weights_digest="0", batch_size=4
)


class Fake:
    """Answers with the first words; from `differs` items on with the last, and from `full` on not at all."""

    def __init__(self, *, differs=999, full=999):
        self.batch_size, self.differs, self.full, self.sizes = 4, differs, full, []

    def run(self, batch):
        assert len(batch) == self.batch_size
        self.sizes.append(len(batch))
        if len(batch) >= self.full:
            raise MemoryError
        return [{"text": item["text"].split()[-(len(batch) >= self.differs)]} for item in batch]


def test_sizes_double_until_memory_ends_and_other_bytes_are_seen():
    expert = Fake(differs=16, full=64)
    found = list(measured_sizes(expert, spec=SPEC, device="cpu", largest=128))
    sizes = [one.size for one in found]
    assert sizes == [4, 8, 16, 32][: len(sizes)]
    assert len(sizes) >= 3
    assert [one.equal for one in found] == [True, True, False, False][: len(sizes)]
    assert expert.batch_size == 4, "as it was"
    assert found[0].working_bytes is None
    assert list(measured_sizes(Fake(), spec=replace(SPEC, batch_size=256), device="cpu", largest=128)) == []


def test_a_slow_batch_is_the_last():
    assert [one.size for one in measured_sizes(Fake(), spec=SPEC, device="cpu", seconds=0)] == [4]


def test_an_expert_that_is_declared_to_run_alone_is_not_measured():
    expert = Fake()
    assert list(measured_sizes(expert, spec=replace(SPEC, alone=("cpu",)), device="cpu")) == []
    assert expert.sizes == []


def sized(size, rate, gigabytes, *, equal=True):
    return MeasuredSize(size=size, seconds=size / rate, working_bytes=int(gigabytes * 1e9), equal=equal)


# T5's figures in the profile's comment, with a batch beside weights of less than a gigabyte.
MEASURED = [sized(16, 27, 0.9), sized(64, 144, 1.8), sized(256, 338, 5.9), sized(512, 340, 11)]


@pytest.mark.parametrize(
    ("measured", "proposed"),
    [
        (MEASURED, {24: 256}),
        ([*MEASURED[:2], sized(256, 338, 9.0)], {24: 64, 40: 256}),
        ([*MEASURED[:2], sized(256, 338, 5.9, equal=False), MEASURED[3]], {24: 64}),
        ([sized(16, 100, 1), sized(32, 102, 2)], {}),
        ([sized(2, 15, 39)], {}),
        ([replace(one, working_bytes=None) for one in MEASURED], {}),
        ([], {}),
    ],
)
def test_the_smallest_size_near_the_best_is_proposed_for_each_card(measured, proposed):
    assert proposed_sizes(measured) == proposed


class Network(nn.Module):
    """Adds one; compiled, as a compiler that changes a bit would, two."""

    added = 1

    def compile(self):
        self.added = 2

    def forward(self, values):
        return values + self.added


class WithNetwork:
    def __init__(self, network):
        self.network = network
        type(self).__module__ = "evaluator.fake"

    def run(self, batch):
        value = int(self.network(torch.zeros(1))) if self.network else 1
        return [{"text": str(value)} for _ in batch]


def test_a_compiled_expert_is_compared_with_the_plain_one():
    found = compiled(WithNetwork(Network()), spec=SPEC)
    assert (found.equal, found.problem) == (False, "")
    assert compiled(WithNetwork(None), spec=SPEC).problem == "it has no networks"


def test_a_compiler_that_is_missing_is_a_problem_and_no_failure():
    network = Network()
    network.compile = lambda: (_ for _ in ()).throw(RuntimeError("Failed to find C compiler"))
    assert compiled(WithNetwork(network), spec=SPEC).problem == "RuntimeError: Failed to find C compiler"


@pytest.mark.parametrize(
    ("found", "batches"),
    [
        (Compiled(plain=2.0, first=41.0, later=1.0), 40.0),
        (Compiled(plain=2.0, first=41.0, later=2.5), None),
        (Compiled(plain=2.0, first=41.0, later=1.0, problem="it has no networks"), None),
    ],
)
def test_compiling_pays_after_some_batches_or_never(found, batches):
    assert found.batches_to_pay == batches


def test_one_command_measures_a_card(tmp_path):
    out = tmp_path / "card.json"
    done = CliRunner().invoke(
        app,
        ["bench", "device", "--device", "cpu", "--small", "--seconds", "1", "--limit-tasks", "2", "--samples", "1",
         "--output", str(out)],
    )  # fmt: skip
    report = json.loads(out.read_text())
    assert report["execution"]["outcomes"] == {"scored": 2}
    first, last = report["experts"][0], report["experts"][-1]
    assert first["sizes"][0]["size"] == first["batch_size"]
    assert "not examined within 1 seconds" in last["problem"]
    assert done.exit_code == 1, "not all was examined"
    assert "Batch sizes" in done.stdout
    assert "every expert is as the profile declares: NO" in " ".join(done.stdout.split())
    refused = CliRunner().invoke(app, ["bench", "device", "--profile", "lilliput"])
    assert (refused.exit_code, "are shipped" in " ".join(refused.stderr.split())) == (2, True)
