"""The pages of reports as files with relative links: for a file system, without server and scripts.

The pages are rendered like served ones; then scripts, forms and buttons are removed, and links lead to files. Of the
task list there are files for each page in each order, and under each single filter that a page links to. The same
report gives the same files.
"""

import hashlib
import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from django.http import HttpRequest, QueryDict
from django.urls import Resolver404, resolve

from evaluator.execution.engine.store import ENDINGS, ObjectDamagedError, ObjectMissingError
from leaderboard.evaluations.results.task_rows import FAULTS
from leaderboard.evaluations.web.reports.records import ShownReport
from leaderboard.evaluations.web.reports.serving import ADDRESS
from leaderboard.evaluations.web.reports.state import STATE

MARKER = "planarena-bundle.txt"
"""Lists the files of a bundle, so that `--force` replaces them and nothing else."""
MOST_PAGES = 20_000
MOST_LISTS = 600
"""Lists of tasks of one report; further filters stay without links."""
MOST_BYTES = 2 * 1024**3
_ASSETS = "assets"
_HEAD = "These files were written by `planarena view --bundle`:\n"
_DROPPED = frozenset({"script", "noscript", "form", "button", "template"})
"""Elements that do nothing without scripts or a server."""
_LINK = re.compile(r'\s(href|src|poster)="([^"]*)"')
_OF_SCRIPTS = re.compile(r'\shx-[a-z-]+="[^"]*"')
_WORDS = re.compile(r"[^a-z0-9]+")
_STATIC = "/static/"
_FONT = re.compile(r"url\([\"']?(?:\./)?(fonts/[\w.-]+)")


class BundleError(Exception):
    """The files cannot be written; the message is a sentence."""


class Counts(NamedTuple):
    """What was written."""

    pages: int
    artefacts: int
    bytes: int
    lists_left_out: int
    """Lists of tasks that were too many."""

    def sentence(self, folder: Path) -> str:
        """What was written, for the terminal."""
        size = f"{self.bytes / 1024**2:.1f} MiB"
        left_out = f" {self.lists_left_out} filtered lists were left out." if self.lists_left_out else ""
        return (
            f"{folder / 'index.html'} begins {self.pages} pages with {self.artefacts} artefacts, {size}. "
            f"Browsers open them from a file system.{left_out}"
        )


def write_bundle(folder: Path, *, force: bool) -> Counts:
    """Write the pages of all reports into a folder.

    Args:
        folder: created on demand.
        force: whether an earlier bundle in the folder is replaced.

    Raises:
        BundleError: the folder has other files, cannot be written, or the pages are too many or too large.
    """
    try:
        _empty(folder, force=force)
        return _Bundle(folder).write()
    except OSError as error:
        raise BundleError(f"{error.filename or folder} cannot be written: {error.strerror}") from None


def _empty(folder: Path, *, force: bool) -> None:
    """Make the folder an empty one.

    Raises:
        BundleError: it holds something else than an earlier bundle, or that may not be replaced.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise BundleError(f"--bundle: {folder} is no folder")
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        return
    marker = folder / MARKER
    if not marker.is_file() or not marker.read_text(encoding="utf-8", errors="replace").startswith(_HEAD):
        raise BundleError(f"--bundle: {folder} is not empty, and no earlier bundle; choose an empty folder")
    if not force:
        raise BundleError(f"--bundle: {folder} has an earlier bundle; --force replaces it")
    for line in marker.read_text(encoding="utf-8", errors="replace").removeprefix(_HEAD).splitlines():
        path = folder / line
        # Only files of this folder: the list may have been changed.
        if not posixpath.isabs(line) and ".." not in line.split("/") and path.is_file():
            path.unlink()
    marker.unlink()
    for path in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        if not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()
    if left := next(folder.iterdir(), None):
        raise BundleError(f"--bundle: {left} is no part of the earlier bundle; choose an empty folder")


class _Target(NamedTuple):
    """What an address of a page leads to."""

    kind: str
    """`index`, `list`, `task`, `artefact` or `asset`."""
    report: str = ""
    key: str = ""
    """Task, digest of an artefact, or name of an asset."""
    query: tuple[tuple[str, str], ...] = ()


class _Bundle:
    """The files of one bundle."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reports: Mapping[str, ShownReport] = STATE.reports
        self._names: dict[_Target, str] = {}
        self._taken: set[str] = set()
        self._pending: deque[_Target] = deque()
        self._lists: dict[str, int] = {}
        self._left_out: set[_Target] = set()
        self._written: list[str] = []
        self._bytes = 0
        self._artefacts = 0

    def write(self) -> Counts:
        for target in self._starts():
            self._file_of(target)
        pages = 0
        while self._pending:
            target = self._pending.popleft()
            pages += 1
            if pages > MOST_PAGES:
                raise BundleError(f"--bundle: the reports have more than {MOST_PAGES} pages; give fewer reports")
            name = self._names[target]
            self._put(name, self._still(self._rendered(target), page=target, name=name).encode())
        self._put(f"{_ASSETS}/app.css", STATE.front_end["app.css"].read_bytes())
        for asset in sorted(set(_FONT.findall(STATE.front_end["app.css"].read_text(encoding="utf-8")))):
            self._put(f"{_ASSETS}/{asset}", STATE.front_end[asset].read_bytes())
        if licence := STATE.front_end.get("fonts/LICENSE.txt"):
            self._put(f"{_ASSETS}/fonts/LICENSE.txt", licence.read_bytes())
        self._put(f"{_ASSETS}/icon.svg", STATE.front_end["icon.svg"].read_bytes())
        self._put(MARKER, (_HEAD + "".join(f"{name}\n" for name in sorted(self._written))).encode())
        return Counts(pages, self._artefacts, self._bytes, len(self._left_out))

    def _starts(self) -> Iterator[_Target]:
        if len(self._reports) > 1:
            yield _Target("index")
        for pk, report in self._reports.items():
            yield _Target("list", pk)
            for key in report.tasks:
                yield _Target("task", pk, key)

    def _rendered(self, target: _Target) -> str:
        query = urlencode(target.query)
        address = "/" if target.kind == "index" else f"/{target.report}/"
        if target.kind == "task":
            address += f"tasks/{target.key}/"
        match = resolve(address)
        request = HttpRequest()
        request.method, request.path, request.path_info = "GET", quote(address), address
        request.META = {"SERVER_NAME": ADDRESS, "SERVER_PORT": "80", "QUERY_STRING": query}
        request.GET = QueryDict(query)
        request.resolver_match = match
        # Templates then offer links in place of forms.
        request.is_bundled = True  # type: ignore[attr-defined]
        text: str = match.func(request, *match.args, **match.kwargs).content.decode()
        return text

    def _still(self, html: str, *, page: _Target, name: str) -> str:
        """A page without what needs scripts or a server, with relative links."""
        base = "/" if page.kind == "index" else f"/{page.report}/"
        if page.kind == "task":
            base += f"tasks/{page.key}/"

        def link(address: str) -> str | None:
            """The relative link in place of an address; None if nothing in the bundle is there."""
            if address.startswith("#"):
                return address
            target = self._target(urljoin(f"{base}?{urlencode(page.query)}", address))
            file = None if target is None else self._file_of(target)
            if file is None:
                return None
            _, hash_mark, anchor = address.partition("#")
            relative = posixpath.relpath(file, posixpath.dirname(name) or ".")
            return f"{relative}{hash_mark}{anchor}"

        writer = _StillPage(link)
        writer.feed(html)
        writer.close()
        return writer.text

    def _target(self, address: str) -> _Target | None:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            return None
        path = unquote(parts.path)
        if path.startswith(_STATIC):
            return _Target("asset", key=path.removeprefix(_STATIC))
        try:
            match = resolve(path)
        except Resolver404:
            return None
        report = match.kwargs.get("evaluation_id", "")
        if match.view_name == "reports:index":
            return _Target("index") if len(self._reports) > 1 else _Target("list", next(iter(self._reports)))
        if report not in self._reports:
            return None
        if match.view_name == "reports:object":
            return _Target("artefact", report, match.kwargs["digest"])
        query = tuple(sorted(pair for pair in parse_qsl(parts.query) if pair != ("page", "1")))
        if match.view_name == "evaluations:task":
            # Walks through filtered tasks are left to servers.
            samples = tuple(pair for pair in query if pair[0] == "samples" and pair[1] != "1")
            return _Target("task", report, match.kwargs["key"], samples)
        # One filter or one order, and a page of it. Groups of faults are linked by outcome and reason.
        chosen = [pair for pair in query if pair[0] != "page"]
        reason = {name for name, _ in chosen} == {"outcome", "reason"} and not FAULTS.isdisjoint(dict(chosen).values())
        return _Target("list", report, "", query) if len(chosen) <= 1 or reason else None

    def _file_of(self, target: _Target) -> str | None:
        """The file of a target, which is written later; None if it has none."""
        if target in self._names:
            return self._names[target]
        if target.kind == "asset":
            return f"{_ASSETS}/{target.key}" if target.key in {"app.css", "icon.svg"} else None
        if target.kind == "artefact":
            return self._copied(target)
        if target.kind == "task" and target.key not in self._reports[target.report].tasks:
            return None
        if target.kind == "list":
            if self._lists.get(target.report, 0) >= MOST_LISTS:
                self._left_out.add(target)
                return None
            self._lists[target.report] = self._lists.get(target.report, 0) + 1
        name = self._free(self._wanted(target), target=target)
        self._names[target] = name
        self._pending.append(target)
        return name

    def _wanted(self, target: _Target) -> str:
        """The name of a page's file without its ending."""
        folder = f"{target.report}/" if len(self._reports) > 1 else ""
        if target.kind == "index":
            return "index"
        words = "-".join(_words(text) for pair in target.query for text in pair)
        if target.kind == "task":
            return f"{folder}tasks/{_words(target.key)}{f'-{words}' if words else ''}"
        return f"{folder}{f'tasks-{words}' if words else 'index'}"

    def _free(self, wanted: str, *, target: _Target) -> str:
        # File systems may ignore case, and different keys may have the same words.
        if wanted in self._taken:
            digest = hashlib.sha256(repr(target).encode()).hexdigest()[:10]
            wanted = f"{wanted}-{digest}"
        self._taken.add(wanted)
        return f"{wanted}.html"

    def _copied(self, target: _Target) -> str | None:
        try:
            artefact = self._reports[target.report].artefacts.get(target.key)
        except (ObjectMissingError, ObjectDamagedError):
            return None
        name = f"artefacts/{target.key}{ENDINGS[artefact.media_type]}"
        self._names[target] = name
        if name not in self._taken:
            self._taken.add(name)
            self._artefacts += 1
            self._put(name, artefact.data)
        return name

    def _put(self, name: str, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > MOST_BYTES:
            raise BundleError(f"--bundle: the files have more than {MOST_BYTES // 1024**3} GiB; give fewer reports")
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self._written.append(name)


class _StillPage(HTMLParser):
    """Rewrites a page of our own templates, whose attributes are quoted and escaped."""

    def __init__(self, link: Callable[[str], str | None]) -> None:
        super().__init__(convert_charrefs=False)
        self._link = link
        self._parts: list[str] = []
        self._dropped = 0
        """Number of open elements that are dropped."""

    @property
    def text(self) -> str:
        """The page so far."""
        return "".join(self._parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED:
            self._dropped += 1
        elif (tag, ("rel", "preload")) not in [(tag, pair) for pair in attrs if tag == "link"]:
            self._write(_LINK.sub(self._linked, _OF_SCRIPTS.sub("", self.get_starttag_text() or "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in _DROPPED:
            self._dropped = max(0, self._dropped - 1)
        else:
            self._write(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._write(data)

    def handle_entityref(self, name: str) -> None:
        self._write(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._write(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._write(f"<!{decl}>")

    def _write(self, text: str) -> None:
        if not self._dropped:
            self._parts.append(text)

    def _linked(self, match: re.Match[str]) -> str:
        """The attribute with a link to a file; empty if there is none, so that a link becomes text."""
        address = self._link(unescape(match[2]))
        return "" if address is None else f' {match[1]}="{escape(address)}"'


def _words(text: str) -> str:
    """A text as a part of a file's name."""
    words = _WORDS.sub("-", text.lower()).strip("-")[:60] or "x"
    # An order such as `-score`.
    return f"{words}-descending" if text.startswith("-") else words
