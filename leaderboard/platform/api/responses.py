"""Refusals that several calls of the API describe."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse

CONFLICT = OpenApiResponse(OpenApiTypes.OBJECT, description="The evaluation's state does not allow this now.")
NO_QUOTA = OpenApiResponse(OpenApiTypes.OBJECT, description="The quota of today is used up; see `Retry-After`.")
NOT_READY = OpenApiResponse(OpenApiTypes.OBJECT, description="The site cannot evaluate at present.")
REUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="The `Idempotency-Key` came before with another request.")
TOO_MANY_JOBS = OpenApiResponse(
    OpenApiTypes.OBJECT, description="Too many calls, or too many of the caller's are unfinished; see `Retry-After`."
)
