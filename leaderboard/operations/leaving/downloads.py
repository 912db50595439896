"""Sending an export while it is made."""

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from leaderboard.operations.leaving.export import export
from leaderboard.people.models import User
from leaderboard.platform.http.downloads import streamed


def export_response(*, request: HttpRequest, user: User) -> StreamingHttpResponse:
    """The user's export as a download. The answer is 200 before the first row is read."""
    return streamed(
        request=request,
        parts=(piece.encode() for piece in export(user)),
        content_type="application/json",
        filename=f"planarena-account-{timezone.now():%Y-%m-%d}.json",
    )
