"""The commands that tune a given model: what they write, and what they refuse."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.arc.training.lessons import FILE as ARC_FILE
from evaluator.cli.main import app
from evaluator.controlllm.strategies.decomposing import decompose_by_asking
from evaluator.core.planner import request_for
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.execution.experts.weights import weights_digest
from evaluator.lumos.strategies import templates
from evaluator.replies.decomposition import parse_decomposition
from evaluator.sandbox.admission.checkpoint_zip import inspect
from evaluator.training.lessons import chat_lessons
from tests.fakes.checkpoints import zipped_folder
from tests.fakes.tiny_models import released_llama

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = ["Please provide a reasonable subgoal-based plan to solve the given task. Subgoal 1: add.", "grid 3x3: a.b"]


def call(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return released_llama(tmp_path_factory.mktemp("Llama-2-tiny"), texts=TEXTS, template=True)


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def accepted(folder, tmp_path):
    file = tmp_path / "model.zip"
    file.write_bytes(zipped_folder(folder))
    return inspect(file, most_unpacked_bytes=10**8).architecture


CHAT = [{"id": n, "messages": [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": str(n)}]}
        for n in range(12)]  # fmt: skip


def test_lumos_tunes_a_model_of_the_user_s_on_released_annotations_and_goes_on_after_a_stop(llama, tmp_path):
    data = written(tmp_path / "train_annot.jsonl", [{"dataset": "gsm8k", **record} for record in CHAT])
    words = ("lumos", "train", "plan_iterative", "--model", llama, "--data", data, "--lora", "--rank", 2,
             "--targets", "q_proj,v_proj", "--steps", 2, "--batch", 2, "--out")  # fmt: skip
    whole, cut = call(*words, tmp_path / "whole"), call(*words, tmp_path / "cut", "--stop-after", 1)
    assert f"written to {tmp_path / 'whole'}" in whole.output
    assert "--resume continues" in cut.output
    assert call(*words, tmp_path / "cut", "--resume").exit_code == 0
    assert weights_digest(tmp_path / "cut") == weights_digest(tmp_path / "whole")
    assert accepted(tmp_path / "whole", tmp_path) == "llama"
    assert "# LUMOS, plan_iterative, tuned from Llama-2-tiny" in (tmp_path / "whole" / "card.md").read_text()


def test_arc_tunes_a_model_on_its_lessons(llama, tmp_path):
    lesson = {"task": "a", "view": "grid", "is_feedback": False, "prompt": TEXTS[1], "reply": "```python\n```"}
    again = [{"role": "user", "content": TEXTS[1]}, {"role": "assistant", "content": "wrong"},
             {"role": "user", "content": "again"}, {"role": "assistant", "content": "right"}]  # fmt: skip
    written(tmp_path / ARC_FILE, [lesson, {**lesson, "task": "b", "is_feedback": True, "messages": again}])
    done = call("arc", "train", "--model", llama, "--data", tmp_path, "--steps", 1, "--held-out", 0, "--out",
                tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0, done.output + done.stderr
    assert accepted(tmp_path / "out", tmp_path) == "llama"


def test_wrong_programs_of_arc_s_lessons_are_not_learnt():
    from evaluator.arc.training.lessons import writer_lessons

    again = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "wrong"},
             {"role": "user", "content": "b"}, {"role": "assistant", "content": "right"}]  # fmt: skip
    (lesson,) = writer_lessons({"is_feedback": True, "messages": again})
    assert lesson.answer == "right"
    assert lesson.messages[1].content == "wrong"


def test_controlllm_writes_conversations_of_its_strategies_and_tunes_a_model_on_them(llama, tmp_path):
    done = call("controlllm", "convert", "--out", tmp_path, "--requests", 30)
    assert "30 conversations" in done.output
    lines = [json.loads(line) for line in (tmp_path / "decompositions.jsonl").read_text().splitlines()]
    lessons = [lesson for line in lines for lesson in chat_lessons(line)]
    assert len(lessons) == 30
    assert all(parse_decomposition(lesson.answer).subtasks for lesson in lessons)
    # The prompt is the strategy's own: only the request differs.
    suite = suite_of("toolmini")
    request = request_for(
        suite=suite,
        task=suite.tasks[0],
        context=suite.context(task=suite.tasks[0], offered=frozenset(CONTROLLLM.tools)),
    )
    (asked,) = next(decompose_by_asking(request=request, tools=tuple(CONTROLLLM.tools.values())))
    assert asked.messages[0] == lessons[0].messages[0]
    assert lessons[0].messages[1].content.startswith("Request: ")
    done = call("controlllm", "train", "--model", llama, "--data", tmp_path, "--steps", 1, "--batch", 1, "--longest",
                1024, "--out", tmp_path / "out", "--lora")  # fmt: skip
    assert done.exit_code == 2
    assert "every prompt with its reply has more than 1024 tokens" in " ".join(done.stderr.split())


def test_a_planner_of_any_strategy_is_tuned_on_conversations(llama, tmp_path):
    data = written(tmp_path / "chat.jsonl", CHAT)
    done = call("train", "planner", "--model", llama, "--data", data, "--strategy", "openagi/zero-shot", "--steps", 1,
                "--out", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0, done.output + done.stderr
    assert "strategy `openagi/zero-shot`" in (tmp_path / "out" / "card.md").read_text()
    assert accepted(tmp_path / "out", tmp_path) == "llama"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("lumos", "train", "plan_iterative", "--lora"), "--lora: only with --model"),
        (("arc", "train", "--rank", "2", "--targets", "x"), "--rank, --targets: only with --model"),
        (
            ("lumos", "train", "plan", "--model", "LLAMA"),
            "no module 'plan' can be tuned from a given model",
        ),
        (("lumos", "train", "direct", "--model", "nowhere"), "nowhere is no folder, not hf:ORG/NAME@REVISION"),
        (("lumos", "train", "direct", "--model", "LLAMA", "--data", "DATA", "--rank", "2"), "belong to --lora"),
        (("lumos", "train", "direct", "--model", "LLAMA", "--data", "none.jsonl"), "none.jsonl cannot be read"),
        (("lumos", "train", "direct", "--model", "LLAMA", "--data", "DATA"), "line 1: messages[0].role is 'human'"),
        (("arc", "train", "--model", "LLAMA", "--data", "DATA", "--held-out", "1"), "--held-out must be at least 0"),
        (("controlllm", "train"), "--model must name the model to tune"),
        (("train", "planner", "--data", "DATA", "--strategy", "x", "--model", "LLAMA"), "no strategy 'x'"),
    ],
)
def test_wrong_usage_is_a_sentence(llama, tmp_path, words, sentence):
    data = written(tmp_path / "data.jsonl", [{"messages": [{"role": "human", "content": "a"}]}])
    done = call(*({"LLAMA": llama, "DATA": data}.get(word, word) for word in words))
    assert done.exit_code == 2, done.output
    assert sentence in " ".join(done.stderr.split())


def test_prompts_of_released_annotations_are_those_of_the_strategies():
    from evaluator.lumos.training.training import module_lessons

    content = templates.plan_prompt(task="t", past=()).removeprefix(templates.USER).removesuffix(templates.ASSISTANT)
    record = {"messages": [{"role": "user", "content": content}, {"role": "assistant", "content": "Subgoal 1: s"}]}
    (lesson,) = module_lessons(record)
    assert lesson.messages[0].content == templates.plan_prompt(task="t", past=())
