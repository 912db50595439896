"""The site's icon where browsers look for it when a document names none, such as a file of figures."""

from django.http import HttpRequest, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe


@require_safe
@cache_control(public=True, max_age=86_400)
def icon(request: HttpRequest) -> HttpResponseRedirect:  # noqa: ARG001 - the view's signature
    """Lead to the drawing."""
    return HttpResponseRedirect(static("icon.svg"))
