"""Limits of size and the rules of imports, over the whole repository.

The exceptions are a list of what is left to do, with the present size. One that grows fails, and so does one that is
no longer needed: then delete its line.
"""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_MODULES, MOST_LINES, MOST_FUNCTION_LINES = 20, 400, 40
REASON = "# Long: "
"""Begins the comment above a function that is longer than the limit, and says why."""
LISTS = frozenset({"evaluator/experts"})
"""Folders of siblings of one kind."""

LARGE_FOLDERS = {
    # One fake each.
    "tests/fakes": 23,
}
LONG_MODULES = {
    # Cases of one behaviour each.
    "tests/evaluator/client/verify/test_attacks.py": 509,
    "tests/evaluator/experts/released.py": 481,
    "tests/evaluator/planners/language_models/chat/test_model.py": 451,
    "tests/gpu_jobs/test_worker.py": 445,
    "tests/leaderboard/leaving/test_leaving.py": 500,
    "tests/leaderboard/queue/test_canary.py": 436,
    "tests/leaderboard/queue/test_verification.py": 555,
}
LONG_FUNCTIONS = {
    # Journeys, servers and measurements, step by step.
    "tests/end_to_end/test_endpoints.py test_faults_cost_their_own_task_and_an_unavailable_endpoint_can_be_resumed": 41,
    "tests/end_to_end/test_journey.py test_sign_up_submit_an_endpoint_watch_it_finish_and_read_why_a_task_was_lost": 43,
    "tests/evaluator/experts/hub_server.py _handler": 76,
    "tests/evaluator/experts/released.py stable_diffusion": 50,
    "tests/leaderboard/test_permissions.py world": 41,
}

SUITE_NAMES = re.compile(
    r"(?<![\w./])(?:openagi|tool100|tool2k|toolmini|toolworld|toolbench|gsm8k|svamp|intercode)(?![\w/])"
    r"|\bsuites\.(?:openagi|toolbench|lumos)\b|_(?:openagi|tool100|tool2k|toolmini|toolworld|toolbench|gsm8k|svamp|intercode)\b"
)
"""A suite in the code: its slug, an import from its folder, or an identifier. Strategies, such as `openagi/zero-shot`,
and `evaluator.tools.openagi` are named after the paper and not after its suite."""
SUITE_FOLDERS = (
    "evaluator/suites/openagi/",
    "evaluator/suites/openagi_season/",
    "evaluator/suites/toolbench/",
    "evaluator/suites/lumos/",
)
NAMES_OF_SUITES = {
    "leaderboard/site/api/examples.py": "an example in the reference of the API",
    "evaluator/tools/openagi.py": "the catalogue is named after its benchmark",
    "leaderboard/demo/progress.py": "the suite of the demo",
    "leaderboard/docs_pages/chapters.py": "a chapter's file",
}

KIND_NAMES = re.compile(r"\bPlannerKind\.[A-Z]|\bkind (?:==|!=) \"(?:bundled|endpoint|chat|hub|checkpoint|plans)\"")
"""A kind of planner in the code: a member of the enumeration, or a comparison with its name."""
KIND_FOLDERS = ("leaderboard/planners/kinds/", "leaderboard/planners/models.py")


@cache
def python_files() -> Mapping[str, str]:
    """The text of each Python file of the repository by its path; migrations are generated, and left out."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    paths = (name for name in listed if name and "/migrations/" not in name and (ROOT / name).is_file())
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in paths}


def check(measured: Mapping[str, int], *, most: int, exceptions: Mapping[str, int]) -> None:
    over = {name: size for name, size in measured.items() if size > max(most, exceptions.get(name, 0))}
    assert not over, f"larger than {most}, or than its exception"
    needless = [name for name in exceptions if measured.get(name, 0) <= most]
    assert not needless, "delete these exceptions"


def test_no_folder_has_too_many_modules():
    folders = Counter(str(Path(name).parent) for name in python_files() if Path(name).name != "__init__.py")
    sizes = {folder: size for folder, size in folders.items() if folder not in LISTS}
    check(sizes, most=MOST_MODULES, exceptions=LARGE_FOLDERS)


def test_no_module_is_too_long():
    sizes = {name: len(text.splitlines()) for name, text in python_files().items()}
    check(sizes, most=MOST_LINES, exceptions=LONG_MODULES)


def test_no_function_is_too_long_without_a_reason():
    sizes: dict[str, int] = {}
    for name, text in python_files().items():
        for function, size in functions(text):
            sizes[f"{name} {function}"] = max(size, sizes.get(f"{name} {function}", 0))
    check(sizes, most=MOST_FUNCTION_LINES, exceptions=LONG_FUNCTIONS)


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Each function without a reason for its length, and its lines, docstring aside."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if not lines[first - 2].strip().startswith(REASON):
                assert node.end_lineno is not None
                yield node.name, node.end_lineno - node.lineno + 1 - docstring_lines(node)


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    if ast.get_docstring(node) is None:
        return 0
    first = node.body[0]
    assert first.end_lineno is not None
    return first.end_lineno - first.lineno + 1


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
