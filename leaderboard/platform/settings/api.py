"""The API: authentication, limits and schema."""

from datetime import timedelta

from drf_spectacular.types import OpenApiTypes

from leaderboard.platform.settings.base import DEMO, PROXIES, env

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "leaderboard.people.authentication.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticatedOrReadOnly",
        "leaderboard.people.authentication.HasScope",
    ],
    # The nearest proxy or the connection gives the client address; headers set by clients are ignored.
    "NUM_PROXIES": PROXIES,
    "DEFAULT_THROTTLE_CLASSES": [
        "leaderboard.platform.api.throttling.Throttle",
        "leaderboard.platform.api.throttling.ReadThrottle",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["leaderboard.platform.api.parsers.BoundedJSONParser"],
    "EXCEPTION_HANDLER": "leaderboard.platform.api.errors.handle",
    "DEFAULT_PAGINATION_CLASS": "leaderboard.platform.api.pagination.Pages",
    "DEFAULT_SCHEMA_CLASS": "leaderboard.platform.api.schema.ApiSchema",
    "DEFAULT_THROTTLE_RATES": {
        "tokens": "20/min",
        "submissions": "60/min",
        "changes": "120/min",
        "endpoint-tests": "12/min",
        "rewards": "30/min",
        "agents": "600/min",
        "checks": "240/min",
        "exports": "6/min",
        "archives": "12/min",
    },
}
API_READS_PER_MINUTE = {
    "reads": env.integer("PLANARENA_API_READS_PER_MINUTE", default=0 if DEMO else 1200, least=0),
    "anonymous-reads": env.integer("PLANARENA_API_ANONYMOUS_READS_PER_MINUTE", default=0 if DEMO else 300, least=0),
}
"""Read requests allowed per user, or per address for anonymous callers; 0: unlimited."""
STREAMS_PER_USER = env.integer("PLANARENA_STREAMS_PER_USER", default=20, least=0)
"""Concurrent live pages per user, each of which holds an event stream; 0: unlimited."""
STREAMS_PER_ADDRESS = env.integer("PLANARENA_STREAMS_PER_ADDRESS", default=60, least=0)
"""Concurrent live pages per address, over all its users and anonymous readers."""
REST_KNOX = {
    "TOKEN_TTL": timedelta(days=90),
    "TOKEN_LIMIT_PER_USER": None,  # counted in accounts.services, so that page and API give the same error
    "AUTH_HEADER_PREFIX": "Bearer",
    "TOKEN_PREFIX": "pa_",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "PlanArena",
    "DESCRIPTION": "Submit planners, follow their evaluation, read results and boards.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "OAS_VERSION": "3.1.1",
    "PATH_CONVERTER_OVERRIDES": {"id": OpenApiTypes.UUID, "number": OpenApiTypes.INT},
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "leaderboard.platform.api.schema.complete",
    ],
    "ENUM_NAME_OVERRIDES": {
        "EvaluationState": "leaderboard.evaluations.models.EvaluationState",
        "JobState": "leaderboard.queue.models.JobState",
        "PlannerKind": "leaderboard.planners.models.PlannerKind",
        "RunState": "leaderboard.workbench.models.RunState",
        "VoteChoice": "leaderboard.votes.models.Choice",
    },
}
