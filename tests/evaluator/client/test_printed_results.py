"""What the client prints of reliability profiles, which it follows, and of causes."""

from collections.abc import Iterator

import httpx
import pytest

from evaluator.client import Client, UnreachableError
from evaluator.client.cli import cause_lines
from evaluator.client.reliability import follow, lines_of
from evaluator.client.shapes import Causes, Reliability

_VALUE = {"mean": 0.75, "low": 0.5, "high": 1.0, "count": 20}
_PROFILE = {
    "never_succeeds": False,
    "predictability": None,
    "dimensions": {"success": _VALUE, "predictability": None},
    "pass_hat": {"1": _VALUE},
    "equal_plans": {**_VALUE, "low": None, "high": None},
    "equal_edges": None,
    "resources": {"steps": _VALUE},
    "robustness": [{"label": "framed requests", "ratio": None}],
    "unavailable": [{"name": "paraphrased", "label": "paraphrased requests", "why": "Nothing can reword it."}],
}


def answer(state: str, *members: str, gaps: tuple[str, ...] = ()) -> dict[str, object]:
    return {
        "evaluation": "e1", "state": state, "profile": _PROFILE if state == "measured" else None,
        "members": [
            {"id": str(number), "perturbation": "", "repetition": number, "state": one}
            for number, one in enumerate(members, start=2)
        ],
        "gaps": [{"perturbation": "", "repetition": 5, "why": why} for why in gaps],
    }  # fmt: skip


def client_with(*answers: dict[str, object]) -> Client:
    left: Iterator[dict[str, object]] = iter(answers)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=next(left)))
    return Client(url="http://site.example", transport=transport)


def followed(*answers: dict[str, object], timeout: float | None = None) -> Reliability:
    time = iter(range(0, 10_000, 10))
    with client_with(*answers) as client:
        return follow(client=client, evaluation="e1", timeout=timeout, sleep=lambda _: None, clock=lambda: next(time))


def test_a_profile_is_followed_until_it_is_measured():
    found = followed(answer("measuring", "running"), answer("measuring", "completed"), answer("measured", "completed"))
    assert found.is_measured


def test_a_profile_that_waits_for_its_owner_is_followed_no_further():
    found = followed(answer("measuring", "running", "on_hold"), answer("measuring", "completed", "on_hold"))
    assert not found.is_measured


def test_after_the_time_limit_the_runs_go_on():
    with pytest.raises(UnreachableError, match="not measured within 30 seconds"):
        followed(*[answer("measuring", "running")] * 9, timeout=30.0)


def test_what_was_not_measured_is_printed_as_such():
    found = Reliability.model_validate(answer("measured", "completed", gaps=("Cancelled by its owner.",)))
    assert list(lines_of(found)) == [
        "success\t0.7500\t0.5000 to 1.0000",
        "predictability\tnot measured\t",
        "pass^1\t0.7500\t0.5000 to 1.0000",
        "equal plans\t0.7500\t",
        "equal edges\tnot measured\t",
        "consistency of steps\t0.7500\t0.5000 to 1.0000",
        "ratio, framed requests\tnot measured\t",
        "not available: paraphrased requests: Nothing can reword it.",
        "not measured: run 5: Cancelled by its owner.",
    ]


CAUSES = {
    "ran": 120, "below": 3, "at_gold": 117, "unknown": 0,
    "explanation": ["3 of 120 tasks are below the gold score.", "Missing step: 3 tasks."],
    "causes": [
        {"cause": "missing_step", "label": "missing step", "definition": "", "tasks": 3, "share": 0.025},
        {"cause": "extra_step", "label": "extra step", "definition": "", "tasks": 1, "share": 0.01},
    ],
}  # fmt: skip


def test_causes_are_printed_in_the_words_of_the_site():
    assert cause_lines(Causes.model_validate(CAUSES), suite="mini") == (
        "mini: 3 of 120 tasks are below the gold score.", "mini: Missing step: 3 tasks.",
    )  # fmt: skip
