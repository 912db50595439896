"""Recorded actions of every tool: problems' gold plans, equations, systems and inequalities, and random texts.

The results were recorded from exact algorithms without sympy (Sturm's theorem, resultants by interpolation). To record
a change, compare it with a second system first.
"""

import json
from pathlib import Path

from evaluator.lumos.maths.algebra.values import read_value
from evaluator.lumos.maths.tools import Outcome, run

CASES = tuple(map(json.loads, Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()))


def result(case):
    values = {name: read_value(text) for name, text in case.get("values", {}).items()}
    outcome = run(tool=case["tool"], arguments=case["arguments"], values=values, outputs=case.get("outputs", 1))
    if isinstance(outcome, Outcome):
        return {"texts": list(outcome.texts)}
    return {"failure": outcome.kind.value, "sentence": outcome.sentence}


def test_recorded_actions_have_the_same_results():
    assert len(CASES) > 600
    different = {}
    for case in CASES:
        expected = {key: case[key] for key in ("texts", "failure", "sentence") if key in case}
        if result(case) != expected:
            different[case["tool"], case["arguments"]] = (result(case), expected)
    assert not different
