"""The fields of planners that workers call at an address of their owner's, with a secret header if they ask for one."""

from typing import Any

from django import forms

from leaderboard.planners.data import TIMEOUT
from leaderboard.planners.fields import Field, SeenBy, Text, Tick

CALL_TEMPLATE = "submissions/kinds/called.html"
_TYPED = {"autocomplete": "off", "spellcheck": "false"}

ENDPOINT_URL = Text(
    "endpoint_url",
    label="Address of the endpoint",
    noun="address",
    help="Receives planner/1 requests, or is the base URL of a chat API, such as https://example.org/v1. Only you see "
    "this address.",
    example="https://example.org/plan",
    longest=500,
    seen_by=SeenBy.OWNER,
    widget=forms.URLInput,
    attributes={"placeholder": "https://example.org/plan"},
)

HEADER_NAME = Text(
    "header_name",
    label="Name of the header",
    noun="secret header",
    help="A header that your endpoint requires, such as Authorization or X-Api-Key.",
    page_help="Such as Authorization or X-Api-Key.",
    example="Authorization",
    seen_by=SeenBy.OWNER,
    is_kept=False,
    attributes={**_TYPED, "placeholder": "Authorization"},
    template=CALL_TEMPLATE,
)
HEADER_VALUE = Text(
    "header_value",
    label="Value of the header",
    noun="secret header",
    help="The value of the header: stored encrypted, sent to your endpoint only, and never shown again. If omitted, "
    "the one that is stored for the planner of this name is used.",
    page_help="Stored encrypted and never shown again.",
    example="Bearer " + "x" * 24,
    seen_by=SeenBy.NOBODY,
    is_kept=False,
    attributes=_TYPED,
    template=CALL_TEMPLATE,
)
REMOVE_HEADER = Tick(
    "remove_header",
    label="Remove the stored header of this planner",
    noun="secret header",
    help="Remove the stored header.",
    page_help="To replace a stored header, enter the new one above.",
    example=False,
    is_kept=False,
    template=CALL_TEMPLATE,
)

CALL: tuple[Field[Any], ...] = (
    ENDPOINT_URL,
    TIMEOUT,
    HEADER_NAME,
    HEADER_VALUE,
    REMOVE_HEADER,
)
"""What a worker needs to call a planner."""
