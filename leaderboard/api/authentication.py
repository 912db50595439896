"""Who calls the API."""

from typing import Any

from knox.auth import TokenAuthentication
from rest_framework.request import Request


class ApiTokenAuthentication(TokenAuthentication):
    """`Authorization: Bearer pa_...` with a personal token; `Token` is accepted in place of `Bearer`."""

    def authenticate(self, request: Request) -> Any:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        scheme, _, value = header.partition(" ")
        if scheme.lower() == "token":
            request.META["HTTP_AUTHORIZATION"] = f"Bearer {value}"
        return super().authenticate(request)
