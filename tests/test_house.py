"""Rules of the house over the whole repository: who may name a suite or a kind of planner, and no import circles."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from leaderboard.evaluations.web.reports.serving import LIBRARIES

ROOT = Path(__file__).resolve().parent.parent

SUITE_NAMES = re.compile(
    r"(?<![\w./])(?:openagi|tool100|tool2k|toolmini|toolworld|toolbench|gsm8k|svamp|intercode)(?![\w/])"
    r"|_(?:openagi|tool100|tool2k|toolmini|toolworld|toolbench|gsm8k|svamp|intercode)\b"
)
"""A suite in the code: its slug, an import from its folder, or an identifier. Strategies, such as `openagi/zero-shot`,
and `evaluator.core.tools.catalogues` are named after the paper and not after its suite."""
SUITE_FOLDERS = (
    "evaluator/arc/",
    "evaluator/controlllm/",
    "evaluator/lumos/",
    "evaluator/openagi/",
    "evaluator/studies/",
)
NAMES_OF_SUITES = {
    "leaderboard/platform/api/examples.py": "an example in the reference of the API",
    "evaluator/core/tools/catalogues.py": "the catalogue is named after its benchmark",
    "leaderboard/operations/demo/progress.py": "the suite of the demo",
    "leaderboard/help/documents/chapters.py": "a chapter's file",
}

KIND_NAMES = re.compile(r"\bPlannerKind\.[A-Z]|\bkind (?:==|!=) \"(?:bundled|endpoint|chat|hub|checkpoint|plans)\"")
"""A kind of planner in the code: a member of the enumeration, or a comparison with its name."""
KIND_FOLDERS = ("leaderboard/planners/kinds/", "leaderboard/planners/models.py")


@pytest.mark.parametrize(
    ("folder", "line", "replacement"),
    [
        ("leaderboard", "import httpx", "leaderboard.queue.jobs.accept"),
        ("leaderboard", "import requests", "leaderboard.messages.outbox.enqueue"),
        ("leaderboard", "from socket import getaddrinfo", "problem_of_address"),
        ("leaderboard", "from urllib.request import urlopen", "leaderboard.queue.jobs.accept"),
        ("leaderboard", "from evaluator.network.ssrf_guard import egress_client", "leaderboard.queue.jobs"),
        ("leaderboard", "from celery import shared_task", "leaderboard.platform.celery.task"),
        ("evaluator", "from socket import getaddrinfo", "name_resolution.NAMES"),
        ("gpu_jobs", "from urllib.request import urlopen", "ssrf_guard"),
    ],
)
def test_clients_that_would_wait_in_a_request_are_banned_with_a_replacement(folder, line, replacement):
    ruff = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--output-format", "concise", "-"]
    ruff += ["--stdin-filename", f"{folder}/example.py"]
    found = subprocess.run(ruff, input=f"{line}\n", capture_output=True, text=True, cwd=ROOT, check=False)
    assert found.returncode == 1, found.stderr
    assert replacement in found.stdout


@cache
def python_files() -> Mapping[str, str]:
    """The text of each Python file of the repository by its path; migrations are generated, and left out."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    paths = (name for name in listed if name and "/migrations/" not in name and (ROOT / name).is_file())
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in paths}


def test_no_code_outside_its_folder_names_a_suite():
    found = {
        name: [line for line in text.splitlines() if SUITE_NAMES.search(line)]
        for name, text in python_files().items()
        if name.startswith(("evaluator/", "gpu_jobs/", "leaderboard/")) and not name.startswith(SUITE_FOLDERS)
    }
    assert not {name: lines for name, lines in found.items() if lines and name not in NAMES_OF_SUITES}
    assert not [name for name in NAMES_OF_SUITES if not found.get(name)], "delete these exceptions"


def test_no_code_outside_its_module_names_a_kind_of_planner():
    """Other code asks the kind, so that a new kind is a new module."""
    found = {
        name: [line for line in text.splitlines() if KIND_NAMES.search(line)]
        for name, text in python_files().items()
        if name.startswith("leaderboard/") and not name.startswith(KIND_FOLDERS)
    }
    assert not {name: lines for name, lines in found.items() if lines}


def test_migrations_that_the_code_names_exist():
    named = {
        (name, ROOT / "leaderboard" / Path(name).parts[1] / "migrations", number)
        for name, text in python_files().items()
        if name.startswith("leaderboard/")
        for number in re.findall(r"\bmigrations? (\d{4})\b", text)
    }
    assert named
    assert [(name, number) for name, folder, number in named if not list(folder.glob(f"{number}_*.py"))] == []


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside of functions count; those under TYPE_CHECKING do not, since they are never executed."""
    graph = grimp.build_graph(
        "evaluator", "gpu_jobs", "leaderboard", exclude_type_checking_imports=True, cache_dir=None
    )
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


TEMPLATES = ROOT / "frontend" / "templates"


def test_templates_of_reports_load_only_tags_that_need_no_database():
    """`planarena view` has the tags of `LIBRARIES`: templates that its own extend put others into an include within a
    block that they replace."""
    pending, seen = sorted((TEMPLATES / "evaluations" / "reports").glob("*.html")), set()
    while pending:
        path = pending.pop()
        seen.add(path)
        text = path.read_text(encoding="utf-8")
        extended = [TEMPLATES / name for name in re.findall(r'{% extends "([^"]+)" %}', text)]
        pending += [path for path in extended if path not in seen]
        loaded = {name for line in re.findall(r"{% load ([^%]+) %}", text) for name in line.split()}
        assert loaded <= {*LIBRARIES, "humanize", "static"}, path
    assert {TEMPLATES / "base.html", TEMPLATES / "evaluations" / "task.html"} < seen


CLIENTS = ("evaluator/", "gpu_jobs/", "leaderboard/messages/")
STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, *range(520, 531)})
NAMES_OF_STATUSES = frozenset({
    "REQUEST_TIMEOUT", "TOO_EARLY", "TOO_MANY_REQUESTS", "INTERNAL_SERVER_ERROR", "BAD_GATEWAY", "SERVICE_UNAVAILABLE",
    "GATEWAY_TIMEOUT",
})  # fmt: skip
FENCES = ("```", "~~~", "`{3", "~{3")


METHODS_OF_HEADERS = frozenset({"get"})
METHODS_OF_TEXTS = frozenset(
    {"startswith", "endswith", "find", "index", "split", "partition", "strip", "compile", "sub", "search"}
)


def arguments_of(tree: ast.AST, *, methods: Set[str]) -> Iterator[ast.AST]:
    """The arguments of calls of these methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
            yield from node.args


def operands(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything that is compared, and all sets of statuses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for operand in (node.left, *node.comparators):
                yield from ast.walk(operand)
        elif isinstance(node, ast.Set) and all(map(is_status, node.elts)):
            yield from node.elts


def is_status(node: ast.AST) -> bool:
    """Whether an item of a set may be a status of an error."""
    return not isinstance(node, ast.Constant) or (type(node.value) is int and 400 <= node.value < 600)


def decides_on_status(tree: ast.AST) -> bool:
    """Whether the code compares with a status of transient answers."""
    return any(
        (isinstance(node, ast.Constant) and type(node.value) is int and node.value in STATUSES)
        or (isinstance(node, ast.Attribute) and node.attr in NAMES_OF_STATUSES)
        for node in operands(tree)
    )


def reads_retry_after(tree: ast.AST) -> bool:
    """Whether the code takes `Retry-After` from headers."""
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)]
    taken = [*(part.slice for part in parts), *arguments_of(tree, methods=METHODS_OF_HEADERS)]
    return any(isinstance(key, ast.Constant) and str(key.value).casefold() == "retry-after" for key in taken)


def reads_fences(tree: ast.AST) -> bool:
    """Whether the code looks for code fences: by a comparison, a method of texts, or a pattern."""
    looked_for = [*operands(tree), *arguments_of(tree, methods=METHODS_OF_TEXTS)]
    return any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and any(fence in node.value for fence in FENCES)
        for node in looked_for
    )


SPELLED_STATUS = re.compile(rf"\b(?:{'|'.join((*map(str, sorted(STATUSES)), *sorted(NAMES_OF_STATUSES)))})\b")


@pytest.mark.parametrize(
    ("reads", "spelled", "folders", "places"),
    [
        (decides_on_status, SPELLED_STATUS, CLIENTS, ["evaluator/network/transient.py"]),
        (
            reads_retry_after,
            re.compile("retry-after", re.IGNORECASE),
            ("evaluator/", "gpu_jobs/", "leaderboard/"),
            ["evaluator/network/transient.py"],
        ),
        (
            reads_fences,
            re.compile("|".join(map(re.escape, FENCES))),
            ("evaluator/", "gpu_jobs/", "leaderboard/"),
            ["evaluator/replies/envelope.py"],
        ),
    ],
    ids=["statuses", "Retry-After", "fences"],
)
def test_transient_statuses_retry_after_and_fences_are_known_in_one_place_each(reads, spelled, folders, places):
    """Only modules that spell them are parsed."""
    texts = {name: text for name, text in python_files().items() if name.startswith(folders) and spelled.search(text)}
    assert [name for name, text in texts.items() if reads(ast.parse(text, name))] == places
