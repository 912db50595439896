"""Pages with Vite's development server, in `./planarena dev`: TypeScript and CSS are served from source and reload.

Vite's client is imported by its modules, so templates are the same as in production.
"""

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage

SOURCES = {"app.js": "src/app.ts", "theme.js": "src/theme.ts", "app.css": "src/styles/app.css"}
"""Outputs of `vite.config.ts` and their sources. Everything else is served from the build."""


class ViteStaticStorage(StaticFilesStorage):
    """Static files of a development site."""

    def url(self, name: str | None) -> str:
        """The URL of a file: on Vite's server (`settings.VITE`) if Vite builds it, otherwise on this site."""
        source = SOURCES.get(name or "")
        return f"{settings.VITE}/{source}" if source else super().url(name)


def with_vite(directives: Mapping[str, Sequence[str]], *, origin: str) -> dict[str, list[str]]:
    """A Content-Security-Policy that also allows scripts, styles, fonts and change events from Vite.

    Args:
        directives: the production policy.
        origin: of Vite's server, such as `http://127.0.0.1:5173`.
    """
    allowed = {name: list(sources) for name, sources in directives.items()}
    for name, more in {
        "script-src": [origin],
        # Vite inserts CSS that a module imports as a style element.
        "style-src": [origin, "'unsafe-inline'"],
        "font-src": [origin],
        "img-src": [origin],
        "connect-src": [origin, f"ws{origin.removeprefix('http')}"],
    }.items():
        allowed[name] = [*allowed.get(name, directives["default-src"]), *more]
    return allowed
