"""A site beside Vite's development server."""

from leaderboard.site.vite import SOURCES, ViteStaticStorage, with_vite
from tests.packaging.conftest import ROOT

VITE = "http://127.0.0.1:5173"


def test_what_vite_builds_comes_from_its_server_and_the_rest_from_the_site(settings):
    settings.VITE = VITE
    storage = ViteStaticStorage()
    assert storage.url("app.js") == f"{VITE}/src/app.ts"
    assert storage.url("icon.svg") == "/static/icon.svg"
    assert [source for source in SOURCES.values() if not (ROOT / "frontend" / source).is_file()] == []


def test_the_policy_lets_vite_in_and_nobody_else(settings):
    before = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    after = with_vite(before, origin=VITE)
    assert after["script-src"] == ["'self'", VITE]
    assert after["connect-src"] == ["'self'", VITE, "ws://127.0.0.1:5173"]
    assert after["font-src"] == ["'self'", VITE]
    for name in ("default-src", "object-src", "base-uri", "form-action", "frame-ancestors"):
        assert after[name] == list(before[name])
    assert "'unsafe-inline'" not in str(before)
