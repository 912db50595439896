"""The audit log in the admin."""

from django.contrib import admin

from leaderboard.platform.models import AuditEntry
from leaderboard.platform.web.admin import ReadOnlyAdmin, site


@admin.register(AuditEntry, site=site)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Who did what; search by user name, or by the id of an evaluation, submission, token, ..."""

    list_display = ("at", "who", "action", "target_kind", "label", "target", "details")
    list_filter = ("action", "target_kind")
    search_fields = ("=actor", "=target", "label")
    date_hierarchy = "at"

    @admin.display(description="who", ordering="actor")
    def who(self, entry: AuditEntry) -> str:
        return entry.actor or "(command line)"
