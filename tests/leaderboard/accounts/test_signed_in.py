"""The signed-in user of a request."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.test import RequestFactory
from django.utils.functional import SimpleLazyObject

from leaderboard.accounts.models import User
from leaderboard.accounts.signed_in import user_of


def test_the_user_of_a_request_is_found_behind_the_lazy_object_of_the_middleware():
    request = RequestFactory().get("/")
    user = User(pk=1, username="ada")
    request.user = SimpleLazyObject(lambda: user)
    assert user_of(request) == user


def test_a_view_without_its_login_required_shows_strangers_nothing():
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    with pytest.raises(PermissionDenied):
        user_of(request)
