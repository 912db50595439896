"""The ledger of quotas in the admin."""

from django.contrib import admin

from leaderboard.config.admin import ReadOnlyAdmin, site
from leaderboard.quotas.models import QuotaBalance, QuotaEntry


@admin.register(QuotaEntry, site=site)
class QuotaEntryAdmin(ReadOnlyAdmin):
    """Charges and refunds."""

    list_display = ("created", "user", "suite", "day", "amount", "reason", "evaluation")
    list_filter = ("reason", "suite", "day")
    list_select_related = ("user", "evaluation")
    search_fields = ("user__username", "=evaluation__id")
    ordering = ("-created",)


@admin.register(QuotaBalance, site=site)
class QuotaBalanceAdmin(ReadOnlyAdmin):
    """What was used of a day."""

    list_display = ("day", "user", "suite", "used", "charged")
    list_filter = ("day", "suite")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    ordering = ("-day", "user")
