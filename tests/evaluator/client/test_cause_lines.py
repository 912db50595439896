"""What `planarena results` says of causes."""

import httpx
import pytest

from evaluator.client import Client, RefusedError
from evaluator.client.cause_lines import cause_lines, causes_of_evaluation
from evaluator.client.shapes import Evaluation

CAUSES = {
    "ran": 120, "below": 3, "at_gold": 117, "unknown": 0,
    "causes": [
        {"cause": "missing_step", "label": "missing step", "definition": "", "tasks": 3, "share": 0.025},
        {"cause": "extra_step", "label": "extra step", "definition": "", "tasks": 1, "share": 0.01},
    ],
}  # fmt: skip


def asked(answer):
    client = Client(url="http://site.test", transport=httpx.MockTransport(lambda _: answer))
    return causes_of_evaluation(client, Evaluation.model_construct(id="abc"))


def test_one_line_says_how_many_and_one_each_why():
    lines = cause_lines(asked(httpx.Response(200, json=CAUSES)), suite="mini")
    assert lines == (
        "mini: 3 of 120 tasks below the gold score", "mini: 3 missing step", "mini: 1 extra step",
    )  # fmt: skip


def test_an_older_site_says_nothing():
    assert asked(httpx.Response(404, json={"detail": "Not found."})) is None


def test_other_refusals_are_told():
    with pytest.raises(RefusedError, match="No"):
        asked(httpx.Response(403, json={"detail": "No"}))
