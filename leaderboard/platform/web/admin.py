"""The operators' pages under `/admin/`: read-only rows, and actions that use the services of pages and API.

Rows cannot be edited: a state that bypasses its transition table would break invariants of the queue.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.options import InlineModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from leaderboard.platform.models import AuditEntry
from leaderboard.platform.operators import is_operator

if TYPE_CHECKING:
    # Generic in the stubs only.
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin, TabularInline = admin.ModelAdmin, admin.TabularInline

ROWS_PER_PAGE = 50


class OperatorsSite(admin.AdminSite):
    """A separate admin site, without the models that other packages register on Django's, such as tokens."""

    site_header = "PlanArena for operators"
    site_title = "PlanArena"
    index_title = "Site administration"
    site_url = "/"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return is_operator(request.user)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002
        """Redirect to the site's sign-in page, which limits password guessing; non-operators get 403.

        Staff without the required second factor are redirected to its set-up.
        """
        if request.user.is_authenticated and request.user.is_staff:
            messages.warning(request, "Operators of this site need two-factor authentication: set it up first.")
            return redirect("mfa_activate_totp")
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))

    def password_change(  # type: ignore[override]  # Django renders a page here
        self,
        request: HttpRequest,  # noqa: ARG002
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Redirect to the site's page, for the same reason."""
        return redirect("account_change_password")

    def password_change_done(  # type: ignore[override]  # Django renders a page here
        self,
        request: HttpRequest,  # noqa: ARG002
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        return redirect("admin:index")


site = OperatorsSite()


class _ForOperators:
    """Operators can view registered models, but not add, change or delete rows."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        return is_operator(request.user)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - Django's signature
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the same
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the same
        return False


LONGEST_CELL = 60
"""Maximum length of a text in a list, so that all columns fit beside the filters."""


def short_time(moment: datetime | None) -> str:
    """A time in a list, in UTC."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def short_text(text: str) -> str:
    """The text, truncated for a list."""
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


class ReadOnlyAdmin(_ForOperators, ModelAdmin):
    """Read-only rows, newest first."""

    list_per_page = ROWS_PER_PAGE
    show_full_result_count = False
    actions_selection_counter = True

    @admin.display(description="id", ordering="pk")
    def short_id(self, row: Any) -> str:
        """The first characters of the id, which link to the row's page."""
        return str(row.pk)[:8]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:  # noqa: ARG002 - Django's signature
        """All fields, including those that forms exclude, such as ids and times."""
        if self.fields:
            return list(self.fields)
        return [field.name for field in self.model._meta.fields if field.name not in (self.exclude or ())]

    def get_inline_instances(self, request: HttpRequest, obj: Any = None) -> "list[InlineModelAdmin[Any, Any]]":
        """Only those with rows. Without rows, a scrolling table has nothing to focus, so it is not accessible by
        keyboard."""
        if obj is None:
            return []
        inlines = []
        for inline in super().get_inline_instances(request, obj):
            parent = inline.get_formset(request, obj).fk.name  # type: ignore[attr-defined]  # the field itself at run time
            if inline.get_queryset(request).filter(**{parent: obj}).exists():
                inlines.append(inline)
        return inlines


class ReadOnlyInline(_ForOperators, TabularInline):
    """Related rows, with links to their pages, which make a scrolling table accessible by keyboard."""

    show_change_link = True

    extra = 0
    max_num = 0
    can_delete = False
    related: tuple[str, ...] = ()
    """Relations that `__str__`, the heading of a row, reads."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        return rows.select_related(*self.related) if self.related else rows


@admin.register(AuditEntry, site=site)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit log; search by username, or by the id of an evaluation, submission, token, ..."""

    list_display = ("at", "who", "action", "target_kind", "label", "target", "details")
    list_filter = ("action", "target_kind")
    search_fields = ("=actor", "=target", "label")
    date_hierarchy = "at"

    @admin.display(description="who", ordering="actor")
    def who(self, entry: AuditEntry) -> str:
        return entry.actor or "(command line)"
