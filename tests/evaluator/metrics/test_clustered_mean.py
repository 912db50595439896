import pytest

from evaluator.metrics.statistics import clustered_mean


def test_the_mean_is_that_of_all_values():
    assert clustered_mean([[0.0, 0.0, 0.0], [1.0]]).mean == pytest.approx(0.25)
    assert clustered_mean([[0.0, 0.0, 0.0], [1.0]]).count == 2


def test_copies_within_clusters_make_the_interval_no_narrower():
    clusters = [[value / 10] for value in range(10)]
    once, often = clustered_mean(clusters), clustered_mean([cluster * 50 for cluster in clusters])
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
    assert once.low < once.mean < once.high


def test_the_order_of_clusters_does_not_matter():
    clusters = [[0.1, 0.9], [0.3], [0.7, 0.2, 0.4]]
    assert clustered_mean(clusters) == clustered_mean(clusters[::-1])


def test_nothing_has_no_mean():
    for clusters in ([], [[0.5], []]):
        with pytest.raises(ValueError, match="at least one"):
            clustered_mean(clusters)
