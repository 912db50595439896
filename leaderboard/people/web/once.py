"""What the pages share that make a secret and show it once: tokens, worker tokens and webhooks."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest

from leaderboard.people.web.forms import ServiceForm
from leaderboard.platform.problems import FieldErrors

Form = TypeVar("Form", bound=ServiceForm)


def made_from(request: HttpRequest, *, form: type[Form], make: Callable[..., Any]) -> tuple[Form, Any]:
    """The form to show, and what a POST made, which the answer itself shows: a redirect would lose it.

    Args:
        request: a GET, or a POST of the form.
        form: its class.
        make: called with what was entered; the errors that it raises are shown beside their fields.
    """
    filled = form(request.POST if request.method == "POST" else None)
    if not filled.is_valid():
        return filled, None
    try:
        made = make(**filled.cleaned_data)
    except FieldErrors as problems:
        filled.show(problems)
        return filled, None
    return form(), made
