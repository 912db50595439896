import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.openagi.training.splits import draw_split
from tests.evaluator.openagi.training.models import SUITE

pytestmark = pytest.mark.full

RUN = CliRunner()


def call(*words):
    return RUN.invoke(app, ["train", *map(str, words)])


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """lilliput-planner after two steps."""
    out = tmp_path_factory.mktemp("planners") / "pretrained"
    stopped = call("pretrain", "--out", out, "--steps", 2, "--stop-after", 1)
    assert "--resume continues" in stopped.output
    done = call("pretrain", "--out", out, "--steps", 2, "--resume")
    assert f"written to {out}" in done.output
    return out


def test_fine_tuning_takes_the_training_tasks_of_its_seed(pretrained, tmp_path):
    out = tmp_path / "finetuned"
    done = call("finetune", "--model", pretrained, "--suite", "openagi", "--profile", "lilliput", "--out", out,
                "--seed", 3, "--steps", 2)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert tuple(json.loads((out / "training.json").read_text())["tasks"]) == draw_split(suite=SUITE, seed=3).train


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("finetune", "--model", "nowhere"), "nowhere is no folder"),
        (("finetune", "--model", "."), "There are no weights"),
        (("finetune", "--suite", "nothing"), "nothing"),
        (("rltf", "--model", "nowhere"), "nowhere is no folder"),
        (("rltf", "--profile", "nothing"), "nothing"),
        (
            ("rltf", "--estimator", "nothing"),
            "'nothing' is not a valid Estimator; there are: paper, leave-one-out",
        ),
        (("rltf", "--sampling", "nothing"), "'nothing' is not a valid Sampling"),
        (("finetune", "--gold", "21"), "there are 20 training tasks"),
        (("estimators", "--arms", "nothing/paper"), "'nothing' is not a valid Start"),
        (("estimators", "--seeds", "one"), "--seeds, --arms"),
        (("table", "--model", ".", "--seeds", "one"), "must be numbers and ranges, such as 0-4,7"),
    ],
)
def test_wrong_usage_is_a_sentence(words, sentence):
    done = call(*words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split()) + str(done.stderr)
    assert "Traceback" not in done.output
