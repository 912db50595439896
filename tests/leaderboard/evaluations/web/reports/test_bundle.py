"""Bundles: files with relative links that need neither a server nor scripts, the same for the same report."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from tests.leaderboard.evaluations.web.reports.making import judged_document, written
from tests.run import ROOT

PROGRAM = """
import sys
# What only a site needs.
ABSENT = {"allauth", "celery", "csp", "knox", "kubernetes", "psycopg", "rest_framework", "torch", "whitenoise"}
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
from leaderboard.wiring.console import run
sys.exit(run(["view", *sys.argv[1:]]))
"""


def view(*arguments, folder: Path, **options) -> subprocess.Popen:
    """`planarena view` without the packages of a site."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}, **options,
    )  # fmt: skip


def bundled(*arguments, folder: Path) -> str:
    process = view(*arguments, folder=folder)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, ""), err
    return err


def refused(*arguments, folder: Path) -> str:
    process = view(*arguments, folder=folder)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, ""), err
    return " ".join(err.split())


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class _Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name in {"href", "src", "action", "poster"}:
                self.links.append(value)
            if name == "id":
                self.ids.add(value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """With a report and its bundle."""
    folder = tmp_path_factory.mktemp("bundle")
    document = judged_document()
    written(document, folder)
    written({**document, "planner": "other"}, folder, name="other.json")
    said = bundled("report.json", "--bundle", "appendix", folder=folder)
    assert re.fullmatch(
        r"planarena: appendix/index.html begins \d+ pages with 0 artefacts, \d\.\d MiB. Browsers open them from a file "
        r"system.\n", said,
    )  # fmt: skip
    return folder


def test_every_link_leads_to_a_file_of_the_bundle_and_nothing_needs_scripts_or_a_server(folder):
    appendix = folder / "appendix"
    pages = {path: _Page(path.read_text()) for path in appendix.rglob("*.html")}
    assert appendix / "tasks" / "image-detection-0.html" in pages
    for path, page in pages.items():
        assert not page.tags & {"script", "form", "button", "input", "select", "iframe", "base"}
        for link in page.links:
            assert not re.match(r"[a-z]+:|/", link), (path, link)
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_relative_to(appendix.resolve())
            assert target.is_file(), (path, link)
            if anchor and target.suffix == ".html":
                assert anchor in pages[appendix / target.relative_to(appendix.resolve())].ids, (path, link)
    reached, pending = set(), [appendix / "index.html"]
    while pending:
        path = pending.pop()
        if path not in reached and path.suffix == ".html":
            reached.add(path)
            pending += [
                (path.parent / link.partition("#")[0]).resolve() for link in pages[path].links if link[0] != "#"
            ]
    assert reached == set(pages)


def test_no_page_names_a_host_or_a_folder_of_this_machine(folder):
    for name, data in content(folder / "appendix").items():
        if not name.endswith(".woff2") and "fonts/" not in name:
            assert not re.search(rb"https?://(?!www\.w3\.org)|127\.0\.0\.1|localhost", data), name
            assert str(folder).encode() not in data, name


def test_style_and_fonts_are_inside(folder):
    files = content(folder / "appendix")
    fonts = re.findall(r"url\(\W*(fonts/[\w.-]+)", files["assets/app.css"].decode())
    assert fonts
    assert {f"assets/{font}" for font in fonts} | {"assets/fonts/LICENSE.txt", "assets/icon.svg"} <= files.keys()
    assert 'href="../assets/app.css"' in files["tasks/qa-0.html"].decode()


def test_single_filters_and_orders_have_pages(folder):
    files = content(folder / "appendix")
    wrong = files["tasks-outcome-planner-fault.html"].decode()
    assert re.findall(r'href="tasks/([\w-]+)\.html"\s*tabindex', wrong) == ["count-object-0"]
    assert {"tasks-sort-marks.html", "tasks-sort-marks-descending.html", "tasks-why-unreadable.html"} <= files.keys()


def test_the_same_report_gives_the_same_files_and_other_files_stay(folder):
    first = content(folder / "appendix")
    assert "has an earlier bundle; --force replaces it" in refused("report.json", "--bundle", "appendix", folder=folder)
    bundled("report.json", "--bundle", "appendix", "--force", folder=folder)
    assert content(folder / "appendix") == first
    (folder / "appendix" / "mine.txt").write_text("mine")
    assert "mine.txt is no part of the earlier bundle" in refused(
        "report.json", "--bundle", "appendix", "--force", folder=folder
    )
    assert content(folder / "appendix") == {"mine.txt": b"mine"}
    assert "is not empty, and no earlier bundle" in refused(
        "report.json", "--bundle", "appendix", "--force", folder=folder
    )
    (folder / "appendix" / "mine.txt").unlink()
    bundled("report.json", "--bundle", "appendix", folder=folder)


def test_several_reports_have_folders_of_their_own(folder):
    bundled("report.json", "other.json", "--bundle", "both", folder=folder)
    index = _Page((folder / "both" / "index.html").read_text())
    assert {"1/index.html", "2/index.html"} <= set(index.links)
    task = _Page((folder / "both" / "2" / "tasks" / "qa-1.html").read_text())
    assert {"../../index.html", "../index.html", "../../assets/app.css"} <= set(task.links)


def test_pages_are_served_to_this_machine_alone(folder):
    process = view("report.json", "--port", "0", folder=folder)
    try:
        address = re.fullmatch(r"planarena: (http://127\.0\.0\.1:\d+/) until Ctrl-C\n", process.stderr.readline())[1]
        with httpx.Client(base_url=address, timeout=60, follow_redirects=True) as client:
            page = client.get("/")
            assert (page.status_code, str(page.url)) == (200, f"{address}1/")
            assert "default-src 'none'" in page.headers["Content-Security-Policy"]
            assert not page.cookies
            assert client.get("/1/?outcome=planner_fault&sort=-task").text.count('class="task-key"') == 1
            assert client.get("/1/tasks/QA/0/").status_code == 200
            assert client.get("/static/app.css").headers["Content-Type"] == "text/css; charset=utf-8"
            assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
            assert client.get("/1/tasks/none/").status_code == 404
        assert "is in use; choose another with --port" in refused(
            "report.json", "--port", address.rstrip("/").rpartition(":")[2], folder=folder
        )
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_what_cannot_be_shown_is_one_sentence(folder):
    (folder / "summary.md").write_text("## gold on openagi\n")
    assert refused("summary.md", folder=folder).startswith("planarena: summary.md is not a report but Markdown")
    assert "has no folder objects" in refused("report.json", "--artefacts", "none", folder=folder)
