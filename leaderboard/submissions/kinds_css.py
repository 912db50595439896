"""The stylesheet that hides the fields of other kinds in the submit form.

CSS cannot compare two attributes, so that each kind needs a selector. They come from the registry of kinds; the form
then works without JavaScript and without inline styles, which the site's Content-Security-Policy forbids.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from leaderboard.planners.kinds import KINDS

_SELECTOR = '.form:has(input[name="kind"][value="{kind}"]:checked) [data-kind]:not([data-kind~="{kind}"])'


@require_safe
@cache_control(public=True, max_age=3600)
def kinds_css(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - the view's signature
    """Show only the fields of the chosen kind. Browsers without :has() show all; the form ignores the others."""
    selectors = ",\n".join(_SELECTOR.format(kind=kind) for kind in KINDS)
    return HttpResponse(f"{selectors} {{\n  display: none;\n}}\n", content_type="text/css")
