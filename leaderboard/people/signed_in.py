"""The user behind a request, in views that only signed-in users reach."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.request import Request

from leaderboard.people.models import User


def user_of(request: HttpRequest | Request) -> User:
    """The signed-in user of a request.

    Raises:
        PermissionDenied: nobody is signed in, so the view lacks its `login_required` or permission class.
    """
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user
