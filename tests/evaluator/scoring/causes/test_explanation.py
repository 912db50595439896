"""Sentences of findings, what causes cost, and the explanation of an evaluation."""

import json
from dataclasses import replace

import pytest

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.causes.costs import Costs, ExplainedTask, costs_of
from evaluator.scoring.causes.explanation import FROM_BEST, cause_line, explanation, headline
from evaluator.scoring.causes.sentences import mistake_key, pattern, sentence_of
from evaluator.scoring.causes.taxonomy import Cause, Finding
from evaluator.scoring.metrics.aggregate import TaskScore
from tests.evaluator.scoring.causes.labelled import cases

WRONG = Finding(cause=Cause.WRONG_TOOL, step="s2", tool="Colorization", given="Colorization", wanted="Image Denoising")
INPUT = Finding(cause=Cause.WRONG_INPUT, step="a", tool="OCR", input="image", given="$b", wanted="the result of Crop")
MISSING = Finding(cause=Cause.MISSING_STEP, tool="Image Denoising")
TEXT = Finding(cause=Cause.WRONG_LITERAL, step="s1", tool="select", input="condition", given="“boat”", wanted="“clock”")
UNDECIDED = Finding(cause=Cause.UNDECIDED, given="a boat", wanted="the boat")


@pytest.mark.parametrize(
    ("finding", "sentence", "without_reference"),
    [
        (
            WRONG,
            "Step 2 calls Colorization instead of Image Denoising.",
            "Step 2 calls Colorization, which is the wrong tool there.",
        ),
        (MISSING, "A call of Image Denoising is missing.", "A step is missing."),
        (
            INPUT,
            "Step a (OCR) takes $b as its image instead of the result of Crop.",
            "Step a (OCR) takes $b as its image, which is wrong.",
        ),
        (
            replace(INPUT, given="the result of Crop"),
            "Step a (OCR) takes the result of another call of Crop as its image.",
            "Step a (OCR) takes the result of Crop as its image, which is wrong.",
        ),
        (
            replace(INPUT, given=None),
            "Step a (OCR) has no input image; it should be the result of Crop.",
            "Step a (OCR) has no input image.",
        ),
        (
            TEXT,
            "Step 1 (select) takes “boat” as its condition instead of “clock”.",
            "Step 1 (select) takes “boat” as its condition, which is wrong.",
        ),
        (
            UNDECIDED,
            "The judge does not decide whether “a boat” means “the boat”.",
            "The judge does not decide whether “a boat” is right.",
        ),
        (
            Finding(cause=Cause.WRONG_ANSWER, given="no", wanted="yes"),
            "The final answer is “no” instead of “yes”.",
            "The final answer “no” is not right.",
        ),
    ],
)
def test_a_sentence_names_what_was_given_and_what_was_wanted(finding, sentence, without_reference):
    assert sentence_of(finding) == sentence
    assert sentence_of(finding.without_reference()) == without_reference


def test_every_finding_of_the_labelled_failures_is_one_sentence():
    for case in cases():
        for finding in case.findings():
            for shown in (finding, finding.without_reference(), Finding(cause=finding.cause)):
                text = sentence_of(shown)
                assert text[0] == text[0].upper(), text
                assert text.removesuffix("”")[-1] in ".!?…", text
                assert "None" not in text, text
            reference = finding.without_reference()
            wanted = finding.wanted or (finding.tool if finding.cause is Cause.MISSING_STEP else None)
            kept = {reference.given, reference.tool, reference.where}
            assert not wanted or wanted in kept or wanted not in sentence_of(reference), case.name


def test_sentences_that_differ_in_names_and_numbers_are_one_mistake():
    other = replace(TEXT, step="s7", given="“cat”")
    assert pattern(sentence_of(TEXT)) == pattern(sentence_of(other))
    assert pattern(sentence_of(WRONG)) != pattern(sentence_of(MISSING))
    assert mistake_key(TEXT) == mistake_key(other) != mistake_key(WRONG)
    assert len(pattern("word " * 10_000)) <= 300


SOLVED = Column(
    key="solved", label="Solved", description="", primary=True, good="solved", interval=IntervalMethod.WILSON
)
GRADED = Column(key="overall", label="Overall", description="", primary=True, interval=IntervalMethod.FIXED_TASKS)


def task(key, score, *findings, outcome=Outcome.SCORED, samples=()):
    result = TaskScore(task=str(key), metric="m", outcome=outcome, score=score, samples=samples)
    return ExplainedTask(score=result, findings=findings)


def twenty():
    right = [task(key, 1.0) for key in range(12)]
    return [
        *right,
        *(task(key, 0.0, WRONG, TEXT) for key in (12, 13, 14)),
        *(task(key, 0.0, replace(MISSING, step=None)) for key in (15, 16, 17, 18)),
        task(19, 0.0, TEXT),
    ]


def test_costs_of_causes_add_up_to_the_distance_from_the_gold_score():
    costs = costs_of(twenty(), column=SOLVED)
    assert [(one.cause, one.tasks, one.also) for one in costs.causes] == [
        (Cause.MISSING_STEP, 4, 0),
        (Cause.WRONG_TOOL, 3, 0),
        (Cause.WRONG_LITERAL, 1, 3),
    ]
    assert [one.cost.mean for one in costs.causes] == pytest.approx([0.2, 0.15, 0.05])
    assert costs.gap.mean == pytest.approx(sum(one.cost.mean for one in costs.causes)) == pytest.approx(8 / 20)
    assert all(one.cost.low < one.cost.mean < one.cost.high for one in costs.causes)
    assert (costs.ran, costs.below, costs.at_gold, costs.against_gold) == (20, 8, 12, True)
    assert Costs.from_json(json.loads(json.dumps(costs.to_json()))) == costs


def test_a_loss_is_the_distance_from_the_measured_gold_score_on_the_same_scenes():
    scenes = (0.1, 0.2, 0.3, 0.4, 0.5, 0.3, 0.2, 0.4, 0.1, 0.5)
    gold = {
        str(key): replace(task(key, 0.8).score, samples=tuple(scene + 0.5 for scene in scenes)) for key in range(10)
    }
    tasks = [task(key, 0.3, WRONG, samples=scenes) for key in range(5)]
    tasks += [replace(one, findings=()) for one in (task(key, 0.8, samples=gold["5"].samples) for key in range(5, 10))]
    costs = costs_of(tasks, column=GRADED, samples=10, has_experts=True, gold=gold)
    # The difference is the same on every scene, so that there is no variance over scenes.
    assert costs.gap.mean == pytest.approx(0.25)
    assert costs.against_gold
    missing = costs_of(tasks, column=GRADED, samples=10, has_experts=True)
    assert missing.gap.mean == pytest.approx(0.35)
    assert not missing.against_gold
    assert headline(missing, metric="Overall").endswith(FROM_BEST)
    low, high = missing.gap.ends
    assert low < 0.35 < high


def test_faults_of_the_site_cost_nothing_and_faults_of_the_planner_the_whole_score():
    site = Finding(cause=Cause.SITE_FAULT, given="The worker was lost.")
    late = Finding(cause=Cause.TIMEOUT, given="The endpoint did not answer within 30 s.")
    tasks = [
        task(0, 1.0), task(1, None, site, outcome=Outcome.INFRA_FAULT),
        task(2, 0.0, late, outcome=Outcome.PLANNER_FAULT), task(3, None, outcome=Outcome.NOT_RUN),
    ]  # fmt: skip
    costs = costs_of(tasks, column=SOLVED)
    assert [(one.cause, one.cost and one.cost.mean) for one in costs.causes] == [
        (Cause.TIMEOUT, 0.5),
        (Cause.SITE_FAULT, None),
    ]
    assert cause_line(costs.causes[1]) == "Fault of the site: 1 task. The worker was lost (task 1)."


def test_the_explanation_has_a_headline_and_the_costliest_causes():
    lines = explanation(costs_of(twenty(), column=SOLVED), metric="Solved", most=2)
    assert lines[0].startswith("8 of 20 tasks are below the gold score, which costs 0.400 (0.219 to 0.613) of Solved.")
    assert lines[1].startswith("Missing step: 4 tasks, costs 0.200 (")
    assert lines[1].endswith("). A call of Image Denoising is missing (tasks 15, 16, 17 and 1 more).")
    assert lines[2].endswith("Step 2 calls Colorization instead of Image Denoising (tasks 12, 13, 14).")
    assert len(lines) == 3


def test_headlines_of_planners_at_gold_of_undecided_tasks_and_of_unknown_causes():
    def of(*tasks):
        return headline(costs_of(tasks, column=SOLVED), metric="SE")

    assert of() == "No task has run."
    assert of(task(0, 1.0)) == "The task that ran is at the gold score."
    assert of(task(0, 1.0), task(1, 1.0)) == "All 2 tasks that ran are at the gold score."
    assert of(task(0, 1.0), task(1, 0.0, UNDECIDED)) == (
        "1 of 2 tasks is undecided, and none is known to be wrong; deciding them can add up to 0.500 to SE."
    )
    assert of(task(0, 0.0, MISSING), task(1, 0.0, UNDECIDED)) == (
        "1 of 2 tasks is below the gold score and 1 is undecided; "
        "together they cost up to 1.000 (0.342 to 1.000) of SE."
    )
    unknown = ExplainedTask(score=task(0, 0.5).score, findings=None)
    assert of(unknown) == "The causes of 1 task are not known yet."
