"""An arbiter that is a cross-encoder: tiny ones, in the layout in which they are released."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.scoring.arbiters.base import ArbiterError, Question, parse_arbiter
from evaluator.scoring.arbiters.cross_encoder import CrossEncoder, decided
from tests.evaluator.execution.experts.hub_server import serving

PAIR = Question(kind="question", wanted="what is the cat wearing", given="what does the cat have on")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "is", "the", "cat", "wearing", "does", "have", "on"]
REPO, COMMIT = "makers/same-or-not", "4" * 40


def make(folder: Path, *, labels: dict[int, str], outputs: list[float]) -> Path:
    """A model that gives every pair these outputs."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=32, id2label=labels, label2id={label: place for place, label in labels.items()},
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor(outputs))
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    told = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 32}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    return folder


def settled(folder: Path, *, threshold: float = 0.9):
    (found,) = CrossEncoder(name=parse_arbiter(f"dir:{folder}", threshold=threshold)).settle([PAIR])
    return found


@pytest.mark.parametrize(
    ("labels", "outputs", "probability"),
    [
        ({0: "LABEL_0"}, [3.0], "0.9526"),
        ({0: "LABEL_0", 1: "LABEL_1"}, [0.0, 3.0], "0.9526"),
        ({0: "duplicate", 1: "not_duplicate"}, [3.0, 0.0], "0.9526"),
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, [0.0, 4.0, 0.0], "0.9647"),
    ],
)
def test_the_label_that_says_same_is_found_by_its_name(tmp_path, labels, outputs, probability):
    found = settled(make(tmp_path, labels=labels, outputs=outputs))
    assert (found.verdict, found.answers, found.problem) == ("same", (probability,), "")


@pytest.mark.parametrize(
    ("probability", "verdict"), [(0.9, "same"), (0.8999, "undecided"), (0.1001, "undecided"), (0.1, "different")]
)
def test_between_the_thresholds_a_pair_stays_undecided(probability, verdict):
    assert decided(probability=probability, threshold=0.9).verdict == verdict


def test_the_smaller_probability_of_both_directions_counts(tmp_path, monkeypatch):
    arbiter = CrossEncoder(name=parse_arbiter(f"dir:{make(tmp_path, labels={0: 'x'}, outputs=[0.0])}"))
    monkeypatch.setattr(arbiter, "_probability", lambda one, other: 0.99 if one == PAIR.wanted else 0.02)
    (found,) = arbiter.settle([PAIR])
    assert (found.verdict, found.answers) == ("different", ("0.0200",))


@pytest.mark.parametrize("labels", [{0: "good", 1: "bad"}, {0: "same", 1: "paraphrase"}])
def test_labels_that_do_not_say_same_settle_nothing(tmp_path, labels):
    found = settled(make(tmp_path, labels=labels, outputs=[3.0, 0.0]))
    assert (found.verdict, found.is_final) == ("undecided", False)
    assert "none of its labels says that two texts mean the same" in found.problem


def test_weights_that_lack_a_part_settle_nothing(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = make(tmp_path, labels={0: "x"}, outputs=[3.0])
    weights = load_file(folder / "model.safetensors")
    weights.pop("classifier.weight")
    save_file(weights, folder / "model.safetensors")
    assert "lack classifier.weight" in settled(folder).problem


def test_the_identity_follows_weights_and_threshold_and_names_no_path(tmp_path):
    one = make(tmp_path / "a" / "model", labels={0: "x"}, outputs=[3.0])
    other = make(tmp_path / "b" / "model", labels={0: "x"}, outputs=[2.0])
    identities = [parse_arbiter(f"dir:{folder}", threshold=0.8).identity() for folder in (one, other)]
    identities.append(parse_arbiter(f"dir:{one}", threshold=0.7).identity())
    assert len({json.dumps(identity) for identity in identities}) == 3
    assert {identity["name"] for identity in identities} == {"model"}
    assert str(tmp_path) not in json.dumps(identities)


ASK = """
import sys
from evaluator.scoring.arbiters.base import Question
from evaluator.scoring.arbiters.base import parse_arbiter
from evaluator.scoring.arbiters.cross_encoder import CrossEncoder
assert "torch" not in sys.modules
arbiter = CrossEncoder(name=parse_arbiter(sys.argv[1]))
assert "torch" not in sys.modules
(found,) = arbiter.settle([Question(kind="question", wanted="what is the cat", given="the cat")])
print(found.verdict, found.problem)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("commit", "said"), [(COMMIT, "same"), ("5" * 40, "undecided The arbiter cannot be used: the hub answered commit")]
)
def test_a_model_of_the_hub_is_fetched_at_its_commit_for_the_first_pair(tmp_path, commit, said):
    make(tmp_path / "hub" / REPO, labels={0: "x"}, outputs=[3.0])
    with serving(tmp_path / "hub", commits={REPO: COMMIT}) as address:
        environment = {**os.environ, "HF_ENDPOINT": address, "PLANARENA_DATA": str(tmp_path / "data")}
        environment.pop("PLANARENA_WEIGHTS", None)
        ran = subprocess.run(
            [sys.executable, "-c", ASK, f"hub:{REPO}@{commit}"], env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.startswith(said)


UNPINNED = [
    "", "dir:", "model", "hub:owner/name", "hub:owner/name@main", f"hub:name@{COMMIT}", "hub:a/b@4444444",
    "chat:http://h/v1", "chat:ftp://h#m", "chat:http://h/v1#", "hub:../../x@" + COMMIT,
]  # fmt: skip


def test_an_arbiter_that_is_not_pinned_or_has_a_threshold_out_of_range_is_refused():
    for text in UNPINNED:
        with pytest.raises(ArbiterError, match="is none of dir:PATH"):
            parse_arbiter(text)
    for threshold in (0.4, 1.1, float("nan")):
        with pytest.raises(ArbiterError, match=r"it is from 0\.5 to 1"):
            parse_arbiter("dir:x", threshold=threshold)


def test_a_folder_without_safetensors_is_refused(tmp_path):
    folder = make(tmp_path, labels={0: "x"}, outputs=[3.0])
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ArbiterError, match="no weights"):
        CrossEncoder(name=parse_arbiter(f"dir:{folder}"))
