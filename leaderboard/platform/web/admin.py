"""The operators' pages under `/admin/`: rows to read, and actions that go through the services of pages and API.

Nothing is edited here as a row: a state that is written past its transition table would break what the queue relies on.
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
    # Only the stubs of these take the type of the rows.
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin, TabularInline = admin.ModelAdmin, admin.TabularInline

ROWS_PER_PAGE = 50


class OperatorsSite(admin.AdminSite):
    """An admin of our own: what other packages register on Django's, such as tokens, is not on it."""

    site_header = "PlanArena for operators"
    site_title = "PlanArena"
    index_title = "Site administration"
    site_url = "/"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return is_operator(request.user)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002
        """Send to the site's own sign-in, which slows down who guesses passwords; who is no operator gets 403.

        Staff without the second factor that the site asks of them are sent where they set one up.
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
        """The site's own page, for the same reason."""
        return redirect("account_change_password")

    def password_change_done(  # type: ignore[override]  # Django renders a page here
        self,
        request: HttpRequest,  # noqa: ARG002
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Nobody is led here."""
        return redirect("admin:index")


site = OperatorsSite()


class _ForOperators:
    """Staff read everything that is registered; nobody adds, changes or deletes a row."""

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
"""Characters of a sentence in a list: all columns are in view beside the filters, and a row's own page has the rest."""


def short_time(moment: datetime | None) -> str:
    """A time in a list, in UTC."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def short_text(text: str) -> str:
    """The beginning of a sentence."""
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


class ReadOnlyAdmin(_ForOperators, ModelAdmin):
    """Rows to look at, newest first."""

    list_per_page = ROWS_PER_PAGE
    show_full_result_count = False
    actions_selection_counter = True

    @admin.display(description="id", ordering="pk")
    def short_id(self, row: Any) -> str:
        """The first characters of an id, which links to the row's own page."""
        return str(row.pk)[:8]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:  # noqa: ARG002 - Django's signature
        """Everything there is, also what no form could change, such as ids and times."""
        if self.fields:
            return list(self.fields)
        return [field.name for field in self.model._meta.fields if field.name not in (self.exclude or ())]

    def get_inline_instances(self, request: HttpRequest, obj: Any = None) -> "list[InlineModelAdmin[Any, Any]]":
        """Only those with rows: of the others there would be headings to scroll sideways, and nothing to do it with."""
        if obj is None:
            return []
        found = []
        for inline in super().get_inline_instances(request, obj):
            parent = inline.get_formset(request, obj).fk.name  # type: ignore[attr-defined]  # the field itself at run time
            if inline.get_queryset(request).filter(**{parent: obj}).exists():
                found.append(inline)
        return found


class ReadOnlyInline(_ForOperators, TabularInline):
    """Rows that belong to another one, each with a way to its own page where it has one: so the table, which scrolls on
    small screens, is reached by keyboard, too."""

    show_change_link = True

    extra = 0
    max_num = 0
    can_delete = False
    related: tuple[str, ...] = ()
    """What each row names, to be read with it: the heading of a row is its `__str__`."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """All of them in one query."""
        rows = super().get_queryset(request)
        return rows.select_related(*self.related) if self.related else rows


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
