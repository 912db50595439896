"""Files at well-known URLs: the icon, and `/.well-known/security.txt` (RFC 9116)."""

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

_GOOD_FOR = timedelta(days=180)
"""The standard recommends less than a year. The file is generated for each request, so it never expires."""


@require_safe
@cache_control(public=True, max_age=3600)
def security_txt(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - the view's signature
    """Where to report a vulnerability; 404 if the operator has set no contact."""
    if not settings.CONTACT:
        raise Http404("The operator of this site has set no contact.")
    lines = [f"Contact: {contact_link()}", f"Expires: {timezone.now() + _GOOD_FOR:%Y-%m-%dT00:00:00Z}"]
    lines += ["Preferred-Languages: en"]
    if settings.SITE_URL:
        lines += [f"Canonical: {settings.SITE_URL}/.well-known/security.txt"]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def contact_link() -> str:
    """The operator's contact as a URL; empty if none is set."""
    contact: str = settings.CONTACT
    return f"mailto:{contact}" if "@" in contact and "://" not in contact else contact


@require_safe
@cache_control(public=True, max_age=86_400)
def icon(request: HttpRequest) -> HttpResponseRedirect:  # noqa: ARG001 - the view's signature
    """Redirect to the SVG icon."""
    return HttpResponseRedirect(static("icon.svg"))
