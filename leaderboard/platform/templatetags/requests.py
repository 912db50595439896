"""The id of the current request, for error pages."""

from typing import Any

from django import template

from leaderboard.platform.http.request_ids import current_request_id
from leaderboard.platform.http.well_known import contact_link

register = template.Library()


@register.inclusion_tag("components/request_id.html")
def request_id() -> dict[str, Any]:
    """The id with a copy button, and whom to send it to; nothing outside of a request. Reads no database."""
    return {"request_id": current_request_id(), "contact_link": contact_link()}
