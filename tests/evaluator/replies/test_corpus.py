"""500 replies in the dialects of services and chat templates are read as the gold plans that they write."""

from collections import Counter

from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import all_tools
from evaluator.replies.read import read_plan
from tests.evaluator.replies.corpus import COUNT, answers, invocations, replies


def test_each_reply_is_read_as_its_plan():
    suite = suite_of("toolmini")
    counts: Counter[str] = Counter()
    wrong = []
    for reply in replies():
        counts[reply.dialect] += 1
        try:
            plan = read_plan(value=reply.value, context=all_tools(suite=suite, task=reply.task)).plan
        except PlanSyntaxError as error:
            wrong.append(f"{reply.dialect}, {reply.task.key}: {error}")
            continue
        gold = reply.task.gold
        if (invocations(plan), answers(plan)) != (invocations(gold), answers(gold)):
            wrong.append(f"{reply.dialect}, {reply.task.key}: read as {plan.steps}")
    assert not wrong, f"{len(wrong)} of {counts.total()}:\n" + "\n".join(wrong[:20])
    assert counts.total() >= 500
    assert set(counts.values()) == {COUNT}
