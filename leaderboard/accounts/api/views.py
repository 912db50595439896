"""The base class of views for users. Apart from the permissions, which DRF loads before it has views."""

from rest_framework.views import APIView

from leaderboard.accounts.api.permissions import LOGGED_IN


class LoggedInView(APIView):
    """A view of the caller's own data, for signed-in users."""

    permission_classes = LOGGED_IN
