"""Scores in the store: the same as computed ones, for the same pairs and the same scorer only."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.core.values import Artefact, MediaType
from evaluator.episodes.scoring import store_scores, stored_scores
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.devices import device_class
from evaluator.execution.experts.profile import load_profile
from evaluator.scoring.metrics.scorers import loading
from evaluator.scoring.metrics.scorers.loading import scorer_facts

FACTS = {"metric": "ViT", "weights": "w", "code": "1"}
PAIRS = [("a" * 64, "b" * 64), ("c" * 64, "b" * 64)]

RUN = """
import json, sys
from pathlib import Path
from evaluator.execution.engine.store import LocalStore
from evaluator.episodes.base import Setting
from evaluator.planners.bundled import bundled_planner
from evaluator.core.records import without_timings
from evaluator.episodes.base import episode_of
from evaluator.core.suites.registry import (suite_of)

suite = suite_of("openagi")
setting = Setting(profile="lilliput", samples=2, split="public", open_store=lambda: LocalStore(Path(sys.argv[1])))
evaluator = episode_of("openagi").evaluator(suite=suite, setting=setting)
planner = bundled_planner(name="gold", suite=suite)
for samples in map(int, sys.argv[2:]):
    records = list(evaluator.with_samples(samples).run(planner=planner, tasks=["0", "60", "110"]))
lines = sorted(without_timings(record).model_dump_json() for record in records)
print(json.dumps({"records": lines, "torch": "torch" in sys.modules, "spent": evaluator.scoring.wall}))
"""


def run(store: Path, *samples: int) -> dict:
    """The report of a process on its last run, after one run for each number of samples."""
    command = [sys.executable, "-c", RUN, str(store), *map(str, samples)]
    process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.full
def test_a_process_that_finds_everything_in_the_store_loads_no_torch(tmp_path):
    first, second = run(tmp_path, 2), run(tmp_path, 2)
    assert first["records"] == second["records"]
    assert all(json.loads(record)["score"] > 0 for record in first["records"])
    assert (first["torch"], second["torch"], second["spent"]) == (True, False, 0.0)


@pytest.mark.full
def test_scores_that_were_known_already_are_stored_for_whoever_asks_for_them_first(tmp_path):
    first, second = run(tmp_path, 2, 1), run(tmp_path, 1)
    assert first["records"] == second["records"]
    assert second["torch"] is False


@pytest.mark.parametrize(
    ("facts", "pairs"),
    [
        ({**FACTS, "weights": "other"}, PAIRS),
        (FACTS, PAIRS[::-1]),
        (FACTS, PAIRS[:1]),
        (FACTS, [(right, output) for output, right in PAIRS]),
    ],
)
def test_another_scorer_or_another_pair_has_no_score(facts, pairs):
    store = MemoryStore()
    store_scores(store=store, facts=FACTS, pairs=PAIRS, scores=[0.5, 0.25])
    assert stored_scores(store=store, facts=facts, pairs=pairs) is None


def test_scores_are_restored_exactly_unless_their_list_is_damaged(monkeypatch):
    store = MemoryStore()
    assert stored_scores(store=store, facts=FACTS, pairs=PAIRS) is None
    store_scores(store=store, facts=FACTS, pairs=PAIRS, scores=[0.1 + 0.2, 1])
    assert stored_scores(store=store, facts=FACTS, pairs=PAIRS) == [0.1 + 0.2, 1.0]
    for data in (b"[0.5]", b"[0.5, null]", b"{}", b"[0.5, 1", b'["0.5", 0.5]'):
        monkeypatch.setattr(store, "get", lambda _, data=data: Artefact(data=data, media_type=MediaType.TEXT))
        assert stored_scores(store=store, facts=FACTS, pairs=PAIRS) is None


def test_what_a_score_depends_on_names_model_metric_and_device():
    profile = load_profile("lilliput")
    facts = {name: scorer_facts(name=name, profile=profile) for name in ("ViT", "BERT", "CLIP", "Variation")}
    assert len({json.dumps(one, sort_keys=True) for one in facts.values()}) == 4
    assert facts["ViT"] is not None
    assert facts["ViT"]["weights"] == profile.scorers["ViT"].weights_digest
    assert facts["ViT"]["device"] == dict(device_class("cpu"))
    assert scorer_facts(name="Boxes", profile=profile) is None
    with pytest.raises(LookupError, match="has no scorer 'taste'"):
        scorer_facts(name="taste", profile=profile)


def test_scores_of_two_device_classes_share_a_store_without_being_mixed(monkeypatch):
    profile, store, pairs = load_profile("lilliput"), MemoryStore(), [("0" * 64, "1" * 64)]

    def facts_on(card: str):
        monkeypatch.setattr(loading, "device_class", lambda device: {"kind": "cuda", "card": card})
        facts = scorer_facts(name="ViT", profile=profile, device="cuda")
        assert facts is not None
        return facts

    first, second = facts_on("H100"), facts_on("A100")
    store_scores(store=store, facts=first, pairs=pairs, scores=[0.5])
    assert stored_scores(store=store, facts=second, pairs=pairs) is None
    store_scores(store=store, facts=second, pairs=pairs, scores=[0.25])
    assert stored_scores(store=store, facts=first, pairs=pairs) == [0.5]
