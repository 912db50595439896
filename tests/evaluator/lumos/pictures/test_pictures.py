"""A-OKVQA and ScienceQA: when they are there, which pictures their tools see, and how answers are scored."""

import json

import pytest
from PIL import Image

from evaluator.core.records import Outcome, Reason
from evaluator.core.suites.registry import forget, suite_names, suite_of
from evaluator.core.turns import TurnResponse
from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.episodes.turns.environment import Call, Made, Refused, ToolFault
from evaluator.execution.engine.store import LocalStore
from evaluator.lumos.answering import Answering
from evaluator.lumos.mounted import VARIABLE
from evaluator.lumos.pictures.environment import letter_of
from evaluator.lumos.pictures.source import ChoiceFileError, read_okvqa, read_science
from evaluator.replies.turns.actions import read_actions
from tests.evaluator.episodes.turns.toy import Answers

OKVQA = [
    {
        "split": "val", "image_id": 299207, "question_id": "22jbM6gDxdaMaunuzgrsBB", "question": "What is in the cup?",
        "choices": ["tea", "a cat", "snow", "sand"], "correct_choice_idx": 1, "direct_answers": "['cat']",
        "difficult_direct_answer": False, "rationales": ["Ears look out of it."],
    }
]  # fmt: skip


def problem(**other):
    found = {
        "question": "Which of these is north?", "choices": ["Maine", "Texas"], "answer": 0, "hint": "",
        "task": "closed", "image": "image.png", "grade": "grade2", "subject": "social science", "topic": "geography",
        "category": "Maps", "skill": "Read a map", "lecture": "", "solution": "Maine.", "split": "test",
    }  # fmt: skip
    return {**found, **other}


SCIENCE = {
    "4": problem(), "5": problem(split="train"), "6": problem(image=None),
    "7": problem(hint="Look at the map.", answer=1),
}  # fmt: skip


@pytest.fixture
def mounted(monkeypatch, tmp_path):
    """Both suites with all their files."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (tmp_path / "a-okvqa" / "val2017").mkdir(parents=True)
    (tmp_path / "a-okvqa" / "aokvqa_v1p0_val.json").write_text(json.dumps(OKVQA))
    Image.new("RGB", (8, 6), "red").save(tmp_path / "a-okvqa" / "val2017" / "000000299207.jpg")
    for number in ("4", "7"):
        (tmp_path / "scienceqa" / "test" / number).mkdir(parents=True)
        Image.new("RGB", (8, 6), "blue").save(tmp_path / "scienceqa" / "test" / number / "image.png")
    (tmp_path / "scienceqa" / "problems.json").write_text(json.dumps(SCIENCE))
    forget()
    yield tmp_path
    forget()


def setting(path, *, profile: str = "paper") -> Setting:
    return Setting(profile=profile, open_store=lambda: LocalStore(path / "store"))


def call(action: str, *, scope: str) -> Call:
    (read,) = read_actions(text=action, tools=("VQA", "QA")).actions
    return Call(
        scope=scope, tool=read.tool, arguments=read.raw, references=read.references, values={},
        outputs=len(read.outputs),
    )  # fmt: skip


def test_a_missing_picture_is_named_before_anything_runs(mounted):
    (mounted / "scienceqa" / "test" / "7" / "image.png").unlink()
    with pytest.raises(SettingError, match=r"test/7/image.png cannot be read"):
        episode_of("scienceqa").rules_digest("paper")


def test_tasks_are_the_questions_with_pictures_and_their_choices(mounted):
    okvqa, science = suite_of("a-okvqa"), suite_of("scienceqa")
    assert {"a-okvqa", "scienceqa"} <= set(suite_names())
    assert [(task.text, task.answer) for task in okvqa.tasks] == [
        ("What is in the cup?\nA) tea\nB) a cat\nC) snow\nD) sand", "B")
    ]
    assert [(task.key, task.answer) for task in science.tasks] == [("4", "A"), ("7", "B")]
    assert science.tasks[1].text == "Context: Look at the map.\nWhich of these is north?\nA) Maine\nB) Texas"
    assert list(science.tasks[0].resources) == ["IMG"]


def test_the_rules_change_with_a_picture(mounted):
    before = episode_of("scienceqa").rules_digest("paper")
    Image.new("RGB", (8, 6), "green").save(mounted / "scienceqa" / "test" / "4" / "image.png")
    assert episode_of("scienceqa").rules_digest("paper") != before


def test_experts_that_know_no_photographs_answer_nothing(mounted):
    suite = suite_of("a-okvqa")
    evaluator = episode_of("a-okvqa").evaluator(suite=suite, setting=setting(mounted, profile="lilliput"))
    planner = Answers(lambda _: TurnResponse(answer="B"))
    (record,) = evaluator.run(planner=planner, tasks=[suite.tasks[0].key])
    assert (record.outcome, record.reason, planner.asked) == (Outcome.NOT_RUN, Reason.NO_EXPERT, [])
    assert "need the experts of the profile paper, not lilliput" in record.reason_text


def test_answers_without_a_tool_are_scored(mounted):
    suite = suite_of("a-okvqa")
    evaluator = episode_of("a-okvqa").evaluator(suite=suite, setting=setting(mounted))
    planner = Answers(lambda _: TurnResponse(answer="a cat"))
    (record,) = evaluator.run(planner=planner, tasks=[suite.tasks[0].key])
    assert (record.score, record.transcripts[0].expected) == (1.0, "B")


class Recording:
    """Stands in for the experts' engine: answers with the size of the picture and the question."""

    offered = frozenset({"Question Answering", "image_question_answering"})

    def run(self, calls):
        from evaluator.core.records import StepRun
        from evaluator.episodes.turns.expert_tools import Ran

        step = StepRun(step="s", tool="t", expert="e", key="k", inputs={}, outputs={}, cached=False, seconds=0.0)
        texts = [f"{one.inputs['image'].size} {one.inputs['text']}" for one in calls]
        return [Ran(outputs={"response": text}, step=step) for text in texts]


def test_a_question_is_asked_of_the_tasks_own_picture(mounted, monkeypatch):
    monkeypatch.setattr(Answering, "_tools", lambda self: Recording())
    environment = episode_of("scienceqa").environment(setting(mounted))
    task = suite_of("scienceqa").tasks[0]
    scope = environment.scope(task)
    actions = ("R1 = VQA([IMG], Question: What is blue?)", "R1 = VQA(../7/image.png, Question: What?)", "R1 = QA(IMG)")
    seen, other, bad = environment.run([call(action, scope=scope) for action in actions])
    assert seen == Made(("(8, 6) What is blue?",))
    assert isinstance(other, Refused)
    assert "There is no picture" in other.message
    assert isinstance(bad, Refused)
    Image.new("RGB", (2048, 512)).save(mounted / "scienceqa" / "test" / "4" / "image.png")
    (large,) = environment.run([call(actions[0], scope=scope)])
    assert large == Made(("(1024, 256) What is blue?",))
    Image.new("1", (8000, 8000)).save(mounted / "scienceqa" / "test" / "4" / "image.png")
    (huge,) = environment.run([call(actions[0], scope=scope)])
    assert huge == ToolFault("The picture cannot be opened: ValueError.")
    (mounted / "scienceqa" / "test" / "4" / "image.png").write_bytes(b"no picture")
    (failed,) = environment.run([call(actions[0], scope=scope)])
    assert failed == ToolFault("The picture cannot be opened: UnidentifiedImageError.")


ANSWERS = [
    ("B", "B"), ("b", "B"), ("(B)", "B"), ("B) a cat", "B"), ("B. It has ears.", "B"), ("A cat.", "B"),
    ("tea", "A"), ("E", None), ("", None), ("Because", None), ("it is B", None), ("Dog", None),
]  # fmt: skip


def test_a_letter_or_the_words_of_a_choice_are_an_answer(subtests):
    for answer, letter in ANSWERS:
        with subtests.test(case=answer):
            assert letter_of(answer, choices=["tea", "a cat", "snow", "sand"]) == letter


@pytest.mark.parametrize(
    ("read", "content", "named"),
    [
        (read_okvqa, "{}", "no list"), (read_okvqa, "[3]", "question 0 lacks something"),
        (read_okvqa, json.dumps([{**OKVQA[0], "correct_choice_idx": 4}]), "question 0 has 4 choices, of which 4"),
        (read_okvqa, json.dumps([{**OKVQA[0], "image_id": "../x"}]), "question 0"),
        (read_science, "[]", "no object"), (read_science, '{"4": 3}', "question 4"),
        (read_science, json.dumps({"4": problem(image="../../x.png")}), "is no name of a picture"),
        (read_science, json.dumps({"../4": problem()}), "question ../4"),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_named_with_the_question(read, content, named, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(ChoiceFileError, match=named):
        read(path)
