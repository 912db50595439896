"""Problem documents and parameters, as the schema shows them."""

from typing import Any

from leaderboard.platform.api.examples import EVALUATION_ID, ROW_ID, SUBMISSION_ID

PROBLEM_CONTENT_TYPE = "application/problem+json"

BY_PARAMETER: dict[str, Any] = {
    "evaluation_id": EVALUATION_ID,
    "submission_id": SUBMISSION_ID,
    "task_key": "14",
    "username": "bea",
    "webhook_id": ROW_ID,
}

PROBLEMS: dict[int, tuple[str, str, str]] = {
    400: ("invalid", "Bad Request", "planner.name: Give the planner a name."),
    401: ("not_authenticated", "Unauthorized", "Authentication credentials were not provided."),
    403: ("scope_missing", "Forbidden", "This needs a token with the scope 'submit'; yours has: read."),
    404: ("not_found", "Not Found", "Not found, or not visible to you."),
    409: ("not_possible", "Conflict", "The evaluation is 'completed': this is not possible any more."),
    413: ("too_large", "Request Entity Too Large", "The body is larger than 16777216 bytes."),
    415: ("unsupported_media_type", "Unsupported Media Type", 'Unsupported media type "text/plain" in request.'),
    422: ("idempotency_key_reused", "Unprocessable Entity", "The Idempotency-Key came before with another request."),
    429: ("throttled", "Too Many Requests", "Request was throttled. Expected available in 12 seconds."),
    503: ("not_ready", "Service Unavailable", "The site cannot evaluate at present."),
}
"""`code`, `title` and `detail` by status."""
