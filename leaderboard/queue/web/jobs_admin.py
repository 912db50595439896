"""Jobs in the admin."""

from django.contrib import admin

from leaderboard.platform.web.admin import ReadOnlyAdmin, site
from leaderboard.queue.models import Job


@admin.register(Job, site=site)
class JobAdmin(ReadOnlyAdmin):
    """What users' jobs wait for. Requests and results are shown to their owners only."""

    exclude = ("request", "result")
    list_display = ("created", "kind", "owner", "state", "started", "finished", "deadline")
    list_filter = ("kind", "state")
    list_select_related = ("owner",)
    search_fields = ("=id", "owner__username")
    ordering = ("-created",)
