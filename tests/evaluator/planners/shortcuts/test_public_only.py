"""Shortcuts know public requests only: by what their modules import, and by the words in their models."""

import ast
import inspect
from dataclasses import replace
from pathlib import Path

import pytest

import evaluator.planners.shortcuts as package
from evaluator.core.planner import request_for
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import entry_of, suite_names, suite_of
from evaluator.planners.bundled import BUNDLED, bundled_planner, shortcuts_of
from evaluator.planners.shortcuts import bag_of_words, examples_of
from evaluator.planners.shortcuts.bag_of_words import BagOfWords
from evaluator.planners.shortcuts.examples import fold_of, folds_of
from evaluator.planners.shortcuts.memoriser import Memoriser
from evaluator.planners.shortcuts.planners import TRAINED, shortcut_named
from evaluator.planners.shortcuts.skeletons import tokens_of

GENERATED = ("openagi-season", "toolmini", "toolmini-abstain", "toolworld", "lumos-mini", "arc-mini")
SEEDS = ("0" * 64, "5eed" * 16)
FEW = 240


def modules() -> list[Path]:
    """The modules of the trained shortcuts, and those of keyword rules."""
    rules = [entry_of(slug).regex for slug in suite_names()]
    named = {regex.args[0].partition(":")[0] for regex in rules if regex is not None}  # type: ignore[attr-defined]
    root = Path(inspect.getfile(package)).parents[3]
    # In one order, which all processes of a run must collect.
    return sorted(
        [
            *Path(inspect.getfile(package)).parent.glob("*.py"),
            *(root / f"{name.replace('.', '/')}.py" for name in named),
        ]
    )


@pytest.mark.parametrize("path", modules(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_module_imports_anything_of_a_hidden_split(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    ]
    assert not [name for name in names if "hidden" in name.lower() or "spoken" in name.lower()]


@pytest.mark.parametrize("slug", GENERATED)
def test_the_examples_are_no_public_tasks_and_no_hidden_ones_are_drawn_for_them(slug):
    suite = suite_of(slug)

    def never(*_: object) -> None:
        raise AssertionError("a shortcut asked for hidden requests")

    examples = examples_of(replace(suite, hidden_requests=never), draws=FEW)
    found = {(example.text, repr(dict(example.given))) for example in examples}
    assert len(found) == len(examples) > FEW / 3
    assert not found & {(task.text, repr(dict(task.values_given))) for task in suite.tasks}


@pytest.mark.parametrize("slug", [slug for slug in GENERATED if slug != "arc-mini"])
def test_a_model_has_no_word_that_only_hidden_requests_have(slug, monkeypatch):
    # Which words a model has does not depend on their weights.
    monkeypatch.setattr(bag_of_words, "_STEPS", 1)
    monkeypatch.setattr(bag_of_words, "_EPOCHS", 1)
    suite = suite_of(slug)
    examples = examples_of(suite, draws=FEW)
    public = {token.text.casefold() for example in examples for token in tokens_of(example.text)}
    hidden = {
        token.text.casefold()
        for seed in SEEDS
        for task in suite_on_split(suite=suite, split="hidden", hidden_seed=seed).tasks
        for token in tokens_of(task.text)
    }
    words = {word for template in Memoriser.of(examples).templates for word in template.words}
    words |= set(BagOfWords.of(examples).parts.features)
    assert not (words & (hidden - public))


def test_of_a_list_each_request_is_answered_by_a_model_that_did_not_read_it():
    suite = suite_of("openagi")
    examples = examples_of(suite)
    folds = folds_of(suite, examples)
    for example in examples:
        assert example not in folds[fold_of(example.text)]
    assert {example.text for fold in folds for example in fold} == {task.text for task in suite.tasks}


def test_which_suites_have_which_shortcut():
    assert shortcuts_of("toolmini") == ("regex", "template-memoriser", "bag-of-words")
    assert shortcuts_of("openagi") == ("template-memoriser", "bag-of-words")
    assert shortcuts_of("arc-111") == (), "it has no gold plans"
    assert all(BUNDLED[name].is_shortcut for name in TRAINED)
    with pytest.raises(LookupError, match="does not name it"):
        bundled_planner(name="regex", suite=suite_of("openagi"))


def test_models_are_kept_by_the_version_of_the_suite(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    suite, shortcut = suite_of("openagi"), shortcut_named("template-memoriser")
    models = shortcut.models("openagi")
    (kept,) = (tmp_path / "shortcuts").iterdir()
    data = kept.read_bytes()
    assert shortcut.keep(shortcut.built(suite), suite=suite).read_bytes() == data
    assert [model.to_json() for model in shortcut.models("openagi")] == [model.to_json() for model in models]
    assert shortcut.digest(suite) != shortcut.digest(replace(suite, version="0"))
    kept.write_bytes(b"damaged")
    assert len(shortcut.models("openagi")) == len(models)
    assert kept.read_bytes() == data


def test_on_a_list_the_memoriser_answers_from_other_requests(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    suite = suite_of("openagi")
    planner = bundled_planner(name="template-memoriser", suite=suite)
    task = suite.task("20")
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    reply = planner.plan(request_for(suite=suite, task=task, context=context))
    assert 0 < float(str(reply.notes["similarity"])) < 1
