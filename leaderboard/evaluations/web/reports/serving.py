"""Serves the pages of reports on this machine, with Django and without database, sessions and accounts."""

import errno
import logging
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings
from django.urls import reverse

from leaderboard.platform.environment import RESOURCES

if TYPE_CHECKING:
    from leaderboard.evaluations.web.reports.artefacts import FolderArtefacts
    from leaderboard.evaluations.web.reports.reading import Report

ADDRESS = "127.0.0.1"
"""Other machines cannot reach the pages."""

LIBRARIES: Mapping[str, str] = {
    "planarena": "leaderboard.evaluations.templatetags.planarena",
    "kept": "leaderboard.platform.templatetags.kept",
}
"""Tags that need no database. Templates that load others must be in blocks that the templates of reports replace."""


class NotServedError(Exception):
    """The pages cannot be served; the message is a sentence."""


def front_end() -> Mapping[str, Path]:
    """The files of the built front end by name.

    Raises:
        NotServedError: it is not built.
    """
    folder = RESOURCES / "frontend" / "dist"
    files = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    if "app.css" not in files:
        raise NotServedError(f"{folder} has no app.css; ./planarena view builds the front end")
    return files


def set_up() -> None:
    """Configure Django for this process; call it before any model is imported."""
    settings.configure(
        DEBUG=False,
        ALLOWED_HOSTS=[ADDRESS, "localhost"],
        ROOT_URLCONF="leaderboard.evaluations.web.reports.urls",
        MIDDLEWARE=[
            "leaderboard.evaluations.web.reports.views.protect",
            # Refuses unknown hosts: a stranger's page could name this server by a host of its own.
            "django.middleware.common.CommonMiddleware",
        ],
        INSTALLED_APPS=["django.contrib.humanize", "leaderboard.catalog"],
        DATABASES={},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "DIRS": [RESOURCES / "frontend" / "templates"],
                "OPTIONS": {
                    "context_processors": ["django.template.context_processors.request"],
                    "libraries": dict(LIBRARIES),
                },
            }
        ],
        STATIC_URL="/static/",
        USE_I18N=False,
        USE_TZ=True,
        TIME_ZONE="UTC",
        FORMAT_MODULE_PATH="leaderboard.platform.formats",
        LOGGING_CONFIG=None,
    )
    # Refused hosts and missing pages are answers, not news for the terminal.
    logging.getLogger("django").setLevel(logging.ERROR)
    logging.getLogger("django.security").setLevel(logging.CRITICAL)
    django.setup()


def show(reports: "Sequence[tuple[Report, FolderArtefacts]]") -> None:
    """Make the pages those of these reports with their artefacts.

    Raises:
        NotServedError: the front end is not built.
    """
    from leaderboard.evaluations.web.reports.records import ShownReport
    from leaderboard.evaluations.web.reports.state import STATE

    def shown(pk: str, report: "Report", artefacts: "FolderArtefacts") -> ShownReport:
        return ShownReport(
            pk=pk,
            report=report,
            artefacts=artefacts,
            url_of=lambda digest: reverse("reports:object", args=[pk, digest]),
        )

    numbered = enumerate(reports, start=1)
    STATE.reports = {str(number): shown(str(number), *report) for number, report in numbered}
    STATE.front_end = front_end()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not printed."""


def serve(*, port: int, opens: bool, announce: Callable[[str], None]) -> None:
    """Serve the pages until Ctrl-C.

    Args:
        port: of this machine; 0: any free one.
        opens: whether to open the page in a browser.
        announce: called with the address.

    Raises:
        NotServedError: the port is not free.
    """
    from django.core.wsgi import get_wsgi_application

    try:
        server = make_server(ADDRESS, port, get_wsgi_application(), server_class=_Server, handler_class=_Handler)
    except OSError as error:
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
        raise NotServedError(f"port {port} {why}; choose another with --port, or 0 for any free one") from None
    with server:
        address = f"http://{ADDRESS}:{server.server_port}/"
        announce(address)
        if opens:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
