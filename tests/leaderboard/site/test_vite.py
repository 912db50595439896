"""A site beside Vite's development server."""

import os
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize(("debug", "expected"), [("0", "False"), ("1", "True")])
def test_the_server_is_named_to_debugging_sites_only(debug, expected, tmp_path):
    program = (
        "from leaderboard.site import settings as s;"
        "print('5173' in str(s.CONTENT_SECURITY_POLICY), 'Vite' in s.STORAGES['staticfiles']['BACKEND'])"
    )
    environment = os.environ | {
        "PLANARENA_DEMO": "1", "PLANARENA_DEBUG": debug, "PLANARENA_VITE": VITE, "PLANARENA_DATA": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == [expected, expected], done.stderr
