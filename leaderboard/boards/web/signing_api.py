"""API for `planarena verify`: signed statements, and the data that they cover."""

from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.boards.models import Snapshot
from leaderboard.boards.signing.proofs import evaluation_proof, keys_document, snapshot_proof, withdrawals_document
from leaderboard.catalog.models import Suite
from leaderboard.catalog.web.named import no_suite
from leaderboard.evaluations.visibility import RELATED, not_shared, records_are_open, visible_evaluations, withheld_from
from leaderboard.platform.api.examples import DIGEST, ENVELOPE, EVALUATION_ID, EXAMPLE_SUITE, ROW, example
from leaderboard.platform.api.shapes import Output
from leaderboard.platform.api.views import ApiView

_ENVELOPE = "The signed statement, a DSSE envelope; null if it is not signed."


@example({
    "format": "planarena-snapshot-proof/2", "suite": EXAMPLE_SUITE, "number": 12, "digest": DIGEST,
    "content": {"rows": [ROW], "coverage": {"run": 171, "total": 185}, "summary": {"leaders": 1}},
    "signature": ENVELOPE,
    "rows": [{"evaluation": EVALUATION_ID, "result": DIGEST, "names": {"owner": DIGEST}, "tasks": DIGEST}],
    "salts": {EVALUATION_ID: {"owner": DIGEST[:32]}},
})  # fmt: skip
class SnapshotProofOutput(Output):
    """A snapshot with its signature."""

    format = serializers.CharField(help_text="`planarena-snapshot-proof/2`")
    suite = serializers.CharField()
    number = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256 of the canonical JSON of `content`.")
    content = serializers.JSONField(help_text="The stored rows, coverage and summary.")
    signature = serializers.JSONField(allow_null=True, help_text=_ENVELOPE)
    rows = serializers.ListField(
        child=serializers.DictField(),
        help_text="For each row, the digests of its figures, its names and its tasks, which the statement covers.",
    )
    salts = serializers.DictField(
        child=serializers.DictField(child=serializers.CharField()),
        help_text="Salts of the digests of names, by evaluation and field; without those of withdrawn names.",
    )


@example({
    "format": "planarena-evaluation-proof/1", "evaluation": EVALUATION_ID, "signature": ENVELOPE,
    "tasks": [
        {
            "task": "14", "metric": "ViT", "outcome": "scored", "accepted": False, "score": 0.93, "samples": [0.93],
            "indicators": {}, "sample_indicators": {}, "seconds": 1.4, "prompt_tokens": 812, "completion_tokens": 64,
            "record": DIGEST,
        }
    ],
    "withheld": False, "salt": DIGEST[:32], "records": {"14": DIGEST},
})  # fmt: skip
class EvaluationProofOutput(Output):
    """The results of an evaluation with their signature."""

    format = serializers.CharField(help_text="`planarena-evaluation-proof/1`")
    evaluation = serializers.UUIDField()
    signature = serializers.JSONField(allow_null=True, help_text=_ENVELOPE)
    tasks = serializers.ListField(
        child=serializers.DictField(),
        help_text="The result of each task in the suite's order, with the salted digest of its record.",
    )
    withheld = serializers.BooleanField(
        help_text="Whether `tasks` is empty because hidden data are not public. The signature covers them."
    )
    salt = serializers.CharField(
        allow_null=True, help_text="Salt of the records' digests; null if the records are withheld."
    )
    records = serializers.DictField(
        child=serializers.CharField(),
        help_text="By task, the digest of its record, which `/objects/` serves; empty if the records are withheld.",
    )


@example({"format": "planarena-withdrawals/1", "suite": EXAMPLE_SUITE, "withdrawals": [ENVELOPE]})
class WithdrawalsOutput(Output):
    """The withdrawals from the boards of a suite."""

    format = serializers.CharField(help_text="`planarena-withdrawals/1`")
    suite = serializers.CharField()
    withdrawals = serializers.ListField(
        child=serializers.JSONField(),
        help_text="Signed statements, DSSE envelopes, oldest first. Each refers to the previous one.",
    )


class WithdrawalsView(ApiView):
    """The signed withdrawals of a suite: names of deleted users, and rows removed from a board."""

    @extend_schema(responses=WithdrawalsOutput)
    def get(self, request: Request, slug: str) -> Response:  # noqa: ARG002 - the base class's
        if not Suite.objects.filter(slug=slug).exists():
            raise no_suite(slug)
        return Response(WithdrawalsOutput(withdrawals_document(slug).model_dump(mode="json")).data)


class SnapshotProofView(ApiView):
    """A snapshot's rows with the signed statement that covers them, their results and the previous snapshot."""

    @extend_schema(responses=SnapshotProofOutput)
    def get(self, request: Request, slug: str, number: int) -> Response:  # noqa: ARG002 - the base class's
        snapshots = Snapshot.objects.filter(suite__slug=slug).select_related("suite")
        proof = snapshot_proof(get_object_or_404(snapshots, number=number))
        return Response(SnapshotProofOutput(proof.model_dump(mode="json")).data)


class EvaluationProofView(ApiView):
    """The results of an evaluation's tasks with the signed statement that covers them and their records. Until
    hidden data are public, only staff get the salt and the digests of records."""

    @extend_schema(responses=EvaluationProofOutput)
    def get(self, request: Request, evaluation_id: UUID) -> Response:
        related = visible_evaluations(request.user).select_related(*RELATED)
        evaluation = get_object_or_404(related, pk=evaluation_id)
        withheld = withheld_from(reader=request.user, evaluation=evaluation)
        shows_records = not (withheld.data or withheld.plan) or records_are_open(evaluation)
        proof = evaluation_proof(evaluation=evaluation, shows_records=shows_records, shows_tasks=not withheld.tasks)
        response = Response(EvaluationProofOutput(proof.model_dump(mode="json")).data)
        not_shared(response, suite=evaluation.suite, split=evaluation.split)
        return response


@require_safe
def keys(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 - Django's
    """`GET /.well-known/planarena-keys.json`."""
    response = JsonResponse(keys_document().model_dump(mode="json"))
    response["Cache-Control"] = "public, max-age=60"
    return response
