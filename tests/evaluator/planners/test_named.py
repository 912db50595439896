"""Planners by name, with real checkpoints on this machine."""

import pytest

from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError
from evaluator.plans import check_plan, read_plan
from evaluator.suites import suite_of
from evaluator.tools.openagi import OPENAGI
from tests.evaluator.planners.strategies.conversing import request_of
from tests.fakes.tiny_models import saved, t5, unigram

SUITE = suite_of("openagi")
TASK = "3"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    tokenizer = unigram(texts=[", ".join(OPENAGI.tools), SUITE.task(TASK).text])
    return saved(tmp_path_factory.mktemp("checkpoint"), model=t5(tokenizer), tokenizer=tokenizer)


@pytest.mark.full
def test_a_checkpoint_in_a_folder_plans_within_the_constraint_although_it_knows_nothing(checkpoint):
    planner = planner_named(name=f"openagi/constrained:dir:{checkpoint}", suite=SUITE)
    reply = planner.plan(request_of("openagi", TASK))
    context = SUITE.context(task=SUITE.task(TASK), offered=frozenset(SUITE.catalogue.tools))
    assert check_plan(plan=read_plan(value=reply.plan, context=context).plan, context=context) == ()
    assert planner.identity()["language_model"]["weights_digest"]


@pytest.mark.parametrize("model", ["dir:nowhere", "lilliput-planner/unheard-of", "hf", "dir:"])
def test_a_model_that_cannot_be_had_is_a_sentence(model):
    with pytest.raises(PlannerNameError, match=r"nowhere|There is no language model"):
        planner_named(name=f"openagi/constrained:{model}", suite=SUITE)
