import numpy as np
import pytest

from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import PlanContext
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.core.tools.types import ResourceType
from evaluator.openagi.grammar import requests
from evaluator.openagi.strategies.constraint import comma_text, tree_text
from evaluator.openagi.training.corpus import draw_annotator, draw_paraphrase, few_shot_lesson
from evaluator.replies.read import read_plan


def paraphrases(count, *, seed=0):
    rng = np.random.default_rng(seed)
    return [draw_paraphrase(annotator=draw_annotator(rng), rng=rng) for _ in range(count)]


def words(text):
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def test_no_request_of_the_suite_is_ever_drawn_nor_part_of_what_is_drawn():
    literal = {words(request.text) for request in requests()}
    rng = np.random.default_rng(1)
    drawn = {words(found.request) for found in paraphrases(5000)}
    read = " ".join(words(few_shot_lesson(rng=rng, shown=4).messages[0].content) for _ in range(200))
    assert not literal & drawn
    assert not any(text in read for text in literal)
    assert not any("step by step" in text for text in drawn)


@pytest.mark.full
def test_words_that_only_the_suite_has_are_never_read():
    drawn = " ".join(words(found.request) for found in paraphrases(3000))
    for word in ("clozed", "resolutioned", "regular image", "class label", "object names", "summarization"):
        assert word not in drawn


def test_what_is_drawn_depends_on_the_seed_alone():
    assert paraphrases(20, seed=3) == paraphrases(20, seed=3)
    assert paraphrases(20, seed=3) != paraphrases(20, seed=4)


@pytest.mark.parametrize("seed", range(4))
def test_every_plan_of_an_annotator_can_be_executed(seed):
    for found in paraphrases(300, seed=seed):
        plan = found.plan
        text = comma_text(plan.branches[0]) if len(plan.branches) == 1 else tree_text(
            branches=plan.branches, names=plan.names
        )  # fmt: skip
        kinds = {name: ResourceType.IMAGE if name == "image" else ResourceType.TEXT for name in found.sampled.resources}
        expects = ResourceType(found.sampled.makes)
        context = PlanContext(catalogue=OPENAGI, resources=kinds, expects=expects, known=OPENAGI)
        parsed = read_plan(value=text, context=context)
        problems = check_plan(plan=parsed.plan, context=context)
        assert {problem.code for problem in problems} <= {"answer_type"}, (found, problems)
