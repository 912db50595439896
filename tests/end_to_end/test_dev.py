"""`./planarena dev`: pages with Vite's assets, a restart after an edit, and nothing left when it is stopped."""

import os
import re
import sys

import httpx
import pytest

from tests.end_to_end.arena import data_folder, left_of
from tests.processes import ROOT, Program, clean_environment, free_port

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]
EDITED = ROOT / "leaderboard" / "platform" / "clock.py"


@pytest.fixture(scope="module")
def development(tmp_path_factory):
    """The running command, and its address."""
    log, port = tmp_path_factory.mktemp("dev") / "output", free_port()
    with data_folder() as data:
        environment = clean_environment(PLANARENA_DEMO="1", PLANARENA_DATA=str(data), PYTHONUNBUFFERED="1")
        command = [sys.executable, "manage.py", "dev", "--no-planners", "--port", str(port)]
        program = Program(command, log=log, environment=environment)
        try:
            program.wait_for(lambda: "Ctrl-C stops" in program.output, what="the site is up")
            yield program, f"http://127.0.0.1:{port}"
        finally:
            program.stop()


def site_process(program):
    return next(one for one in program.family() if "leaderboard.wiring.asgi:application" in one.cmdline())


def test_pages_take_scripts_and_styles_from_vite_which_serves_them_to_this_site(development):
    program, url = development
    page = httpx.get(f"{url}/boards/openagi/", trust_env=False)
    # The site's own port is a free one, and may begin as Vite's does.
    (vite,) = set(re.findall(r"http://127\.0\.0\.1:51\d\d\b", program.output))
    assert page.status_code == 200
    assert f'<script type="module" src="{vite}/src/app.ts">' in page.text
    for source, kind in (("src/app.ts", "javascript"), ("src/styles/app.css", "text/css"), ("@vite/client", "script")):
        asset = httpx.get(f"{vite}/{source}", headers={"Origin": url, "Accept": "text/css,*/*"}, trust_env=False)
        assert asset.status_code == 200, source
        assert kind in asset.headers["Content-Type"]
        assert asset.headers["Access-Control-Allow-Origin"] in {url, "*"}
    assert f"script-src 'self' {vite}" in page.headers["Content-Security-Policy"]


def test_an_edited_file_runs_a_moment_later_and_no_request_is_refused_meanwhile(development):
    program, url = development
    before = site_process(program)
    os.utime(EDITED)
    program.wait_for(lambda: "leaderboard/platform/database.py changed: restarting" in program.output, what="a restart")
    program.wait_for(lambda: not before.is_running(), what="the old process ended")
    # The socket stays open while the site starts again.
    assert httpx.get(f"{url}/health/live", timeout=60, trust_env=False).status_code == 200


def test_sigterm_ends_all_of_it(development):
    program, url = development
    everything = program.family()[1:]
    names = " ".join(" ".join(child.cmdline()) for child in everything)
    assert all(part in names for part in ("uvicorn", "celery", "beat", "vite")), names
    assert program.stop() == 0, program.output
    assert left_of(everything) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)
