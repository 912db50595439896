"""Who decided about texts that the rules of a judge leave undecided, on the page of a task."""

import pytest

from evaluator.core.records import ResultRecord, TextPair
from evaluator.scoring.arbiters.network import shipped_network
from leaderboard.evaluations.web.tasks.planning_presenters import shown_pairs
from tests.leaderboard.factories import make_record

CHAT = {"name": "judge", "prompt": "same-meaning/1"}


def record_of(*, arbiter: dict[str, str] | None = None, **pair: object) -> ResultRecord:
    found = TextPair(kind="question", wanted="What is it?", given="What do you see?", why="“see” is unknown", **pair)
    return make_record("QA/0", suite="toolmini").model_copy(update={"pairs": [found], "arbiter": arbiter or {}})


@pytest.mark.parametrize(
    ("pair", "arbiter", "said"),
    [
        (
            {"verdict": "same", "by": "network", "answers": ["0.9731"]}, None,
            "The network decided: its probability that both mean the same is 0.9731.",
        ),
        (
            {"verdict": "different", "by": "arbiter", "answers": ["same", "different", "different"]}, CHAT,
            "The arbiter judge (same-meaning/1) decided; its answers: same, different, different.",
        ),
        # Before there was a network, only arbiters decided, and records did not say so.
        (
            {"verdict": "same", "answers": ["0.97"]}, {"name": "old", "weights": "ab" * 32},
            "The arbiter old (abababababab) decided; its answers: 0.97.",
        ),
        (
            {"answers": ["same", "unsure"], "problem": "No majority."}, CHAT,
            "The network did not decide, and neither did the arbiter judge (same-meaning/1); its answers: same, "
            "unsure. No majority.",
        ),
        (
            {"answers": ["0.5000"], "problem": "That is too close."}, None,
            "The network did not decide: its probability that both mean the same is 0.5000. That is too close.",
        ),
        ({}, None, "The network was not asked."),
    ],
)  # fmt: skip
def test_each_pair_says_who_decided(pair, arbiter, said):
    (shown,) = shown_pairs(record_of(arbiter=arbiter, **pair), has_present_rules=False)
    assert shown.decider == said


@pytest.mark.parametrize(("verdict", "side"), [("same", "more"), ("different", "less")])
def test_thresholds_are_those_of_the_network_that_decided(verdict, side):
    record = record_of(verdict=verdict, by="network", answers=["0.9731"])
    limit = shipped_network().thresholds("question")[verdict]
    (shown,) = shown_pairs(record, has_present_rules=True)
    assert shown.decider.endswith(f" is 0.9731, and {limit:g} or {side} is enough for this verdict.")


def test_a_text_that_the_network_does_not_get_is_said_to_be_one():
    (shown,) = shown_pairs(record_of(), has_present_rules=True)
    assert shown.decider == "The network was not asked: it gets no text that is the whole request or names a file."
