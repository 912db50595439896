"""Planners in the admin."""

from django.contrib import admin

from leaderboard.config.admin import ReadOnlyAdmin, site
from leaderboard.planners.models import Planner


@admin.register(Planner, site=site)
class PlannerAdmin(ReadOnlyAdmin):
    """Planners with their addresses, which are shown to their owners and operators only."""

    list_display = ("name", "owner", "kind", "bundled_name", "endpoint_url", "created")
    list_filter = ("kind",)
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username", "endpoint_url")
    ordering = ("-created",)
