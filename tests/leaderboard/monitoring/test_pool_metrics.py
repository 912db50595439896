"""What the scaler of a worker pool asks, and who may."""

import pytest
from django.test import Client

from leaderboard.evaluations.models import EvaluationState
from leaderboard.monitoring import views
from leaderboard.monitoring.figures import DatabaseFigures
from tests.leaderboard.factories import make_evaluation, make_suite

pytestmark = pytest.mark.django_db
TOKEN = "the-token-of-these-tests"


@pytest.fixture(autouse=True)
def _with_pools(pools, settings, monkeypatch):
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(views, "_FIGURES", DatabaseFigures(cache_seconds=0))


def asked(path: str, token: str = TOKEN, **more):
    return Client().get(path, headers={"Authorization": f"Bearer {token}"} if token else {}, **more)


def test_a_scaler_reads_how_many_workers_a_pool_needs(launcher, django_assert_max_num_queries):
    make_evaluation(state=EvaluationState.LAUNCHING, suite=make_suite(runnable=20))
    with django_assert_max_num_queries(2):
        answer = asked("/metrics/pools/gpu")
    assert answer.json() == {"workers": 3, "models": 0, "open_shards": 3}
    assert "no-store" in answer.headers["Cache-Control"]
    assert asked("/metrics/pools/models").json() == {"workers": 0, "models": 0, "open_shards": 0}


def test_only_who_has_the_token_of_metrics_reads_it(settings):
    assert asked("/metrics/pools/gpu", "wrong").status_code == 401
    assert asked("/metrics/pools/gpu", "").status_code == 401
    assert asked("/metrics/pools/unknown").status_code == 404
    assert asked("/metrics/pools/unknown", "wrong").status_code == 401
    settings.METRICS_TOKEN = ""
    settings.DEMO = False
    assert asked("/metrics/pools/gpu").status_code == 404


def test_a_scaler_inside_the_cluster_is_not_sent_to_https(settings):
    settings.SECURE_SSL_REDIRECT = True
    assert asked("/metrics/pools/gpu").status_code == 200
    assert asked("/metrics").status_code == 200
    assert asked("/metricsx").status_code == 301


def test_prometheus_reads_the_same_numbers_where_there_are_pools(launcher, settings):
    make_evaluation(state=EvaluationState.LAUNCHING)
    text = asked("/metrics").content.decode()
    for line in (
        'planarena_pool_workers{pool="gpu"} 1.0', 'planarena_pool_models{pool="gpu"} 0.0',
        'planarena_pool_open_shards{pool="models"} 0.0', "planarena_evaluations_without_pool 0.0",
    ):  # fmt: skip
        assert line in text
    settings.WORKER_POOLS = ()
    assert "planarena_pool_workers{" not in asked("/metrics").content.decode()
    assert asked("/metrics/pools/gpu").status_code == 404
