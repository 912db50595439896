"""JSON that is verified is read in one way only."""

import json

import pytest

from evaluator.core import canonical_json


@pytest.mark.parametrize(
    "text", ['{"a":[1,-2.5,true,false,null,"\\u00e9"],"b":{}}', "9007199254740991", '" "', "[]", ' {"a": 1} ', "-0"]
)
def test_plain_json_is_read_as_everywhere(text):
    assert canonical_json.loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"a":1,"a":1}', "has the key 'a' twice"),
        (b'{"a":1,"\\u0061":2}', "has the key 'a' twice"),
        (b'[{"b":{"a":1,"a":2}}]', "has the key 'a' twice"),
        (b"NaN", "which JSON does not have"),
        (b'{"a":-Infinity}', "which JSON does not have"),
        (b"1e999", "too large"),
        (b"9007199254740992", "too large"),
        (b"-9007199254740992", "too large"),
        (b"9" * 1_000_000, "too large"),
        (b'"\\ud800"', "is not UTF-8"),
        (b'"\xff"', "is not UTF-8"),
        (b'"\xed\xa0\x80"', "is not UTF-8"),
        ('{"a":1}'.encode("utf-16"), "is not"),
        (b'\xef\xbb\xbf{"a":1}', "is not JSON"),
        (b'{"a":1} {"b":2}', "is not JSON"),
        (b'{"a":1,}', "is not JSON"),
        (b"", "is not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
    ],
)
def test_what_readers_may_understand_differently_is_refused(data, says):
    with pytest.raises(ValueError, match=says):
        canonical_json.loads(data)


def test_integers_of_any_size_are_read_where_planners_wrote_them():
    assert canonical_json.loads(str(2**64).encode(), any_integer=True) == 2**64
    with pytest.raises(ValueError, match="twice"):
        canonical_json.loads(b'{"a":1,"a":1}', any_integer=True)
