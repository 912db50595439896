"""Worker tokens and jobs in the admin."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from leaderboard.people.authentication import user_of
from leaderboard.platform.web.admin import ReadOnlyAdmin, site
from leaderboard.queue.models import Job, WorkerToken
from leaderboard.queue.workers.tokens import revoke_worker_token


@admin.register(WorkerToken, site=site)
class WorkerTokenAdmin(ReadOnlyAdmin):
    """Tokens of operators' workers (without an owner) and of self-hosted workers."""

    exclude = ("token_hash",)
    list_display = ("name", "owner", "suite", "evaluation", "created", "last_used", "expires_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), ("owner", admin.EmptyFieldListFilter))
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username")
    ordering = ("-created",)
    actions = ("revoke",)

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, tokens: QuerySet[WorkerToken]) -> None:
        """Revoke the tokens; their leased shards can be leased again."""
        for token in tokens.select_related("owner"):
            if revoke_worker_token(owner=token.owner, token_id=token.pk, by=user_of(request)):
                messages.success(request, f"{token.name}: revoked. Its tasks can be leased again.")
            else:
                messages.warning(request, f"{token.name}: already revoked.")


@admin.register(Job, site=site)
class JobAdmin(ReadOnlyAdmin):
    """Users' jobs. Only their owners see requests and results."""

    exclude = ("request", "result")
    list_display = ("created", "kind", "owner", "state", "started", "finished", "deadline")
    list_filter = ("kind", "state")
    list_select_related = ("owner",)
    search_fields = ("=id", "owner__username")
    ordering = ("-created",)
