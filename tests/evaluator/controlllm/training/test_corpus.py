"""The corpus of the decomposer: always the same, by the grammar, and none of the requests that it is measured on."""

import hashlib

import pytest

from evaluator.controlllm.strategies.subtasks import typed_subtasks
from evaluator.controlllm.strategies.trained.linear import Grammar, linear_tokens, parsed, written
from evaluator.controlllm.toolbench.mini.hidden import hidden_tasks
from evaluator.controlllm.training.corpus import pair_of
from evaluator.controlllm.training.decomposer import HELD_OUT, distinct_pairs, wording
from evaluator.core.suites.registry import suite_of
from evaluator.replies.decomposition import parse_decomposition
from tests.evaluator.toolbench_data import find_controlllm

pytestmark = pytest.mark.full

DIGEST_OF_WHAT_THE_SHIPPED_NETWORKS_LEARNT = "e5aa5bb15a8bb15adecab081e81ed06c9c3c09490e254d1b86cb446241ce34e6"


@pytest.fixture(scope="module")
def pairs():
    return list(distinct_pairs(size=3000))


def test_the_same_number_always_gives_the_same_pair_the_one_that_the_shipped_networks_learnt(pairs):
    said = "\n".join(f"{one.reading.request}\n{' '.join(linear_tokens(one.subtasks))}" for one in pairs[:300])
    assert hashlib.sha256(said.encode()).hexdigest() == DIGEST_OF_WHAT_THE_SHIPPED_NETWORKS_LEARNT
    assert pair_of(7).reading.request == pair_of(7).reading.request != pair_of(7, seed=HELD_OUT).reading.request


def test_all_pairs_follow_the_grammar_and_are_written_by_the_protocol(pairs):
    for pair in pairs[:400]:
        sequence, grammar = linear_tokens(pair.subtasks), Grammar(pair.reading)
        for place, token in enumerate(sequence):
            assert token in grammar.allowed(sequence[:place]), (pair.reading.request, sequence)
        assert parsed(sequence) == pair.subtasks
        read = parse_decomposition(written(subtasks=pair.subtasks, reading=pair.reading))
        assert typed_subtasks(read)
        assert not read.tolerated


def test_what_is_held_out_was_not_learnt_from(pairs):
    learnt = frozenset(map(wording, pairs))
    held = list(distinct_pairs(size=50, seed=HELD_OUT, without=learnt))
    assert not learnt & {wording(pair) for pair in held}


def test_no_request_of_our_own_suites_is_in_the_corpus(pairs):
    own = {task.text for slug in ("toolmini", "toolworld") for task in suite_of(slug).tasks}
    own |= {task.instruction for task in hidden_tasks(seed="a secret")}
    assert not own & {pair.reading.request for pair in pairs}


def test_no_request_of_the_released_benchmarks_is_in_the_corpus(pairs, released):
    assert not released & {pair.reading.request for pair in pairs}


@pytest.fixture(scope="module")
def released():
    from evaluator.controlllm.toolbench.released.files import TOOL2K, TOOL100, read_tool2k, read_tool100

    folder = find_controlllm()
    if folder is None:
        return {"What is there to compare with?"}
    return {task.instruction for task in (*read_tool100(folder / TOOL100), *read_tool2k(folder / TOOL2K))}
