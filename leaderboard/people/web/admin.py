"""Users and teams in the admin: read-only except for their weight in the queue."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from leaderboard.people.authentication import user_of
from leaderboard.people.models import Invitation, Membership, Team, User
from leaderboard.people.services import LARGEST_WEIGHT, set_weight
from leaderboard.platform.web.admin import ReadOnlyAdmin, ReadOnlyInline, site


class WeightForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """The only editable field of users and teams."""

    queue_weight = forms.IntegerField(
        min_value=1,
        max_value=LARGEST_WEIGHT,
        help_text="A user with weight 2 gets twice the worker time of one with weight 1.",
    )

    class Meta:
        fields = ["queue_weight"]


class _Weighed(ReadOnlyAdmin):
    """Rows with an editable weight."""

    form = WeightForm

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_view_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: User | Team, form: WeightForm, change: bool) -> None:  # noqa: ARG002
        set_weight(of=obj, weight=form.cleaned_data["queue_weight"], by=user_of(request))


@admin.register(User, site=site)
class UserAdmin(_Weighed):
    """Staff rights are granted at the command line only, so that an operator's session cannot create operators."""

    fields = (
        "username", "email", "is_active", "is_staff", "date_joined", "last_login", "display_name", "affiliation",
        "link", "bio", "queue_weight",
    )  # fmt: skip
    readonly_fields = fields[:-1]
    list_display = ("username", "email", "is_active", "is_staff", "queue_weight", "date_joined")
    list_filter = ("is_staff", "is_active")
    search_fields = ("username", "email")
    ordering = ("-date_joined",)


class MembershipInline(ReadOnlyInline):
    model = Membership
    related = ("user", "team")


class InvitationInline(ReadOnlyInline):
    model = Invitation
    related = ("user", "team")


@admin.register(Team, site=site)
class TeamAdmin(_Weighed):
    """Teams with their members."""

    fields = ("name", "slug", "created", "description", "link", "shows_members", "queue_weight")
    readonly_fields = fields[:-1]
    list_display = ("name", "slug", "queue_weight", "created")
    search_fields = ("name", "slug", "memberships__user__username")
    ordering = ("name",)
    inlines = (MembershipInline, InvitationInline)
