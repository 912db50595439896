"""Zero-shot and few-shot: what is asked, and what becomes of the answer."""

import json

import pytest

from evaluator.core.language_model import Completion
from evaluator.core.records import Outcome, Reason
from evaluator.core.strategy import Draft
from evaluator.episodes.parts import ask_all
from evaluator.openagi.strategies.free_text import BareZeroShot, FewShot, SettingError, ZeroShot
from evaluator.openagi.strategies.prompts import (
    OWN,
    Demonstration,
    DemonstrationsError,
    digest_of,
    read_demonstrations,
)
from evaluator.openagi.strategies.similarity import LexicalSimilarity
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.scripted import ScriptedModel
from tests.evaluator.openagi.strategies.openagi_tasks import SUITE, TASKS, context, is_gold, read, request, task_like
from tests.fakes.constrained_model import held

FREE = (ZeroShot, BareZeroShot, FewShot)


def said(strategy, task, text):
    """The draft if the model says this, and the one call that it was asked."""
    asked = []

    def answer(calls):
        asked.extend(calls)
        return [Completion(text=text)]

    draft = held(strategy=strategy, request=request(task.key), answer=answer)
    (call,) = asked
    return draft, call


def steps(*lines):
    return "\n".join(f"Step {number}: {line}" for number, line in enumerate(lines, start=1))


@pytest.mark.parametrize("strategy", FREE)
def test_steps_in_ones_own_words_become_a_plan(strategy):
    task = task_like(text="Given noisy image, how to return the caption in German")
    text = steps("Remove the noise from the picture.", "Describe it in a sentence.", "Translate that into German.")
    draft, _ = said(strategy(), task, text)
    plan, problems = read(draft, task)
    assert problems == ()
    assert is_gold(plan, task)
    assert [line["mapper"] for line in draft.notes["lines"]] == ["lexical"] * 3
    assert draft.notes["completion"] == text
    assert draft.notes["prompt"] == f"{strategy.name}/1"


def test_repeats_are_kept_as_in_the_paper():
    task = task_like(text="Given noisy image, how to return the regular image")
    draft, _ = said(ZeroShot(), task, steps("Image Deblurring", "Image Deblurring"))
    assert len(read(draft, task)[0].steps) == 2


@pytest.mark.parametrize("strategy", FREE)
def test_gold_plans_can_be_said_in_steps(strategy):
    for task in TASKS[::11]:
        draft, _ = said(strategy(), task, steps(*lines_for(task.gold)))
        plan, problems = read(draft, task)
        assert problems == ()
        assert is_gold(plan, task)


def lines_for(plan):
    """A line for each step, with the input where it is a resource."""
    taken = [list(step.inputs.values()) for step in plan.steps]
    resources = [values[0][1:] if len(values) == 1 and values[0].startswith("$") else "" for values in taken]
    return [
        f"{step.tool} on the {name}" if name else step.tool for step, name in zip(plan.steps, resources, strict=True)
    ]


def test_unmapped_lines_are_shown_and_call_nothing():
    task = task_like(text="Given noisy image, how to return the regular image")
    draft, _ = said(ZeroShot(), task, steps("Ask a friend for help.", "Denoise the image."))
    plan, _ = read(draft, task)
    assert plan.tools() == ("Image Denoising",)
    first, second = draft.notes["lines"]
    assert (first["line"], first["mapped"]) == ("Ask a friend for help", False)
    assert (second["best"], second["mapped"]) == ("Image Denoising", True)
    assert draft.notes["threshold"] == LexicalSimilarity().threshold


@pytest.mark.parametrize("nonsense", ["", "?!", "Step 1: ", "The weather is nice, nice, nice.", "\n" * 500])
@pytest.mark.parametrize("strategy", FREE)
def test_nonsense_is_no_plan_and_no_crash(strategy, nonsense):
    draft, _ = said(strategy(), TASKS[0], nonsense)
    assert draft.plan == nonsense
    assert draft.unreadable == "no line of it could be mapped to a tool"


def test_nonsense_costs_its_own_task_only():
    task, other = TASKS[:2]
    right = steps(*lines_for(task.gold))
    model = ScriptedModel(lambda call: right if task.text in call.messages[-1].content else "Hm.")
    planner = StrategyPlanner(strategy=FewShot(), model=model)
    asked = ask_all(planner=planner, suite=SUITE, tasks=(task, other), context=context)
    records = {found.key: (record, reply) for found, record, reply in asked}
    assert is_gold(read(Draft(plan=records[task.key][1].plan), task)[0], task)
    record, reply = records[other.key]
    assert (record.outcome, record.reason, reply) == (Outcome.PLANNER_FAULT, Reason.UNPARSABLE_PLAN, None)
    assert record.planner_notes["lines"] == [
        {"line": "Hm", "best": None, "similarity": 0.0, "mapper": "lexical", "mapped": False}
    ]


def test_no_demonstration_is_a_request_of_the_suite():
    texts = {task.text.casefold().rstrip("?") for task in TASKS}
    phrases = ("step by step", "clozed", "low-resolutioned", "grayscale")
    for shown in OWN:
        assert shown.request.casefold().rstrip("?.") not in texts
        assert not any(phrase in shown.request for phrase in phrases)


def test_demonstrations_can_come_from_a_file(tmp_path, monkeypatch):
    path = tmp_path / "shown.json"
    path.write_text(json.dumps([{"request": "Mend it.", "steps": ["Colorization"]}]))
    monkeypatch.setenv("PLANARENA_OPENAGI_DEMONSTRATIONS", str(path))
    draft, call = said(FewShot(), TASKS[0], "")
    assert "Request: Mend it.\nPlan:\nStep 1: Colorization\n" in call.messages[0].content
    assert OWN[0].request not in call.messages[0].content
    assert draft.notes["demonstrations"]["digest"] == digest_of([Demonstration("Mend it.", ("Colorization",))])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not valid JSON"),
        ("[]", "list of one or more"),
        ('{"request": "a"}', "list of one or more"),
        ('[{"request": "a"}]', r'\[0\]: must be an object with "request" and "steps"'),
        ('[{"request": " ", "steps": ["b"]}]', r'\[0\]: "request" must be a text'),
        ('[{"request": "a", "steps": ["b"]}, {"request": "a", "steps": [1]}]', r'\[1\]: "steps" must be a list'),
    ],
)
def test_a_file_without_demonstrations_is_refused_with_the_place(tmp_path, text, message):
    path = tmp_path / "shown.json"
    path.write_text(text)
    with pytest.raises(DemonstrationsError, match=message):
        read_demonstrations(path)


def test_a_threshold_that_is_no_cosine_is_refused(monkeypatch):
    monkeypatch.setenv("PLANARENA_EMBEDDING_MODEL", "somewhere")
    monkeypatch.setenv("PLANARENA_EMBEDDING_THRESHOLD", "50%")
    with pytest.raises(SettingError, match="PLANARENA_EMBEDDING_THRESHOLD must be a number from -1 to 1, not '50%'"):
        said(ZeroShot(), TASKS[0], "")


def test_an_embedding_model_that_cannot_be_had_is_named_and_not_tried_for_every_task(monkeypatch, tmp_path):
    from evaluator.openagi.strategies.embedding import EmbeddingError

    folder = tmp_path / "late"
    monkeypatch.setenv("PLANARENA_EMBEDDING_MODEL", str(folder))
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="neither a folder nor ORG/NAME@REVISION"):
            said(ZeroShot(), TASKS[0], "")
        folder.mkdir(exist_ok=True)
