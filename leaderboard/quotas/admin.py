"""The ledger of quotas in the admin."""

from django.contrib import admin

from leaderboard.config.admin import ReadOnlyAdmin, site
from leaderboard.quotas.models import QuotaBalance, QuotaEntry


@admin.register(QuotaEntry, site=site)
class QuotaEntryAdmin(ReadOnlyAdmin):
    """Charges and refunds."""

    list_display = ("created", "user", "team", "suite", "day", "amount", "reason", "evaluation_id")
    list_filter = ("reason", "suite", "day")
    list_select_related = ("user", "team")
    search_fields = ("user__username", "team__slug", "=evaluation__id")
    ordering = ("-created",)


@admin.register(QuotaBalance, site=site)
class QuotaBalanceAdmin(ReadOnlyAdmin):
    """What was used of a day."""

    list_display = ("day", "user", "team", "suite", "used", "charged")
    list_filter = ("day", "suite")
    list_select_related = ("user", "team")
    search_fields = ("user__username", "team__slug")
    ordering = ("-day", "user")
