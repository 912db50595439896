"""The public keys, at the address where clients look for them."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from leaderboard.boards.signing.proofs import keys_document


@require_safe
def keys(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 - Django's
    """`GET /.well-known/planarena-keys.json`."""
    response = JsonResponse(keys_document().model_dump(mode="json"))
    response["Cache-Control"] = "public, max-age=60"
    return response
