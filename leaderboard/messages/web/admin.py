"""Messages and webhooks in the admin."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from leaderboard.messages.dispatching import send_again
from leaderboard.messages.models import OutboxMessage, Webhook
from leaderboard.people.authentication import user_of
from leaderboard.platform.web.admin import ReadOnlyAdmin, site


@admin.register(OutboxMessage, site=site)
class OutboxMessageAdmin(ReadOnlyAdmin):
    """Waiting messages, and recent ones that were sent or given up."""

    list_display = ("created", "kind", "standing", "tries", "available_at", "sent_at", "given_up_at", "last_error")
    list_filter = (
        "kind",
        ("given_up_at", admin.EmptyFieldListFilter),
        ("sent_at", admin.EmptyFieldListFilter),
    )
    search_fields = ("=id", "dedup_key", "last_error")
    ordering = ("-created",)
    actions = ("again",)

    @admin.display(description="state")
    def standing(self, message: OutboxMessage) -> str:
        return message.standing

    @admin.action(description="Send again")
    def again(self, request: HttpRequest, waiting: QuerySet[OutboxMessage]) -> None:
        """Send the messages again, at once."""
        for message in waiting:
            if send_again(message_id=message.pk, by=user_of(request)):
                messages.success(request, f"{message}: queued again.")
            else:
                messages.warning(request, f"{message}: a newer message with the same key already waits.")


@admin.register(Webhook, site=site)
class WebhookAdmin(ReadOnlyAdmin):
    """Webhooks, without their secrets."""

    exclude = ("secret",)
    list_display = ("url", "owner", "active", "created")
    list_filter = ("active",)
    list_select_related = ("owner",)
    search_fields = ("url", "owner__username", "=id")
    ordering = ("-created",)
