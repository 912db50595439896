"""The planners and modules that ship with PlanArena."""

import json

import pytest

from evaluator.core.language_model import Ability, GenerateCall, Message
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.weights import weights_digest
from evaluator.openagi.strategies.constrained import Nonlinear
from evaluator.openagi.training.splits import draw_split
from evaluator.planners.language_models.shipped import FOLDER, VARIANTS, shipped_folder, shipped_modules, shipped_names
from evaluator.planners.named import planner_named
from tests.rings import usual

ONE_MEGABYTE = 1_000_000


def test_all_that_is_shipped_is_small_locked_and_has_a_card():
    lock = json.loads((FOLDER.parent / "lock.json").read_text())
    trained = {f"lilliput-planner/{variant}": ("planarena train", "- overall: 0.") for variant in VARIANTS}
    trained |= dict.fromkeys(shipped_modules(), ("planarena lumos train", "- all: 0."))
    for name, said in trained.items():
        folder = shipped_folder(name)
        assert lock[name] == weights_digest(folder), name
        card = (folder / "card.md").read_text()
        assert [text for text in ("Apache-2.0", *said) if text not in card] == [], name
        assert sum(path.stat().st_size for path in folder.iterdir()) < 2.5 * ONE_MEGABYTE, name
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 6 * ONE_MEGABYTE


@pytest.mark.parametrize(
    "name",
    ["lumos/iterative:lilliput-lumos/plan-iterative,ground=lilliput-lumos/ground-iterative",
     "lumos/integrated:lilliput-lumos/integrated"],
)  # fmt: skip
def test_the_shipped_modules_solve_questions_on_databases(name):
    suite = suite_of("lumos-mini")
    store = MemoryStore()
    evaluator = episode_of(suite.slug).evaluator(
        suite=suite, setting=Setting(profile="lilliput", open_store=lambda: store)
    )
    tasks = [f"sql/{number}" for number in range(6)]
    records = list(evaluator.run(planner=planner_named(name=name, suite=suite), tasks=tasks))
    assert sum(record.score or 0.0 for record in records) >= 5


@pytest.mark.parametrize("name", usual(shipped_names(), of=shipped_names()[:1]))
def test_every_shipped_planner_plans(name):
    from evaluator.openagi.training.episodes import draw_episodes
    from evaluator.planners.language_models.local.model import LocalModel
    from tests.evaluator.openagi.training.models import request

    model = LocalModel.from_folder(shipped_folder(name))
    assert Ability.CONSTRAIN in model.abilities
    episodes = draw_episodes(model=model, strategy=Nonlinear(), requests=[request("20"), request("117")], seed=0)
    assert all(episode.is_over for episode in episodes)


def test_the_pretrained_planner_answers_in_numbered_steps():
    from evaluator.planners.language_models.local.model import LocalModel

    model = LocalModel.from_folder(shipped_folder("lilliput-planner"))
    prompt = (
        "Plan which models to run, in the order in which they must run. Write one line per model, as in `Step 1: ...`."
        "\nWrite nothing but the steps.\n\nRequest: Here is a grainy photo; find the caption in German.\nPlan:"
    )
    (answer,) = model.answer([GenerateCall(messages=(Message(role="user", content=prompt),), max_tokens=64)])
    assert answer.text.startswith("Step 1: ")
    assert "Image Captioning" in answer.text


def test_what_was_trained_on_gold_plans_or_scores_was_the_training_tasks_of_its_seed():
    from tests.evaluator.openagi.training.models import SUITE

    for variant in ("finetuned", "rltf"):
        record = json.loads((shipped_folder(f"lilliput-planner/{variant}") / "training.json").read_text())
        seed = record.get("seed", record.get("schedule", {}).get("seed"))
        assert tuple(record["tasks"]) == draw_split(suite=SUITE, seed=seed).train
