"""Which texts of a split the shipped experts have read: the shares that docs/validity.md reports."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.cli.lilliput import app
from evaluator.miniature.seeds import Split
from evaluator.studies.experts.data.tokenizers import encode, english_tokenizer
from evaluator.studies.experts.language_models import sentiment_objective, summary_objective
from evaluator.studies.experts.quality import contamination as module
from evaluator.studies.experts.quality.contamination import KINDS, contamination

pytestmark = pytest.mark.full

SEED = "a secret for this test"


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("reviews (sentiment)", lambda: sentiment_objective(texts=6000).texts),
        ("stories (summarization)", lambda: [source for source, _ in summary_objective(texts=24_000).examples]),
    ],
)
def test_the_texts_of_the_training_are_those_that_training_reads(kind, read):
    tokenizer = english_tokenizer()
    texts = list(KINDS[kind].trained())
    assert [encode(tokenizer=tokenizer, text=text) for text in texts] == [ids[1:-1] for ids in read()]


@pytest.mark.parametrize("split", [Split.PUBLIC, Split.HIDDEN])
def test_a_quarter_of_the_reviews_and_no_story_was_read(split):
    """95 % of counts of 300 with a share of 0.27 lie in this range; the split's seed fixes which one it is."""
    seed = SEED if split is Split.HIDDEN else None
    found = contamination(
        split=split, count=300, hidden_seed=seed, only=["reviews (sentiment)", "stories (summarization)"]
    )
    reviews, stories = found
    assert 0.22 <= reviews.share <= 0.33
    assert reviews.distinct == 5131
    assert stories.seen == 0


def test_labels_and_main_captions_are_a_closed_list(monkeypatch):
    """All of them occur already in a twentieth of the training scenes."""
    monkeypatch.setattr(module, "TRAINING_SCENES", 3000)
    module._scene_texts.cache_clear()
    try:
        kinds = ["class labels (classifier)", "main captions (captioner)"]
        found = contamination(split=Split.PUBLIC, count=100, only=kinds)
        assert [share.seen for share in found] == [100, 100]
        assert found[0].distinct == 64
    finally:
        module._scene_texts.cache_clear()


def test_the_command_prints_shares():
    done = CliRunner().invoke(app, ["contamination", "--samples", "40", "--only", "reviews (sentiment)", "--json"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert row["share"] == row["seen"] / 40
    refused = CliRunner().invoke(app, ["contamination", "--split", "hidden"], env={"PLANARENA_HIDDEN_SEED": ""})
    assert refused.exit_code == 2
    assert CliRunner().invoke(app, ["contamination", "--only", "poems"]).exit_code == 2
