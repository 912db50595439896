"""The check for operator rights, shared by pages, API and admin."""

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser

_KNOWN = "_is_operator"


def is_operator(user: AbstractUser | AnonymousUser) -> bool:
    """Whether a user is staff and has the second factor that the site requires of staff. Users with a second factor had
    to present it when they signed in. Cached on the user object."""
    if not (user.is_active and user.is_staff):
        return False
    if not hasattr(user, _KNOWN):
        setattr(user, _KNOWN, not settings.OPERATORS_NEED_SECOND_FACTOR or is_mfa_enabled(user))
    return bool(getattr(user, _KNOWN))
