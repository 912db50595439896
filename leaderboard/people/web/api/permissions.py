"""What a token is good for, checked at one place for the whole API."""

from typing import Any

from knox.models import AuthToken
from rest_framework.permissions import SAFE_METHODS, BasePermission, IsAuthenticated
from rest_framework.request import Request

from leaderboard.people.scopes import Scope
from leaderboard.people.services import scopes_of


class HasScope(BasePermission):
    """A personal token has the scope that the call needs: `read`, or to change something the view's `scope`.

    A view that names none needs `manage`, so that what is forgotten is refused. Sessions have no scopes.
    """

    code = "scope_missing"

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, AuthToken):
            return True
        needed = Scope.READ if request.method in SAFE_METHODS else getattr(view, "scope", Scope.MANAGE)
        granted = scopes_of(request.auth)
        self.message = f"This needs a token with the scope {needed.value!r}; yours has: {', '.join(granted) or 'none'}."
        return needed in granted


LOGGED_IN = [IsAuthenticated, HasScope]
"""For views that also reading needs an account for."""
