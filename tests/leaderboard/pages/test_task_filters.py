"""Filters and failure groups, without a database."""

from leaderboard.evaluations.task_filters import TaskRow, failures, select


def row(key: str, outcome: str = "scored", **fields) -> TaskRow:
    values = {
        "position": int(key),
        "text": f"Request {key}",
        "structure": "linear",
        "metric": "ViT",
        "base": "restoration",
        "degradations": (),
        "reason": "",
        "reason_text": "",
        "score": None,
        "seconds": None,
        "plan_summary": "",
    }
    return TaskRow(key=key, outcome=outcome, **values | fields)


def test_failures_are_grouped_by_outcome_and_reason_with_an_example():
    rows = [
        row("0"),
        row("1", "planner_fault", reason="invalid_plan", reason_text="first"),
        row("2", "planner_fault", reason="invalid_plan", reason_text="second"),
        row("3", "planner_fault", reason="planner_timeout"),
        row("4", "infra_fault", reason="worker_lost"),
        row("5", "not_run", reason="no_expert"),
    ]
    found = [(group.outcome, group.reason, group.count, group.sentences, group.example.key) for group in failures(rows)]
    assert found == [
        ("infra_fault", "worker_lost", 1, 1, "4"),
        ("planner_fault", "invalid_plan", 2, 2, "1"),
        ("planner_fault", "planner_timeout", 1, 1, "3"),
    ]


def test_a_task_with_several_degradations_is_found_under_each():
    rows = [row("0", degradations=("noise", "blur")), row("1", degradations=("blur",))]
    assert [one.key for one in select(rows=rows, parameters={"degradation": "noise"}).rows] == ["0"]
    assert [one.key for one in select(rows=rows, parameters={"degradation": "blur"}).rows] == ["0", "1"]


def test_a_facet_with_one_value_is_not_offered_unless_it_is_set():
    rows = [row("0"), row("1")]
    assert select(rows=rows, parameters={}).groups == ()
    assert [group.name for group in select(rows=rows, parameters={"metric": "ViT"}).groups] == ["metric"]


def test_the_search_wants_every_word_whatever_its_case():
    rows = [row("0", text="Given noisy image"), row("1", text="Given blurry image", plan_summary="Image Denoising")]
    assert [one.key for one in select(rows=rows, parameters={"q": "NOISY given"}).rows] == ["0"]
    assert [one.key for one in select(rows=rows, parameters={"q": "denoising"}).rows] == ["1"]


def test_rows_without_a_score_stay_last_in_both_directions():
    rows = [row("0"), row("1", score=0.2), row("2", score=0.9)]
    assert [one.key for one in select(rows=rows, parameters={"sort": "score"}).rows] == ["1", "2", "0"]
    assert [one.key for one in select(rows=rows, parameters={"sort": "-score"}).rows] == ["2", "1", "0"]
