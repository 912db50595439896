"""What is signed has one form, and everything in it counts."""

import json

import pytest

from evaluator.client.verify.rows import columns_of
from evaluator.core import canonical_json
from evaluator.core.signatures.envelope import EnvelopeError, PrivateKey, _parsed, open_envelope, seal
from evaluator.core.signatures.statements import (
    ColumnFacts,
    KeysStatement,
    TaskEntry,
    WithdrawalStatement,
    rows_that_left,
    tasks_digest,
)
from tests.fakes.signed_site import START, SUITE

ENTRY = {
    "task": "14", "metric": "ViT", "outcome": "scored", "accepted": False, "score": 0.5, "samples": [0.25, 0.75],
    "indicators": {}, "sample_indicators": {}, "seconds": 1.5, "prompt_tokens": None, "completion_tokens": None,
    "record": "a" * 64,
}  # fmt: skip
KEY = PrivateKey.from_secret("a key of the tests")
KEYS = KeysStatement(key=KEY.public.id, keys={"count": 1, "digest": "a" * 64}, signed=START)
WITHDRAWAL = {
    "key": KEY.public.id, "suite": "openagi", "number": 1, "previous": None, "what": "owner",
    "reason": "account deleted", "evaluations": ["e"], "placeholder": "deleted user 0badcafe", "through": 3,
    "snapshot": None, "contents": {}, "created": START,
}  # fmt: skip


def test_values_by_sample_are_signed():
    found = [ENTRY, *({**ENTRY, "sample_indicators": {"closed": values}} for values in ([1.0, 0.0], [0.0, 1.0]))]
    assert len({tasks_digest(evaluation="e", tasks=[TaskEntry.model_validate(one)]) for one in found}) == 3


def test_a_statement_is_read_as_it_was_signed():
    envelope = seal(statement=KEYS, key=KEY)
    assert open_envelope(envelope, expected=KeysStatement, keys={KEY.public.id: KEY.public}) == KEYS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"count":1', '"count":1.0'),
        ('"count":1', '"count":"1"'),
        ('"count":1', '"count":true'),
        ('"count":1', '"count":1,"count":1'),
        ('"count":1', '"count":99999999999999999999'),
        ('"count":1', '"count":NaN'),
        ('"count":1', '"count":1,"other":1'),
        ('"version":1', '"version": 1'),
        ("T10:00:00Z", "T10:00:00+00:00"),
        ('"planarena/keys"', '"planarena\\/keys"'),
    ],
)
def test_another_form_of_the_same_statement_is_refused_whoever_signed_it(old, new):
    body = seal_body()
    assert old in body
    with pytest.raises(EnvelopeError):
        _parsed(body.replace(old, new).encode(), expected=KeysStatement)


def seal_body() -> str:
    return canonical_json.dumps(json.loads(KEYS.model_dump_json()))


@pytest.mark.parametrize(
    "changes",
    [
        {"placeholder": "eve"},
        {"placeholder": "deleted user eve"},
        {"placeholder": None},
        {"what": "planner"},
        {"what": "row"},
        {"what": "row", "placeholder": None, "contents": {"1": "a" * 64}},
        {"evaluations": []},
    ],
)
def test_a_withdrawn_name_is_replaced_by_a_fixed_text(changes):
    assert WithdrawalStatement.model_validate(WITHDRAWAL).placeholder
    with pytest.raises(ValueError, match=r"placeholder|at least 1"):
        WithdrawalStatement.model_validate({**WITHDRAWAL, **changes})


def row(evaluation: str, *, planner: str = "p", day: int = 1, runs: tuple[str, ...] = ()) -> dict:
    found = {"evaluation": evaluation, "planner": planner, "owner": "ada", "finished": f"2026-11-0{day}T10:00:00+00:00"}
    return {**found, "runs": {"evaluations": list(runs)}}


@pytest.mark.parametrize(
    ("after", "left"),
    [
        ([row("a")], []),
        ([row("b", day=2)], []),
        ([row("b", day=1, runs=("a", "b"))], []),
        ([row("b", planner="q", day=2)], ["a"]),
        ([row("b", planner="q"), row("a")], []),
        ([], ["a"]),
    ],
)
def test_a_row_leaves_a_board_unless_a_later_run_takes_its_place(after, left):
    assert rows_that_left(before=[row("a")], after=after) == left


def test_an_earlier_run_in_the_place_of_a_later_one_does_not_explain_it():
    assert rows_that_left(before=[row("a", day=2)], after=[row("b", day=1)]) == ["a"]


def test_columns_without_deciders_are_written_as_before_there_were_any():
    before = SUITE.columns[0]
    assert "decided_by" not in before.model_dump(mode="json")
    after = before.model_copy(update={"decided_by": {"network": "net", "arbiter": "arb"}})
    assert ColumnFacts.model_validate_json(after.model_dump_json(), strict=True) == after
    assert columns_of(SUITE.model_copy(update={"columns": [after]}))[0].decided_by == after.decided_by
