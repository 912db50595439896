"""Texts that are no plan get the worst value of every column, and envelopes around a plan change nothing."""

import json
import random
from dataclasses import dataclass

import pytest

from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.plans.literals import spelling
from evaluator.core.plans.model import PlanSyntaxError, plan_to_json
from evaluator.core.records import Outcome, PlannerCall, Reason
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.judgement import all_tools
from evaluator.episodes.parts import plan_all
from evaluator.replies.frontier import known_names
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.aggregate import TaskScore, counted
from tests.evaluator.replies.envelopes import ENVELOPES, MESSAGES
from tests.evaluator.replies.printing import UnprintableError, plan_to_comma, plan_to_printed, plan_to_tree

JUDGED = ("toolmini", "toolmini-abstain")
EXECUTED = ("openagi", "toolworld")
REFUSALS = r"""
I'm sorry, but I can't help with that.|I cannot assist with this request.|As an AI, I am unable to see images.|Sorry
No.|none|N/A|null pointer|I don't know which tool to use, sorry.|Please provide the image first.|undefined|42|-1|None
There is no tool for that, so I can't do it.|{}{|...|```|```json ```|<think>the plan is|Error: 404|[1, 2, 3]|(|[[|'|"
Let's think step by step: first we look, then we answer.|Sure! Here is the plan:|Here is the plan: Done.|Action:|R1
<html><body>Bad gateway</body></html>|{"error": "quota"}|{"message": "hi"}|Final Answer: 7|我无法帮助您。|Désolé, non.
"""
WORDS = """
the picture shows a dog near water because nobody asked for help with this task and we cannot do it, so please: again
later. maybe! why? first second finally { } [ ] ( ) " ' ` , , : ; 1 2. - * <|im_end|> </s> ```
"""


def texts(*, suite, count):
    """Refusals, sentences of random words, and beginnings of gold plans as JSON. None names a tool."""
    rng, words = random.Random(20261126), WORDS.split()
    golds = [json.dumps(plan_to_json(task.gold)) for task in suite.tasks if task.gold and task.gold.steps]
    refusals = REFUSALS.strip().replace("\n", "|").split("|")
    names = set(known_names(all_tools(suite=suite, task=suite.tasks[0])))
    while count:
        kind = rng.randrange(3)
        if kind == 0:
            text = " ".join(rng.choices(refusals, k=rng.randint(1, 3)))
        elif kind == 1:
            text = " ".join(rng.choices(words, k=rng.randint(1, 25)))
        else:
            gold = rng.choice(golds)
            text = gold[: rng.randrange(1, len(gold))]
            text = rng.choice((text, f"```json\n{text}", f"Here is the plan:\n{text}"))
        if not any(spelling(part) in names for part in text.replace("\n", ",").split(",")):
            count -= 1
            yield text


@dataclass
class Says:
    """A planner that answers the requests in turn with given texts."""

    texts: list[str]
    name: str = "says"

    def plan_all(self, requests):
        for index, _ in enumerate(requests):
            yield index, PlannerReply(plan=self.texts[index], call=PlannerCall(seconds=0.0))

    def plan(self, request: PlannerRequest) -> PlannerReply:
        raise AssertionError


@pytest.mark.parametrize("slug", JUDGED)
def test_texts_get_the_worst_value_of_every_column(slug, *, full):
    suite = suite_of(slug)
    evaluator = episode_of(slug).evaluator(suite=suite, setting=Setting())
    answers = list(texts(suite=suite, count=2000 if full else 200))
    keys = [task.key for task in suite.tasks if task.gold is not None]
    for start in range(0, len(answers), len(keys)):
        batch = answers[start : start + len(keys)]
        for record in evaluator.run(planner=Says(batch), tasks=keys[: len(batch)]):
            said = record.plan_received
            assert (record.outcome, record.reason) == (Outcome.PLANNER_FAULT, Reason.UNPARSABLE_PLAN), said
            for column in suite.metrics:
                (value,) = counted(column=column, results=[TaskScore.of(record)])
                if value is not None and column.ordered:
                    assert value == (0.0 if column.higher_is_better else 1.0) or column.key == "false_refusals", said


@pytest.mark.parametrize("slug", EXECUTED)
def test_texts_are_unreadable_for_suites_that_execute_plans(slug):
    suite = suite_of(slug)
    answers = list(texts(suite=suite, count=len(suite.tasks)))
    result = plan_all(
        planner=Says(answers), suite=suite, tasks=suite.tasks, context=lambda task: all_tools(suite=suite, task=task)
    )
    for record in result:
        assert getattr(record, "reason", None) is Reason.UNPARSABLE_PLAN, record
        assert record.score == 0.0


def forms(task):
    yield json.dumps(plan_to_json(task.gold))
    for printer in (plan_to_comma, plan_to_tree, plan_to_printed):
        try:
            yield printer(task.gold)
        except (UnprintableError, TypeError):
            continue


@pytest.mark.parametrize("slug", [*JUDGED, *EXECUTED, "openagi-season"])
def test_gold_plans_in_envelopes_are_read_as_the_bare_plans(slug, *, full):
    suite = suite_of(slug)
    for task in suite.tasks[:: 1 if full else len(suite.tasks) // 15]:
        if task.gold is None or not task.gold.steps:
            continue
        context = all_tools(suite=suite, task=task)
        for bare in forms(task):
            try:
                wanted = read_plan(value=bare, context=context)
            except PlanSyntaxError:
                continue
            for wrap in (*ENVELOPES.values(), *MESSAGES.values()):
                result = read_plan(value=wrap(bare), context=context)
                assert result.plan == wanted.plan, wrap(bare)
                assert len(result.tolerated) > len(wanted.tolerated)


AMBIGUOUS = (
    '```\n{"steps": []}\n```\nor\n```\n{"steps": [1]}\n```',
    'Either {"steps": [{"id": "a"}]} or {"steps": [{"id": "b"}]}',
    "<think>Image Denoising",
    "<think>Image Denoising</think>",
    'First: [{"task": "x"}], then [{"task": "y"}]',
    'The plan: {"steps": [{"id": "s1", "tool": "Image Denoising", "inputs": {}',
)


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_ambiguous_and_broken_off_answers_are_refused_with_a_sentence(text):
    suite = suite_of("openagi")
    with pytest.raises(PlanSyntaxError) as caught:
        read_plan(value=text, context=all_tools(suite=suite, task=suite.tasks[0]))
    assert len(str(caught.value).split()) >= 5


def test_a_literal_may_hold_what_looks_like_an_envelope():
    suite = suite_of("toolmini")
    task = suite.task("image_detection/0")
    plan = plan_to_json(task.gold)
    plan["steps"][-1]["inputs"]["condition"] = "</think> ```json {} ``` <|im_end|>"
    result = read_plan(value=json.dumps(plan), context=all_tools(suite=suite, task=task))
    assert plan_to_json(result.plan) == plan
    assert result.tolerated == ()
