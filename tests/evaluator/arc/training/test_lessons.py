"""What the writer learns from: training tasks only, exactly as strategies ask, and wrong programs with feedback."""

import json
import random

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from evaluator.arc.mini.draws import Source, draw_family, draw_tasks, split_of
from evaluator.arc.mini.families import FAMILIES as ALL_FAMILIES
from evaluator.arc.strategies.agents import agent_named
from evaluator.arc.strategies.compact import OK
from evaluator.arc.strategies.replies import read_reply
from evaluator.arc.strategies.styles import COMPACT
from evaluator.arc.training.comparison import (
    AS_MANY,
    MULTI,
    VARIANTS,
    WITHOUT,
    Tasks,
    best_single,
    compared,
    evaluator_of,
    gains,
    measure,
    rows,
)
from evaluator.arc.training.lessons import FILE, changed, prompt_of, read_lessons, reply_of, wrong_program
from evaluator.arc.training.training import fixed_texts, train_writer, writer_tokenizer
from evaluator.cli.main import app
from evaluator.core.records import Outcome
from evaluator.miniature.seeds import Split
from evaluator.planners.driving import strategy_planner_of
from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import named_strategy
from evaluator.training.causal import Measured
from evaluator.training.lessons import DataError
from evaluator.training.runs import ChoiceError, SettingsError
from tests.evaluator.arc.small import TASK, evaluator
from tests.evaluator.arc.training.conftest import FAMILIES, tiny

pytestmark = pytest.mark.full

TRAIN = Source(split=Split.TRAIN)
DRAWN = {
    task.key: task for family in FAMILIES for task in draw_family(family=family, source=TRAIN, count=10, start=5)
}  # fmt: skip
VIEWS = {agent.name for agent in COMPACT.agents}


def records(folder):
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def asked(task, view):
    tests = [pair.input for pair in task.tests]
    return prompt_of(
        COMPACT.first(agent=agent_named(view), demonstrations=task.demonstrations, test_inputs=tests, before=())
    )


def test_lessons_are_training_tasks_as_strategies_ask_them_with_their_gold_programs(lessons):
    plain = [one for one in records(lessons) if not one["is_feedback"]]
    assert {(one["task"], one["view"]) for one in plain} == {(key, view) for key in DRAWN for view in VIEWS}
    assert len(plain) == len(DRAWN) * len(VIEWS)
    for one in plain:
        task = DRAWN[one["task"]]
        assert one["prompt"] == asked(task, one["view"])
        assert read_reply(one["reply"]).program == task.rule.program()
        assert all(split_of(pair.input) is Split.TRAIN for pair in task.pairs)


def test_no_grid_of_another_split_is_in_a_lesson(lessons):
    text = (lessons / FILE).read_text()
    for split in (Split.PUBLIC, Split.VALIDATION):
        for task in draw_tasks(Source(split=split), count=2):
            for pair in task.pairs:
                rows = "/".join("".join(".abcdefghi"[cell] for cell in row) for row in pair.input)
                assert f"{len(pair.input)}x{len(pair.input[0])}/{rows}" not in text


def test_feedback_follows_on_a_wrong_program_and_the_right_one_is_the_reply(lessons):
    found = [one for one in records(lessons) if one["is_feedback"]]
    assert len(found) > len(DRAWN) // 2
    assert len({one["view"] for one in found}) > 1
    for one in found:
        task = DRAWN[one["task"]]
        first, wrong, feedback = one["prompt"].rpartition("\n```\n\n")[0], one["prompt"], one["prompt"]
        assert first.startswith(asked(task, one["view"]) + "\n\n```python\n")
        assert read_reply(wrong.partition("program\n")[2]).program != task.rule.program()
        lines = feedback.rpartition("```\n\n")[2].splitlines()
        assert lines[-1] == "again"
        assert [line[0] for line in lines[:-1]] == [str(n + 1) for n in range(len(task.demonstrations))]
        assert not all(line.endswith(" ok") for line in lines[:-1])
        assert read_reply(one["reply"]).program == task.rule.program()


def test_a_changed_program_differs_in_one_value():
    program = "def transform_grid(grid):\n    return replace(rotate_clockwise(grid, 90), 'a', 'b')"
    found = {changed(program, rng=random.Random(number)) for number in range(50)}
    assert "def transform_grid(grid):\n    return replace(rotate_clockwise(grid, 180), 'a', 'b')" in found
    assert "def transform_grid(grid):\n    return replace(rotate_clockwise(grid, 90), 'h', 'b')" in found
    assert changed("return grid", rng=random.Random(0)) == "return grid"
    task = next(iter(DRAWN.values()))
    wrong = [
        wrong_program(drawn=task, others=list(DRAWN.values()), rng=random.Random(number)) for number in range(30)
    ]  # fmt: skip
    assert task.rule.program() not in wrong
    assert len(set(wrong)) > 5


def test_what_is_no_lesson_is_refused_with_its_line(tmp_path):
    path = tmp_path / FILE
    with pytest.raises(DataError, match="cannot be read"):
        read_lessons(path)
    path.write_text('{"is_feedback": false, "prompt": "p", "reply": "r"}\n{"prompt": 1}\n')
    with pytest.raises(DataError, match="line 2 is not"):
        read_lessons(path)
    path.write_text('{"is_feedback": false, "prompt": "p", "reply": 1}\n')
    with pytest.raises(DataError, match="line 1: prompt and reply must be texts"):
        read_lessons(path)


@pytest.fixture(scope="module")
def exchanges(lessons):
    return read_lessons(lessons / FILE)


def test_common_code_is_one_token_and_every_text_is_read_back(exchanges):
    tokenizer = writer_tokenizer(exchanges)
    assert OK in fixed_texts(exchanges)
    replies = [tokenizer.encode(one.reply, add_special_tokens=False).ids for one in exchanges]
    assert min(map(len, replies)) < 5
    for text in (exchanges[0].prompt, exchanges[-1].prompt, exchanges[3].reply, "def f(): return 'Zürich', 12:34 🙂"):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert writer_tokenizer(exchanges).to_str() == tokenizer.to_str()


def test_a_run_that_was_cut_off_ends_with_the_same_weights(order, writer, tmp_path):
    assert train_writer(order(tmp_path / "cut", stop_after=3)) is None
    other = train_writer(order(tmp_path / "cut", resume=True))
    first, second = (load_file(folder / "model.safetensors") for folder in (writer, other))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    with pytest.raises(SettingsError, match="seed 0, not 1"):
        train_writer(order(tmp_path / "cut", resume=True, seed=1))
    record = json.loads((writer / "training.json").read_text())
    assert (record["kind"], record["steps"], record["seed"]) == ("arc-writer", 6, 0)


@pytest.mark.parametrize("strategy", ["arc-single:objects;style=compact", "arc-experts@style=compact;samples=1"])
def test_a_tiny_writer_plays_an_episode_to_its_end(writer, strategy):
    assert tiny().width == json.loads((writer / "config.json").read_text())["hidden_size"]
    with evaluator() as made:
        planner = planner_named(name=f"{strategy}:dir:{writer}", suite=_mini())
        (record,) = made.run(planner=planner, tasks=[TASK.key])
    assert record.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT}
    assert record.score is not None


def _mini():
    from evaluator.core.suites.registry import suite_of

    return suite_of("arc-mini")


TASKS = Tasks(split="validation", each=1)
VALIDATION = draw_tasks(Source(split=Split.VALIDATION), count=1)
GOLD = {asked(task, view): task.rule.program() for task in VALIDATION for view in VIEWS}
WRONG = reply_of("def transform_grid(grid):\n    return empty_grid(1, 1)")


def solved(strategy, script):
    planner = strategy_planner_of(
        strategy=named_strategy(f"{strategy}:model").strategy(with_model=True),
        model=ScriptedModel(script), name="oracle",
    )  # fmt: skip
    made = evaluator_of(TASKS)
    return [record.score for record in made.run(planner=planner, tasks=[task.key for task in made.suite.tasks])]


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_a_model_that_knows_the_program_solves_each_family(view):
    script = lambda call: reply_of(GOLD[call.messages[0].content])  # noqa: E731
    assert solved(f"arc-single:{view};style=compact;samples=1;loops=1", script) == [1.0] * len(VALIDATION)


def test_a_model_that_needs_feedback_solves_only_with_it():
    def script(call):
        first, *told = call.messages
        return reply_of(GOLD[first.content]) if told and told[1].content.endswith("again\n") else WRONG

    assert solved("arc-single:grid;style=compact;samples=1;loops=2", script) == [1.0] * len(VALIDATION)
    assert solved("arc-single:grid;style=compact;samples=2;loops=1", script) == [0.0] * len(VALIDATION)


NAMES = [f"turn/{number}" for number in range(10)] + [f"crop/{number}" for number in range(10)]


def scores(*solved):
    """1 for these of the twenty tasks."""
    return {task: float(place in solved) for place, task in enumerate(NAMES)}


def test_variants_are_compared_by_task_and_seed_and_feedback_counts_in_both_directions():
    solved = {
        MULTI: (range(10), range(8)), MULTI + WITHOUT: (range(2, 11), range(8)), "grid": (range(1),),
        "objects": (range(4), range(4)), "grid" + AS_MANY: (range(5),),
    }  # fmt: skip
    measured = [
        Measured(variant=variant, seed=seed, scores=scores(*tasks))
        for variant, seeds in solved.items()
        for seed, tasks in enumerate(seeds)
    ]
    found = {row[0]: row for row in rows(measured)}
    assert (found[MULTI][1], found[MULTI][2][:7], found[MULTI][3]) == ("36", "0.450 (", "0.500, 0.400")
    assert found[MULTI + WITHOUT][1] == "12"
    assert [best_single(measured), best_single(measured, ending=AS_MANY)] == ["objects", "grid" + AS_MANY]
    differences = {name: difference.mean for name, difference in compared(measured)}
    assert differences == {
        f"{MULTI} - objects": pytest.approx(10 / 40), f"{MULTI} - grid{AS_MANY}": pytest.approx(5 / 20),
        f"{MULTI} - {MULTI}{WITHOUT}": pytest.approx(1 / 40),
    }  # fmt: skip
    # Of 40: two tasks of the first seed only with feedback, one only without.
    ((_, only_with, only_without),) = gains(measured)
    assert (only_with[:7], only_without[:7]) == ("0.050 (", "0.025 (")


def test_the_command_prints_saved_scores_without_networks(tmp_path):
    folder = tmp_path / "seed-0" / "public-2"
    folder.mkdir(parents=True)
    for variant, solved in ((MULTI, [0, 1, 2]), ("objects", [0])):
        name = variant.replace(" ", "-")
        (folder / f"{name}.scores.json").write_text(json.dumps(scores(*solved)))
    out = tmp_path / "table.md"
    done = CliRunner().invoke(
        app, ["arc", "compare", "--work", str(tmp_path), "--seeds", "0", "--tasks", "2", "--out", str(out)]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "grid: the writer with the seed 0 is not trained yet" in done.output
    text = out.read_text()
    assert "| all views | 36 | 0.150 (" in text
    assert "| all views - objects | +0.100 (" in text
    assert "Share of 20 tasks of arc-mini (public-2)" in text


def test_tasks_to_measure_on_are_never_the_training_split_s(tmp_path):
    with pytest.raises(ChoiceError, match="there is no split 'train' to measure on; there are: public, validation"):
        evaluator_of(Tasks(split="train", each=1))
    made = evaluator_of(Tasks(split="validation", each=1))
    assert [task.key for task in made.suite.tasks] == [f"{family}/0" for family in ALL_FAMILIES]
    with pytest.raises(ChoiceError, match="the writer with the seed 3 is not trained yet"):
        measure(
            variant=VARIANTS[MULTI], seed=3, work=tmp_path, tasks=Tasks(split="public", each=1), evaluator=made
        )  # fmt: skip
