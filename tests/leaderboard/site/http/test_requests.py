"""Addresses that no page can do anything with."""

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from tests.leaderboard.factories import make_evaluation, make_user

ADDRESSES = (
    "/boards/{suite}/?profile_digest=%00&split=public&samples=8",
    "/evaluations/{evaluation}/tasks/%00/",
    "/evaluations/{evaluation}/?q=%00",
    "/admin/evaluations/evaluation/?state=%00",
)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_nul_is_a_bad_request_and_no_defect(address):
    evaluation = make_evaluation()
    operator = make_user()
    operator.is_staff = True
    operator.save()
    client = Client(raise_request_exception=False)
    client.force_login(operator)
    answer = client.get(address.format(suite=evaluation.suite.slug, evaluation=evaluation.pk))
    assert answer.status_code == 400
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.django_db
def test_the_api_says_it_in_its_own_words():
    evaluation = make_evaluation()
    answer = Client().get(f"/api/v1/evaluations/{evaluation.pk}/results/%00/")
    assert (answer.status_code, answer.json()["code"]) == (400, "unstorable")


def test_it_is_the_same_for_asynchronous_servers():
    get = async_to_sync(AsyncClient().get)
    assert get("/health/live?q=%00").status_code == 400
    assert get("/health/live").status_code == 200


@pytest.mark.django_db
def test_a_number_of_samples_that_no_board_has_is_not_found():
    slug = make_evaluation().suite.slug
    address = f"/boards/{slug}/?profile_digest=a&split=public&samples={'9' * 5000}"
    assert Client(raise_request_exception=False).get(address).status_code == 404
