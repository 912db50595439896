"""Strategies by name: what is listed can be made, and names that fit nothing say what would."""

import re

import pytest

from evaluator.core.plans.checks import check_plan
from evaluator.core.suites.registry import suite_names, suite_of, suites_in_turns
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError, split_name, strategies, strategy_of
from evaluator.replies.read import read_plan
from tests.evaluator.planners.strategies.conversing import request_of
from tests.fakes.tiny_models import saved, t5, unigram


def test_every_listed_strategy_says_what_it_does_and_can_be_made():
    for name, entry in strategies().items():
        assert entry.name == name
        assert ":" not in name
        assert entry.description.endswith(".")
        for with_model in (False, True):
            strategy = entry.strategy(with_model=with_model)
            assert strategy.name == name
            assert strategy.needs == (entry.needs or (entry.optional if with_model else frozenset()))
        if entry.in_turns:
            assert {"gsm8k", "svamp", "intercode-sql", "lumos-mini"} <= set(entry.suites)
            continue
        assert set(entry.suites) - set(suites_in_turns()) <= {
            "openagi", "openagi-season", "openagi-shifted", "toolmini", "toolmini-abstain", "toolworld", "tool100",
            "tool100-executed", "tool2k", "tool2k-executed", "soundworld", "pointmini",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "strategy", "model"),
    [
        ("controlllm/adaptive", "controlllm/adaptive", None),
        ("openagi/constrained:lilliput-planner/rltf", "openagi/constrained", "lilliput-planner/rltf"),
        ("hugginggpt:chat:https://host/v1#gpt-4o", "hugginggpt", "chat:https://host/v1#gpt-4o"),
        ("hugginggpt:", "hugginggpt", ""),
    ],
)
def test_a_name_is_a_strategy_and_a_model_whose_name_may_hold_colons(name, strategy, model):
    assert split_name(name) == (strategy, model)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("huggingpt:scripted:x", "there is no strategy 'huggingpt'; did you mean 'hugginggpt'?"),
        ("hugginggpt", "needs a language model that can generate: name one as hugginggpt:MODEL"),
        ("hugginggpt:", "needs a language model"),
        ("controlllm/greedy:", "controlllm/greedy: must be followed by a language model"),
        ("hugginggpt:gpt-9", "There is no language model 'gpt-9'; models are named"),
        ("hugginggpt:scripted:nowhere.jsonl", "nowhere.jsonl"),
        ("hugginggpt:dir:nowhere", "no model in nowhere"),
        ("hugginggpt:hf", "There is no language model 'hf'"),
        ("silver", "there is no bundled planner 'silver'; there are: gold, random-valid, random-valid/2,"),
    ],
)
def test_a_name_that_fits_nothing_says_what_would(name, says):
    with pytest.raises(PlannerNameError, match=re.escape(says)):
        planner_named(name=name, suite=suite_of("toolmini"))


def test_a_strategy_is_refused_for_a_suite_whose_requests_it_does_not_understand():
    for entry in strategies().values():
        for slug in suite_names():
            name = entry.name + (":objects" if entry.option_first else "") + (":model" if entry.needs else "")
            if entry.understands(slug):
                result = strategy_of(name=name, suite=suite_of(slug))
                assert result is entry or (entry.option_first and result.name == entry.name)
            else:
                with pytest.raises(PlannerNameError, match="does not understand requests of"):
                    strategy_of(name=name, suite=suite_of(slug))


@pytest.mark.full
def test_a_checkpoint_in_a_folder_plans_within_the_constraint_although_it_knows_nothing(tmp_path):
    suite, task = suite_of("openagi"), "3"
    tokenizer = unigram(texts=[", ".join(suite.catalogue.tools), suite.task(task).text])
    folder = saved(tmp_path / "checkpoint", model=t5(tokenizer), tokenizer=tokenizer)
    planner = planner_named(name=f"openagi/constrained:dir:{folder}", suite=suite)
    reply = planner.plan(request_of("openagi", task))
    context = suite.context(task=suite.task(task), offered=frozenset(suite.catalogue.tools))
    assert check_plan(plan=read_plan(value=reply.plan, context=context).plan, context=context) == ()
    assert planner.identity()["language_model"]["weights_digest"]
