"""Attacks find what they are for: figures that tell single scores, opened addresses, files that names create."""

import socket
from dataclasses import replace

import pytest

from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting
from evaluator.planners.attacks.base import Attack, GroupFigure, PlansOf, Target
from evaluator.planners.attacks.public_plans import closed_season
from evaluator.studies.audit import measuring
from evaluator.studies.audit.classes import names, practice, timing
from evaluator.studies.audit.registry import flaws

SUITE = "toolmini"


def points_of(
    name: str, *, monkeypatch: pytest.MonkeyPatch, most_tasks: int = 60, attack: str = ""
) -> dict[str, float]:
    """The points of the attacks of a class, or of one of them."""
    flaw = next(flaw for flaw in flaws() if flaw.name == name)
    chosen = tuple(each for each in flaw.attacks if attack in ("", each.name))
    monkeypatch.setattr(measuring, "flaws", lambda: (replace(flaw, attacks=chosen),))
    monkeypatch.setattr(measuring, "_knowledge", lambda _: (measuring.Knowledge.REQUEST,))
    found = measuring.audit(suite=suite_of(SUITE), setting=Setting(), is_quick=True, most_tasks=most_tasks)
    return {attack.name: attack.points for flaw in found.flaws for attack in flaw.attacks}


def test_means_of_small_groups_would_tell_which_guesses_are_right(monkeypatch):
    # One split says enough: `test_points_by_chance_are_measured_again_on_further_hidden_splits` is about more.
    monkeypatch.setattr(measuring, "_FURTHER", 0)
    attack = "figures of 4 evaluations"
    shown = points_of("practice", monkeypatch=monkeypatch, most_tasks=120, attack=attack)
    monkeypatch.setattr(measuring, "LEAST_SHOWN", 1)
    leaked = points_of("practice", monkeypatch=monkeypatch, most_tasks=120, attack=attack)
    assert leaked[attack] > 4 > 2 >= shown[attack]


def test_figures_are_the_means_of_all_tasks_and_of_large_groups():
    target = a_target()
    measured = measuring._Measured(evaluator_of(target), target=target, listener=lambda _: None)
    figures = measured.figures(PlansOf("nothing", lambda _: {"steps": [], "answers": []}))
    asked = {task.asked_as for task in target.asked.tasks}
    assert figures[0] == GroupFigure(tasks=frozenset(asked), mean=0.0)
    assert all(len(figure.tasks) >= 30 and figure.tasks <= asked for figure in figures[1:])
    assert len(figures) > 1


def test_guesses_are_chosen_by_the_means_of_their_groups():
    rounds = [
        ({"a": 0, "b": 0}, [GroupFigure(tasks=frozenset("ab"), mean=0.5), GroupFigure(tasks=frozenset("a"), mean=0.0)]),
        ({"a": 1, "b": 1}, [GroupFigure(tasks=frozenset("ab"), mean=0.5), GroupFigure(tasks=frozenset("a"), mean=1.0)]),
    ]
    assert practice._best(rounds) == {"a": 1, "b": 0}
    assert practice._best([({"a": 0}, [])]) == {}


def test_an_opened_address_is_a_breach():
    listener = names._Listener()
    with socket.create_connection(("127.0.0.1", listener.port())):
        assert listener.breach() == "The address that a plan gave as the name of a file was opened."
    listener.port()
    assert listener.breach() == listener.breach() == ""


def test_a_file_that_a_name_creates_is_a_breach_and_removed():
    names._TRACE.touch()
    assert names._breach_of_files().startswith("A result was written")
    assert names._breach_of_files() == ""


def test_every_reason_that_a_planner_can_give_counts_as_a_fault(monkeypatch):
    points = points_of("timing", monkeypatch=monkeypatch)
    assert len([name for name in points if name.startswith("unsure")]) == len(timing._REASONS)
    assert max(points.values()) <= 2


def test_closed_seasons_have_other_requests_in_the_order_of_their_names():
    target = a_target()
    closed = closed_season(target.public)
    assert [task.asked_as for task in closed] == sorted(task.asked_as for task in closed)
    assert {task.asked_as for task in closed}.isdisjoint({task.asked_as for task in target.asked.tasks})


def a_target() -> Target:
    public = suite_of(SUITE)
    asked = suite_on_split(suite=public, split="hidden", hidden_seed="a" * 64)
    keys = tuple(task.key for task in public.tasks)
    return Target(public=public, asked=asked, split="hidden", tasks=keys, in_turns=False, executes=False)


def evaluator_of(target: Target):
    from evaluator.core.suites.hidden import HiddenSeed
    from evaluator.episodes.base import episode_of

    setting = replace(Setting(), split="hidden", hidden=HiddenSeed("a" * 64))
    return episode_of(SUITE).evaluator(suite=target.public, setting=setting)


def test_names_keep_the_plan():
    attack = next(own for own in names.FLAW.attacks if own.name == "names with a null character")
    assert isinstance(attack, Attack)
    plan = {
        "steps": [{"id": "s1", "tool": "t", "inputs": {"x": "$a"}, "outputs": {"y": "s1.y"}}],
        "answers": ["s1.y"],
    }  # fmt: skip
    assert names._named(plan, {"s1.y": "n"}) == {
        "steps": [{"id": "s1", "tool": "t", "inputs": {"x": "$a"}, "outputs": {"y": "n"}}], "answers": ["n"],
    }  # fmt: skip
