"""The table of commands agrees with the commands, and is read without importing them."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app, leaves, member, program
from evaluator.core.commands import table
from evaluator.core.commands.table import current_entries, top_level
from tests.rings import usual

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {"httpx", "numpy", "torch", "pydantic", "django", "scipy", "PIL", "cryptography"}


def loaded_by(*arguments: str) -> set[str]:
    """Topmost packages that a run of the program has imported in the end."""
    code = (
        "import atexit, sys; from leaderboard.wiring.console import run;"
        "atexit.register(lambda: sys.stderr.write(' '.join({name.partition('.')[0] for name in sys.modules})));"
        f"run({list(arguments)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return set(done.stderr.split())


def test_the_help_in_a_list_is_that_of_the_command():
    for name, entry in top_level().items():
        command = member(program(), name)
        assert (command.name, inspect.cleandoc(command.help).partition("\n\n")[0]) == (name, entry.summary)


def test_every_entry_can_be_called_and_every_group_has_members():
    words = {words for words, _ in leaves()}
    assert {one for one, entry in current_entries().items() if not entry.help} <= words
    assert {one.split()[0] for one in words} == set(top_level())
    assert all(entry.extra for entry in top_level().values())


@pytest.mark.parametrize("word", usual(["--help", "--version", "sumbit"], of=["--help"]))
def test_helps_and_mistakes_import_no_command(word):
    assert not loaded_by(word) & (HEAVY | {"typer"})


def test_a_command_of_a_site_imports_nothing_of_the_library():
    loaded = loaded_by("status", "--help")
    assert {"httpx", "pydantic"} <= loaded
    assert not loaded & (HEAVY - {"httpx", "pydantic"})


def test_the_library_suggests_a_command_for_a_mistyped_one():
    done = CliRunner().invoke(app, ["evalute"])
    assert done.exit_code == 2
    assert "Did you mean 'evaluate'" in done.stderr
    done = CliRunner().invoke(app, ["bench", "serach"])
    assert "Did you mean 'search'" in done.stderr


def test_suites_of_others_bring_commands_in_a_table_beside_their_module(tmp_path, monkeypatch):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "commands.toml").write_text('["suites weigh"]\nrun = "others.commands:weigh"\n')
    (tmp_path / "others" / "commands.py").write_text(
        'import typer\ndef weigh() -> None:\n    """Weigh it."""\n    typer.echo("heavy")\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(table.SUITES_VARIABLE, "others.entry")
    assert CliRunner().invoke(app, ["suites", "weigh"]).stdout == "heavy\n"
    assert "Weigh it." in CliRunner().invoke(app, ["suites", "--help"]).stdout


COMPLETED = [
    ("planarena ben", "1", "bench"),
    ("planarena bench sea", "2", "search"),
    ("planarena status --pat", "2", "--patience"),
]


@pytest.mark.parametrize(("words", "current", "expected"), usual(COMPLETED, of=COMPLETED[1:2]))
def test_a_shell_gets_completions(words, current, expected):
    done = subprocess.run(
        [sys.executable, "-m", "leaderboard.wiring.console"], cwd=ROOT, capture_output=True, text=True, timeout=60,
        env={"COMP_WORDS": words, "COMP_CWORD": current, table.COMPLETE: "complete_bash"},
    )  # fmt: skip
    assert done.stdout.split() == [expected], done.stderr


def test_the_script_for_a_shell_asks_the_program_and_other_shells_are_bad_usage():
    for shell in ("bash", "zsh", "fish"):
        assert f"{table.COMPLETE}=complete_{shell}" in CliRunner().invoke(app, ["completion", shell]).stdout
    done = CliRunner().invoke(app, ["completion", "csh"])
    assert (done.exit_code, "bash, zsh, fish" in done.stderr) == (2, True)
