"""The sealed pool in the admin: its entries by state, adding one or many, and the blind review.

Goals are shown only once a reviewer or a parser has read another one, or the reviewer agreed: until then whoever opens
an entry may be the one who reviews it.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.debug import sensitive_post_parameters

from evaluator.core.suites.sealed import SealedRequestError, form_of
from leaderboard.catalog.models import SealedEntry, SealedState
from leaderboard.catalog.sealed.bodies import body_of, findings_of
from leaderboard.catalog.sealed.pool import (
    MOST_BYTES,
    PoolError,
    Proposal,
    UploadRefusedError,
    add,
    library_suite,
    read_lines,
    review,
    withdraw,
)
from leaderboard.catalog.web.sealed_forms import EntryForm, ReviewForm, UploadForm, example_line
from leaderboard.people.authentication import user_of
from leaderboard.platform.encryption import UnreadableSecretError
from leaderboard.platform.web.admin import ReadOnlyAdmin, short_time

_LIST = "admin:catalog_sealedentry_changelist"
_ROW = "admin:catalog_sealedentry_change"
_BLIND = (SealedState.PROPOSED, SealedState.DERIVED)
"""States in which nobody is shown the goal."""


class SealedEntryAdmin(ReadOnlyAdmin):
    """Requests of the sealed pool. Their words are not searched."""

    list_display = ("short_id", "suite", "state", "origin", "made", "added_by", "decided", "reviewer", "season")
    list_filter = ("state", "suite", "origin")
    list_select_related = ("added_by", "reviewer", "season")
    ordering = ("-added",)
    actions = ("withdraw",)
    change_list_template = "admin/sealed/list.html"
    change_form_template = "admin/sealed/entry.html"
    fields = ("suite", "state", "origin", "added", "added_by", "reviewed", "reviewer", "season")

    @admin.display(description="added (UTC)", ordering="added")
    def made(self, entry: SealedEntry) -> str:
        return short_time(entry.added)

    @admin.display(description="reviewed (UTC)", ordering="reviewed")
    def decided(self, entry: SealedEntry) -> str:
        return short_time(entry.reviewed)

    @admin.action(description="Withdraw for good")
    def withdraw(self, request: HttpRequest, entries: QuerySet[SealedEntry]) -> None:
        """Take entries out of the pool; those of a season stay."""
        for entry in entries:
            try:
                withdraw(entry.pk, by=user_of(request))
            except PoolError as error:
                messages.error(request, f"{entry}: {error}")
            else:
                messages.success(request, f"{entry}: withdrawn.")

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            # Error reports show no word of an entry.
            path("propose/", view(sensitive_post_parameters()(self.propose)), name="catalog_sealedentry_propose"),
            path("upload/", view(self.upload), name="catalog_sealedentry_upload"),
            path("<str:object_id>/review/", view(self.review), name="catalog_sealedentry_review"),
        ]
        return own + super().get_urls()

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """With the words of the entry, and its readings unless somebody may still review it blindly."""
        entry = context.get("original")
        if isinstance(entry, SealedEntry):
            try:
                context["body"] = body_of(entry)
                context["findings"] = None if entry.state in _BLIND else findings_of(entry)
            except UnreadableSecretError as error:
                messages.error(request, str(error))
            context["is_blind"] = entry.state in _BLIND
            context["may_review"] = entry.state == SealedState.DERIVED and entry.added_by_id != user_of(request).pk
        return super().render_change_form(request, context, *args, **kwargs)

    def propose(self, request: HttpRequest) -> HttpResponse:
        """Add one entry."""
        form = EntryForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            found = form.cleaned_data
            proposal = Proposal(**{name: found[name] for name in Proposal.model_fields})
            if entries := self._added(request, form=form, proposals=[(1, proposal)], numbered=False):
                return redirect(reverse(_ROW, args=[entries[0].pk]))
        return self._page(request, template="form", title="Add a sealed request", form=form, example=example_line())

    def upload(self, request: HttpRequest) -> HttpResponse:
        """Add many entries, all or none."""
        form = UploadForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            file = form.cleaned_data["file"]
            try:
                proposals = read_lines(file.read(MOST_BYTES + 1))
            except UploadRefusedError as error:
                form.add_line_errors(error.errors, numbered=True)
            except PoolError as error:
                form.add_error("file", str(error))
            else:
                if entries := self._added(request, form=form, proposals=proposals, numbered=True):
                    messages.success(request, f"{len(entries)} entries were added.")
                    return redirect(reverse(_LIST) + f"?state__exact={SealedState.PROPOSED}")
        title = "Upload sealed requests"
        return self._page(request, template="form", title=title, form=form, example=example_line(), is_upload=True)

    def review(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask a reviewer for the goal of an entry, without showing the author's."""
        entry = self.get_object(request, object_id)
        problem = "There is no such entry."
        if entry is not None:
            problem = f"The entry is {entry.get_state_display()}." if entry.state != SealedState.DERIVED else ""
            if not problem and entry.added_by_id == user_of(request).pk:
                problem = "You added this entry: someone else reviews it."
        if entry is None or problem:
            messages.error(request, problem)
            return redirect(_LIST)
        try:
            text = body_of(entry).text
            questions = form_of(library_suite(entry.suite)).fields(text)
        except (UnreadableSecretError, PoolError, SealedRequestError) as error:
            messages.error(request, str(error))
            return redirect(_LIST)
        form = ReviewForm(request.POST or None, questions=questions)
        if request.method == "POST" and form.is_valid():
            try:
                read = review(entry.pk, values=form.values(), by=user_of(request))
            except SealedRequestError as error:
                form.add_error(None, str(error))
            except PoolError as error:
                messages.error(request, str(error))
                return redirect(_LIST)
            else:
                if read.state == SealedState.SEALED:
                    messages.success(request, "Your goal is the author's: the entry is sealed.")
                else:
                    messages.warning(
                        request, "Your goal is not the author's: the entry is disputed. Compare them below."
                    )
                return redirect(reverse(_ROW, args=[entry.pk]))
        title = "What does this request ask for?"
        return self._page(request, template="review", title=title, form=form, entry=entry, text=text)

    def _added(
        self,
        request: HttpRequest,
        *,
        form: EntryForm | UploadForm,
        proposals: list[tuple[int, Proposal]],
        numbered: bool,
    ) -> list[SealedEntry]:
        try:
            return add(suite=form.cleaned_data["suite"], proposals=proposals, by=user_of(request))
        except UploadRefusedError as error:
            form.add_line_errors(error.errors, numbered=numbered)
        except (PoolError, UnreadableSecretError) as error:
            form.add_error(None, str(error))
        return []

    def _page(self, request: HttpRequest, *, template: str, title: str, **context: Any) -> TemplateResponse:
        common = {**self.admin_site.each_context(request), "opts": self.model._meta, "title": title}
        return TemplateResponse(request, f"admin/sealed/{template}.html", {**common, **context})
