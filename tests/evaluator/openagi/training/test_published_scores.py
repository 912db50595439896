"""The figures of the study in docs/planners.md#training-planners follow from the published scores."""

from pathlib import Path

from evaluator.core.suites.registry import suite_of

DOCS = Path(__file__).resolve().parents[4] / "docs"
RESULTS = DOCS / "studies" / "results" / "rltf"


def test_the_figures_of_the_manual_follow_from_the_published_scores():
    from evaluator.openagi.training.estimator_study import arms_of, gain, read_arm, with_starts

    text = " ".join((DOCS / "studies" / "constraints.md").read_text(encoding="utf-8").split())
    metrics = {task.key: str(task.metric) for task in suite_of("openagi").tasks}
    start, taught = with_starts(arms_of("fine-tuned/leave-one-out"))
    primary = gain(
        name=taught.name,
        taught={seed: read_arm(work=RESULTS, seed=seed, arm=taught) for seed in range(10)},
        start={seed: read_arm(work=RESULTS, seed=seed, arm=start) for seed in range(10)},
        metrics=metrics,
    )
    found = primary.difference.interval
    assert found.low is not None
    assert found.high is not None
    assert f"{found.mean:+.4f} ({found.low:+.4f} to {found.high:+.4f}, p = {primary.difference.p_value:.3f})" in text
