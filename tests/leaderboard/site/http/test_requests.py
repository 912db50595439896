"""Addresses that no page can do anything with."""

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from tests.leaderboard.factories import make_evaluation


@pytest.mark.django_db
def test_the_api_says_it_in_its_own_words():
    evaluation = make_evaluation()
    answer = Client().get(f"/api/v1/evaluations/{evaluation.pk}/results/%00/")
    assert (answer.status_code, answer.json()["code"]) == (400, "unstorable")


def test_it_is_the_same_for_asynchronous_servers():
    get = async_to_sync(AsyncClient().get)
    assert get("/health/live?q=%00").status_code == 400
    assert get("/health/live").status_code == 200
