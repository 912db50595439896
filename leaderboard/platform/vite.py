"""Pages with Vite's development server, in `./planarena dev`: TypeScript and CSS come from their sources and reload.

Vite's client imports what it needs by itself, so that templates are those of every other site.
"""

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage

SOURCES = {"app.js": "src/app.ts", "theme.js": "src/theme.ts", "app.css": "src/styles/app.css"}
"""What `vite.config.ts` builds, and from what. Everything else is served as it was built."""


class ViteStaticStorage(StaticFilesStorage):
    """Static files of a development site."""

    def url(self, name: str | None) -> str:
        """The address of a file: at Vite's server (`settings.VITE`) for what it makes, else this site's own."""
        source = SOURCES.get(name or "")
        return f"{settings.VITE}/{source}" if source else super().url(name)


def with_vite(directives: Mapping[str, Sequence[str]], *, origin: str) -> dict[str, list[str]]:
    """A Content-Security-Policy that lets pages load scripts, styles and fonts from Vite and listen to its changes.

    Args:
        directives: the policy of every other site.
        origin: of Vite's server, such as `http://127.0.0.1:5173`.
    """
    allowed = {name: list(sources) for name, sources in directives.items()}
    for name, more in {
        "script-src": [origin],
        # Vite puts the CSS that a module imports into a style element.
        "style-src": [origin, "'unsafe-inline'"],
        "font-src": [origin],
        "img-src": [origin],
        "connect-src": [origin, f"ws{origin.removeprefix('http')}"],
    }.items():
        allowed[name] = [*allowed.get(name, directives["default-src"]), *more]
    return allowed
