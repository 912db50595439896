"""The signed-in user of a request, and who has an operator's rights."""

from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.template import Context, Template
from django.test import RequestFactory
from django.utils.functional import SimpleLazyObject

import leaderboard
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


def test_operators_rights_are_asked_for_at_one_place():
    """Others would not ask for a second factor."""
    root = Path(leaderboard.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "migrations" not in path.parts and ".is_staff" in path.read_text()
    }
    assert found <= {"site/operators.py", "accounts/admin.py", "site/admin.py"}


def test_what_is_escaped_stays_escaped_in_sentence_case():
    template = Template("{% load sentence_case %}{% filter sentence_case %}{{ name }}{% endfilter %}")
    assert template.render(Context({"name": "A <B"})) == "A &lt;B"
