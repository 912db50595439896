"""Making sure that it is the owner who ends an account: a browser that was left signed in is not enough."""

from allauth.account.adapter import get_adapter
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from leaderboard.people.models import User

_WRONG = "That is not the password of this account."


def problem_with(*, request: HttpRequest, user: User, entered: str) -> str:
    """Why what was entered does not confirm that it is the user; nothing if it does.

    Args:
        request: of the browser or program.
        user: who is signed in.
        entered: the password, or the user name for an account without one, which signs in with GitHub only.
    """
    if not user.has_usable_password():
        return "" if entered == user.username else f"Enter your user name, {user.username}, to confirm."
    try:
        # The adapter, not `check_password`: it slows down who guesses.
        found = get_adapter().authenticate(request, username=user.username, password=entered)
    except ValidationError as error:
        return " ".join(error.messages)
    return "" if found is not None and found.pk == user.pk else _WRONG
