import json

import pytest

from evaluator.openagi.training.pretraining import planner_tokenizer
from evaluator.openagi.training.shipping import MEASURED, ship
from evaluator.planners.language_models.shipped import NAME, VARIANTS
from evaluator.training.export import export_transformers, write_tokenizer
from tests.evaluator.openagi.training.models import tiny_module

pytestmark = pytest.mark.full

RECORDS = {
    "pretrained": {"kind": "pretrain", "steps": 5, "seed": 0, "torch": "2"},
    "finetuned": {"kind": "finetune", "steps": 6, "seed": 3, "learning_rate": 0.001, "tasks": ["0", "1"], "torch": "2"},
    "rltf": {
        "kind": "rltf",
        "tasks": ["0", "1"],
        "schedule": {
            "seed": 3,
            "steps": 7,
            "samples": 4,
            "learning_rate": 0.0005,
            "estimator": "grpo",
            "sampling": "beams",
        },
        "data": {"split": "validation", "samples": 2},
        "torch": "2",
    },
}


@pytest.fixture
def work(tmp_path):
    seed = tmp_path / "work" / "seed-3"
    for variant, record in RECORDS.items():
        folder = tmp_path / "pretrained" if variant == "pretrained" else seed / variant
        export_transformers(tiny_module(), folder)
        write_tokenizer(tokenizer=planner_tokenizer(), folder=folder)
        (folder / "training.json").write_text(json.dumps(record))
    scores = {
        row: {"7": {"metric": "ViT", "score": 0.1 * number, "is_valid": True, "is_gold": number == 3}}
        for number, row in enumerate(MEASURED.values(), start=1)
    }
    (seed / "scores.json").write_text(json.dumps({"tests": [["7"]], "results": scores}))
    return tmp_path / "work"


def test_every_variant_is_shipped_with_a_card_of_its_own_quality(work, tmp_path):
    weights = tmp_path / "weights"
    folders = ship(pretrained=tmp_path / "pretrained", work=work, seed=3, weights=weights)
    assert [folder.name for folder in folders] == list(VARIANTS)
    cards = [(folder / "card.md").read_text() for folder in folders]
    for number, text in enumerate(cards, start=1):
        assert f"overall: 0.{number}000" in text
        assert "Apache-2.0" in text
    assert "`planarena train pretrain --steps 5 --seed 0`" in cards[0]
    assert "train finetune --model lilliput-planner --seed 3 --steps 6 --learning-rate 0.001" in cards[1]
    assert "--seed 3 --steps 7 --plans 4 --learning-rate 0.0005 --split validation --samples 2 " in cards[2]
    assert "--samples 2 --estimator grpo --sampling beams`" in cards[2]
    assert set(json.loads((weights / "lock.json").read_text())) == {f"{NAME}/{variant}" for variant in VARIANTS}
