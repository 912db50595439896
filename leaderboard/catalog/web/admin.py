"""Suites, their tasks and the sealed pool in the admin."""

from django.contrib import admin

from leaderboard.catalog.models import SealedEntry, Suite, Task
from leaderboard.catalog.web.sealed_admin import SealedEntryAdmin
from leaderboard.platform.web.admin import ReadOnlyAdmin, site


@admin.register(Suite, site=site)
class SuiteAdmin(ReadOnlyAdmin):
    """Suites are registered by `manage.py register_suites`."""

    list_display = ("slug", "version", "title", "current", "created")
    list_filter = ("current",)
    search_fields = ("slug", "title", "digest")
    ordering = ("slug", "-created")


@admin.register(Task, site=site)
class TaskAdmin(ReadOnlyAdmin):
    """Tasks come with their suite."""

    list_display = ("key", "suite", "position", "metric", "text")
    list_filter = ("suite",)
    list_select_related = ("suite",)
    search_fields = ("key", "text")
    ordering = ("suite", "position")


site.register(SealedEntry, SealedEntryAdmin)
