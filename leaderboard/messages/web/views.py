"""The page of a user's notifications: emails and webhooks."""

from functools import partial
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.messages import notices
from leaderboard.messages import webhooks as services
from leaderboard.people.authentication import user_of
from leaderboard.people.models import Mails
from leaderboard.people.web.forms import ServiceForm, made_from
from leaderboard.platform.problems import FieldErrors


class MailsForm(ServiceForm):
    """Which emails the user gets."""

    mails = forms.ChoiceField(label="Send me an email", choices=Mails.choices, widget=forms.RadioSelect)


class WebhookForm(ServiceForm):
    """A new webhook."""

    url = forms.CharField(
        label="Address",
        help_text="Receives a signed POST when one of your evaluations completes, fails, is cancelled or needs "
        "your action.",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/planarena"}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the webhooks. A POST adds one and shows its secret once, so it is not followed by a redirect."""
    form, made = made_from(request, form=WebhookForm, make=partial(services.add_webhook, owner=user_of(request)))
    context = {
        "form": form,
        "made": made,
        "webhooks": services.with_deliveries(user_of(request)),
        "mails": MailsForm(initial={"mails": user_of(request).mails}),
        "mails_go_out": settings.MAIL_OWNERS,
    }
    return render(request, "messages/webhooks.html", context, status=400 if form.errors else 200)


@require_POST
@login_required
def choose_mails(request: HttpRequest) -> HttpResponse:
    """Choose which emails to get."""
    try:
        notices.choose_mails(user=user_of(request), mails=request.POST.get("mails", ""))
        messages.success(request, "Your email settings are saved.")
    except FieldErrors as problems:
        messages.error(request, " ".join(text for texts in problems.errors.values() for text in texts))
    return redirect("outbox:webhooks")


@require_POST
@login_required
def test(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Send a test event."""
    if services.send_test(owner=user_of(request), webhook_id=webhook_id):
        messages.success(request, "Test event queued. Reload this page to see its delivery.")
    return redirect("outbox:webhooks")


@require_POST
@login_required
def remove(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Remove a webhook. Idempotent."""
    if services.remove_webhook(owner=user_of(request), webhook_id=webhook_id):
        messages.success(request, "The webhook is removed.")
    return redirect("outbox:webhooks")
