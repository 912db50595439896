"""Rows of a board, as snapshots keep them."""

from typing import Any

from evaluator.core.suites.base import Column

METRICS = [
    Column(key="overall", label="Overall", description="Mean", primary=True).to_json(),
    Column(key="IR", label="IR", description="Irrelevant", higher_is_better=False).to_json(),
]


def row(planner: str = "gold", *, overall: float | None = 0.5, **changes: Any) -> dict[str, Any]:
    """A row; `overall=None` leaves it without the board's first metric."""
    metrics = {} if overall is None else {"overall": {"mean": overall, "low": None, "high": None, "tasks": 3}}
    return {
        "rank": 1, "rank_low": 1, "rank_high": 1, "rank_tests": 0, "planner": planner, "kind": "bundled",
        "owner": "ada", "evaluation": f"00000000-0000-0000-0000-{abs(hash(planner)) % 10**12:012}",
        "finished": "2026-11-20T10:00:00+00:00", "samples": 8, "metrics": metrics,
        "outcomes": {"scored": 3}, **changes,
    }  # fmt: skip


def usage(seconds: float, tokens: float | None = None) -> dict[str, Any]:
    """The `usage` of a row, all of the tokens in the prompts."""
    told = {} if tokens is None else {"prompt_tokens": tokens, "completion_tokens": 0.0}
    return {"usage": {"seconds": seconds, **told}}
