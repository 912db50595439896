"""Whatever a planner replies: nothing but the readers' own error escapes, and time grows with length, not faster."""

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.model import TurnSyntaxError
from evaluator.replies.turns.subgoals import read_plan_reply
from tests.evaluator.core.plans.linear import assert_linear

PIECES = (
    "R1", "R10", "R2, R3", "Output", " = ", "=", "==", "; ", ";", "\n", ", ", "(", ")", "[", "]", "{", "}", "'", '"',
    "`", "\\", "Calculator(", "SolveEquation(", "R1 = Calculator(2 - 0.5)", "R2 = QA([R1], Question: it's; ok?)",
    "SELECT a FROM b", "COUNT(*)", "Action 1-1: ", "Subgoal 1: ", "; Subgoal 2: ", "No, I will keep planning. ",
    "Yes, I will stop planning.", "x", "é", "\u2028", "\x00", "٣", " ", "  \t", "R", "1", ".", "= 3",
)  # fmt: skip
RIGHT = (
    "R1 = Calculator(2 - 0.5); R2, R3 = SolveEquation(R1 = x, y = 2x)",
    "R1 = SHOW TABLES; R2 = SELECT COUNT(*) FROM a WHERE b = 'c;d'",
    "R1 = QA([R1, R2], Question: Who won; and when?); Output = Finish(the boys' team) = yes",
    "No, I will keep planning. Subgoal 2: Divide; Subgoal 3: Add",
    "Yes, I will stop planning.",
)
READERS = {
    "calls": lambda text: read_actions(text=text),
    "statements": lambda text: read_actions(text=text, statements=True, tools=("Finish",)),
    "subgoals": read_plan_reply,
}


def random_reply(rng):
    """Anything, or a right reply with a few changes."""
    if rng.random() < 0.5:
        return "".join(rng.choices(PIECES, k=rng.randint(0, 25)))
    reply = rng.choice(RIGHT)
    for _ in range(rng.randint(0, 3)):
        place = rng.randint(0, len(reply))
        reply = reply[:place] + rng.choice(PIECES) + reply[place + rng.randint(0, 3) :]
    return reply


def fuzz(*, count, seed):
    """How many of the replies were read; anything but the readers' error escapes."""
    rng, read = random.Random(seed), 0
    for _ in range(count):
        reply = random_reply(rng)
        for reader in READERS.values():
            with suppress(TurnSyntaxError):
                reader(reply)
                read += 1
    return read


def test_random_replies_are_read_or_refused(full):
    count = 40_000 if full else 2000
    assert fuzz(count=count, seed=1) > count / 10


TEXT = st.text(alphabet="abR1 ,'+=[]", max_size=12)
NAMES = st.integers(min_value=1, max_value=99).map(lambda number: f"R{number}")
ACTION = st.tuples(
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.sampled_from(["Calculator", "QA", "Knowledge Query", "type"]),
    st.lists(st.one_of(NAMES, st.sampled_from(["it's", '"a; b"', "[R1; (x)]", "2 - 0.5", "x = 1"])), max_size=4),
).map(lambda parts: f"{', '.join(parts[0])} = {parts[1]}({', '.join(parts[2])})")


@settings(max_examples=150, deadline=None)
@given(st.lists(ACTION, min_size=1, max_size=6))
def test_what_is_read_prints_as_it_was_written(actions):
    text = "; ".join(actions)
    result = read_actions(text=text)
    assert str(result) == text
    again = read_actions(text=str(result))
    assert [str(action) for action in again.actions] == actions
    for action in result.actions:
        assert text[action.place.offset : action.end] == str(action)
        assert [action.raw[item.start : item.end] for item in action.items] == [item.text for item in action.items]
        assert all(action.raw[one.start : one.end] == one.name for one in action.references)
        assert action.with_values({one.name: one.name for one in action.references}) == action.raw


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_any_argument_is_kept_or_refused(raw):
    with suppress(TurnSyntaxError):
        for action in read_actions(text=f"R1 = T({raw}); R2 = U(R1)").actions:
            assert action.raw == action.raw.strip()


HOSTILE = (
    "(", "R1 = ", "R1 = A(b); ", "'", "' ", " '", '"', "\\", "\n", " \n", "R1 = A(it's\n", "Action 1", "R1, ", "x ",
    "R1 = A(b) = ", "Subgoal 1: ", "; Subgoal", ";\n", "a.", "9", "R1 = x\n", "R1 = A('", "R1 = A(R2, ", "[a, ",
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_length_and_not_faster(piece):
    for reader in READERS.values():
        # A prefix that makes the readers go on to the end.
        for prefix in ("", "R1 = A(", "R1 = S "):
            short, long = (prefix + piece * (size // len(piece)) for size in (2_000, 16_000))
            assert_linear(reader, short, long, error=TurnSyntaxError)
