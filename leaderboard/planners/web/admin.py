"""Planners in the admin."""

from django.contrib import admin

from leaderboard.planners.models import CheckpointUpload, Planner
from leaderboard.platform.web.admin import ReadOnlyAdmin, site


@admin.register(Planner, site=site)
class PlannerAdmin(ReadOnlyAdmin):
    """Planners with their addresses, which are shown to their owners and operators only."""

    list_display = ("name", "owner", "kind", "bundled_name", "endpoint_url", "strategy", "model_name", "created")
    list_filter = ("kind",)
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username", "endpoint_url", "model_name")
    ordering = ("-created",)


@admin.register(CheckpointUpload, site=site)
class CheckpointUploadAdmin(ReadOnlyAdmin):
    """Uploaded checkpoints with their owners and sizes. Those never submitted are deleted after a day."""

    list_display = ("digest", "owner", "architecture", "bytes", "created", "wanted_at")
    list_select_related = ("owner",)
    search_fields = ("digest", "owner__username")
    ordering = ("-created",)
