"""`./planarena dev`: pages with Vite's assets, a restart after an edit, and nothing left when it is stopped."""

import os
import re
import signal
import subprocess
import sys
import time

import httpx
import psutil
import pytest

from tests.end_to_end.arena import data_folder
from tests.processes import ROOT, clean_environment, free_port

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]
EDITED = ROOT / "leaderboard" / "site" / "clock.py"


@pytest.fixture(scope="module")
def data():
    with data_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def development(data, tmp_path_factory):
    """The running command, its address and its output."""
    log, port = tmp_path_factory.mktemp("dev") / "output", free_port()
    environment = clean_environment(PLANARENA_DEMO="1", PLANARENA_DATA=str(data), PYTHONUNBUFFERED="1")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "dev", "--no-planners", "--port", str(port)],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        wait_until(lambda: "Ctrl-C stops" in log.read_text(), process=process, log=log)
        yield process, f"http://127.0.0.1:{port}", log
    finally:
        process.terminate()
        process.wait(timeout=60)


def wait_until(happened, *, process, log, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not happened():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def site_process(process):
    return next(child for child in process.children() if "leaderboard.wiring.asgi:application" in child.cmdline())


def test_pages_take_scripts_and_styles_from_vite_which_serves_them_to_this_site(development):
    _, url, log = development
    page = httpx.get(f"{url}/boards/openagi/", trust_env=False)
    # The site's own port is a free one, and may begin as Vite's does.
    (vite,) = set(re.findall(r"http://127\.0\.0\.1:51\d\d\b", log.read_text()))
    assert page.status_code == 200
    assert f'<script type="module" src="{vite}/src/app.ts">' in page.text
    for source, kind in (("src/app.ts", "javascript"), ("src/styles/app.css", "text/css"), ("@vite/client", "script")):
        asset = httpx.get(f"{vite}/{source}", headers={"Origin": url, "Accept": "text/css,*/*"}, trust_env=False)
        assert asset.status_code == 200, source
        assert kind in asset.headers["Content-Type"]
        assert asset.headers["Access-Control-Allow-Origin"] in {url, "*"}
    assert f"script-src 'self' {vite}" in page.headers["Content-Security-Policy"]


def test_an_edited_file_runs_a_moment_later_and_no_request_is_refused_meanwhile(development):
    process, url, log = development
    before = site_process(psutil.Process(process.pid))
    os.utime(EDITED)
    wait_until(lambda: "leaderboard/site/clock.py changed: restarting" in log.read_text(), process=process, log=log)
    wait_until(lambda: not before.is_running(), process=process, log=log)
    # The socket stays open while the site starts again.
    assert httpx.get(f"{url}/health/live", timeout=60, trust_env=False).status_code == 200


def test_sigterm_ends_all_of_it(development):
    process, url, log = development
    everything = psutil.Process(process.pid).children(recursive=True)
    names = " ".join(" ".join(child.cmdline()) for child in everything)
    assert all(part in names for part in ("uvicorn", "celery", "beat", "vite")), names
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0, log.read_text()
    _, alive = psutil.wait_procs(everything, timeout=20)
    assert alive == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)
