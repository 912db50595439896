"""The base class of views for users. Apart from the permissions, which DRF loads before it has views."""

from leaderboard.people.authentication import LOGGED_IN
from leaderboard.platform.api.views import ApiView


class LoggedInView(ApiView):
    """A view of the caller's own data, for signed-in users."""

    permission_classes = LOGGED_IN
