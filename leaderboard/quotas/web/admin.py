"""The ledger of quotas in the admin."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList

from leaderboard.platform.web.admin import ReadOnlyAdmin, site
from leaderboard.quotas.models import QuotaBalance, QuotaEntry


class SuiteFilter(admin.AllValuesFieldListFilter):
    """By suite; what has none counts for all of them, and is called so: a link needs a text."""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield choice if choice["display"] != "" else {**choice, "display": "all suites"}


@admin.register(QuotaEntry, site=site)
class QuotaEntryAdmin(ReadOnlyAdmin):
    """Charges and refunds."""

    list_display = ("created", "user", "team", "suite", "day", "amount", "reason", "evaluation_id")
    list_filter = ("reason", ("suite", SuiteFilter), "day")
    list_select_related = ("user", "team")
    search_fields = ("user__username", "team__slug", "=evaluation__id")
    ordering = ("-created",)


@admin.register(QuotaBalance, site=site)
class QuotaBalanceAdmin(ReadOnlyAdmin):
    """What was used of a day."""

    list_display = ("day", "user", "team", "suite", "used", "charged")
    list_filter = ("day", ("suite", SuiteFilter))
    list_select_related = ("user", "team")
    search_fields = ("user__username", "team__slug")
    ordering = ("-day", "user")
