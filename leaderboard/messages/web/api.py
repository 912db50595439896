"""The API of the user's webhooks and email settings."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.messages import webhooks as services
from leaderboard.messages.models import OutboxMessage, Webhook
from leaderboard.messages.notices import choose_mails
from leaderboard.people.authentication import user_of
from leaderboard.people.models import Mails
from leaderboard.people.web.api import LoggedInView
from leaderboard.platform.api.examples import ATTEMPT_ID, LATER, ROW_ID, WHEN, example
from leaderboard.platform.api.shapes import Input, ModelOutput, Output


@example({"mails": "ended"})
class MailsShape(Input):
    """Which emails the user gets."""

    mails = serializers.ChoiceField(
        choices=Mails.choices,
        help_text="`none`; `needed`: when an evaluation needs the user's action, failed or was not verified; "
        "`ended`: also when one is complete.",
    )


class MailsView(LoggedInView):
    """Which emails the user gets."""

    bodies = {"PUT": MailsShape}

    @extend_schema(responses=MailsShape)
    def get(self, request: Request) -> Response:
        return Response(MailsShape(request.user).data)

    @extend_schema(responses=MailsShape)
    def put(self, request: Request) -> Response:
        """Choose which emails to get."""
        choose_mails(user=user_of(request), **self.read(request))
        return Response(MailsShape(request.user).data)


@example({"url": "https://example.org/hook"})
class WebhookInput(Input):
    """A webhook to add."""

    url = serializers.CharField(
        help_text="Receives a signed POST when one of your evaluations ends or needs your action."
    )


class DeliveryOutput(ModelOutput[OutboxMessage]):
    """A message to a webhook."""

    state = serializers.CharField(source="standing", help_text="`waiting`, `sent` or `given up`.")
    event = serializers.JSONField(source="payload.event")

    class Meta:
        model = OutboxMessage
        fields = ["id", "event", "state", "tries", "created", "available_at", "sent_at", "given_up_at", "last_error"]


_DELIVERY = {
    "id": ATTEMPT_ID, "event": "evaluation.completed", "state": "sent", "tries": 1, "created": LATER,
    "available_at": LATER, "sent_at": LATER, "given_up_at": None, "last_error": "",
}  # fmt: skip


@example({
    "id": ROW_ID, "url": "https://example.org/hook", "active": True, "created": WHEN, "deliveries": [_DELIVERY],
})  # fmt: skip
class WebhookOutput(Output):
    """A webhook with its last messages. Its secret is shown once, when it is added."""

    id = serializers.UUIDField(source="webhook.id")
    url = serializers.CharField(source="webhook.url")
    active = serializers.BooleanField(source="webhook.active")
    created = serializers.DateTimeField(source="webhook.created")
    deliveries = DeliveryOutput(many=True)


@example({"id": ROW_ID, "url": "https://example.org/hook", "secret": "whsec_" + "x" * 32})
class NewWebhookOutput(ModelOutput[Webhook]):
    """A new webhook."""

    class Meta:
        model = Webhook
        fields = ["id", "url", "secret"]


class WebhooksView(LoggedInView):
    """The user's webhooks, each with its last messages."""

    bodies = {"POST": WebhookInput}

    @extend_schema(responses=WebhookOutput(many=True))
    def get(self, request: Request) -> Response:
        return Response(WebhookOutput(services.with_deliveries(user_of(request)), many=True).data)

    @extend_schema(responses={201: NewWebhookOutput})
    def post(self, request: Request) -> Response:
        webhook = services.add_webhook(owner=user_of(request), **self.read(request))
        return Response(NewWebhookOutput(webhook).data, status=status.HTTP_201_CREATED)


class WebhookView(LoggedInView):
    """One of the user's webhooks."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        """Remove the webhook."""
        if not services.remove_webhook(owner=user_of(request), webhook_id=webhook_id):
            raise NotFound("You have no such webhook.")
        return Response(status=status.HTTP_204_NO_CONTENT)


class TestView(LoggedInView):
    """Test events of a webhook."""

    @extend_schema(responses={202: None})
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Send a signed `test` event."""
        if not services.send_test(owner=user_of(request), webhook_id=webhook_id):
            raise NotFound("You have no such webhook.")
        return Response(status=status.HTTP_202_ACCEPTED)
