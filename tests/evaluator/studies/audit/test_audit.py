"""Attacks are measured against floors, planted flaws are found, and every suite that ships has a passing audit."""

import json
import pkgutil
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import pytest
import typer

from evaluator.cli import audit as command
from evaluator.controlllm.toolbench import judging
from evaluator.core.planner import PlannerRequest
from evaluator.core.suites.audits import MOST_POINTS, Audit, audit_of
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.planners.attacks.base import Attack, Flaw, Knowledge, PlansOf
from evaluator.planners.bundled import GoldPlanner
from evaluator.scoring.arbiters.base import Settled
from evaluator.studies.audit import classes, measuring, published, registry
from evaluator.studies.audit.published import audited_suites, outdated
from evaluator.studies.audit.registry import flaws

SUITE = "toolmini"
FEW = 8
"""Tasks, where a planner solves all or none."""


@pytest.fixture(scope="module")
def found() -> Audit:
    return measuring.audit(suite=suite_of(SUITE), setting=Setting(), is_quick=True)


def test_no_attack_earns_more_than_the_best_floor_of_its_knowledge(found):
    assert found.digest == suite_of(SUITE).digest
    assert (found.split, found.tasks, found.gold) == ("hidden", measuring.QUICK_TASKS, 1.0)
    best = {knows: max(floor.score for floor in found.floors if floor.knows == knows) for knows in Knowledge}
    for flaw in found.flaws:
        for attack in flaw.attacks:
            distance = 100 * (attack.score - best[Knowledge(attack.knows)])
            assert attack.splits > 1 or attack.points == pytest.approx(distance, abs=0.01)
            assert attack.points <= MOST_POINTS or attack.inherent, (flaw.name, attack)
    assert found.passes


def test_an_audit_is_deterministic():
    first, second = (
        measuring.audit(suite=suite_of(SUITE), setting=Setting(), is_quick=True, most_tasks=FEW) for _ in range(2)
    )
    assert first == second


def test_every_class_has_attacks_and_names_what_it_asks(found):
    assert [flaw.name for flaw in found.flaws] == [flaw.name for flaw in flaws()]
    assert len(found.flaws) == 11
    names = [attack.name for flaw in flaws() for attack in flaw.attacks]
    assert len(set(names)) == len(names)
    assert all(flaw.description.endswith("?") for flaw in flaws())


def test_a_class_is_one_module():
    modules = [module.name for module in pkgutil.iter_modules(classes.__path__)]
    named = {import_module(f"{classes.__name__}.{name}").FLAW.name for name in modules}
    assert {flaw.name for flaw in flaws()} == named == {name.replace("_", "-") for name in modules}


def test_an_attack_of_a_paper_for_a_class_that_is_not_there_is_refused(monkeypatch):
    attack = Attack(name="a", description="d", make=lambda _: PlansOf("a", lambda _: {}))
    monkeypatch.setattr(registry, "_of_papers", lambda: iter([("no-such", attack)]))
    registry.flaws.cache_clear()
    with pytest.raises(LookupError, match="no class of flaws 'no-such'"):
        registry.flaws()
    registry.flaws.cache_clear()


def test_a_network_that_accepts_every_text_is_found(monkeypatch):
    gullible = SimpleNamespace(
        identity=judging.network_identity,
        settle=lambda questions: [Settled(verdict="same", answers=("1.0",)) for _ in questions],
    )
    monkeypatch.setattr(judging, "shipped_network", lambda: gullible)
    weak = audit_with(*(flaw for flaw in flaws() if flaw.name == "weak-matching"), monkeypatch=monkeypatch)
    assert not weak.passes
    assert weak.worst.points > 10


def audit_with(*own: Flaw, monkeypatch: pytest.MonkeyPatch) -> Audit:
    monkeypatch.setattr(measuring, "flaws", lambda: own)
    return measuring.audit(suite=suite_of(SUITE), setting=Setting(), is_quick=True, most_tasks=FEW)


def flaw(*attacks: Attack) -> Flaw:
    return Flaw(name="own", title="Own", description="Own?", attacks=attacks)


LEAK = Attack(name="leak", description="Answers with gold plans.", make=lambda target: GoldPlanner(target.asked))


def test_a_leak_blocks_a_release_unless_nobody_could_mend_it(monkeypatch):
    leaked = audit_with(flaw(LEAK), monkeypatch=monkeypatch)
    assert leaked.worst.name == "leak"
    assert leaked.worst.points > 50
    assert not leaked.passes
    shipped = replace(LEAK, inherent=lambda _: "The list is published.")
    assert audit_with(flaw(shipped), monkeypatch=monkeypatch).passes


def test_a_breach_counts_as_the_whole_scale(monkeypatch):
    attack = replace(
        LEAK, make=lambda _: PlansOf("nothing", lambda _: {"steps": [], "answers": []}),
        breach=lambda: "It created a file.",
    )  # fmt: skip
    found = audit_with(flaw(attack), monkeypatch=monkeypatch)
    assert (found.worst.score, found.worst.points, found.passes) == (0.0, 100.0, False)


def test_points_by_chance_are_measured_again_on_further_hidden_splits(monkeypatch):
    seen = []

    def lucky(target):
        seen.append(target.asked.tasks[0].asked_as)
        return GoldPlanner(target.asked) if len(seen) == 1 else PlansOf("none", lambda _: {"steps": [], "answers": []})

    found = audit_with(flaw(replace(LEAK, make=lucky)), monkeypatch=monkeypatch)
    assert (found.worst.splits, len(set(seen))) == (3, 3)
    assert found.worst.score == pytest.approx(1 / 3, abs=1e-5)
    assert audit_with(flaw(LEAK), monkeypatch=monkeypatch).worst.splits == 3


def test_withheld_answers_count_as_faults(found):
    withheld = next(attack for own in found.flaws for attack in own.attacks if attack.name == "withheld answers")
    assert withheld.score < 0.15


def test_the_command_says_which_attack_blocks_a_release(monkeypatch, capsys, found):
    blocked = found.model_copy(
        update={"flaws": (found.flaws[0].model_copy(update={"attacks": (attack_worth(3.0),)}), *found.flaws[1:])}
    )
    monkeypatch.setattr(measuring, "audit", lambda **_: blocked)
    with pytest.raises(typer.Exit) as refused:
        command.audit(SUITE, is_quick=True)
    assert refused.value.exit_code == 1
    assert "an attack earns 3.0 points, more than 2" in capsys.readouterr().err
    monkeypatch.setattr(measuring, "audit", lambda **_: found)
    command.audit(SUITE, is_quick=True, as_json=True)
    assert json.loads(capsys.readouterr().out)["suite"] == SUITE
    with pytest.raises(typer.Exit) as refused:
        command.audit(SUITE, is_quick=True, is_published=True)
    assert refused.value.exit_code == 2


def attack_worth(points: float):
    from evaluator.core.suites.audits import AuditedAttack

    return AuditedAttack(
        name="an attack", description="It attacks.", knows="request", score=0.5, floor="no-op", points=points
    )


def test_tables_have_a_row_for_each_class(found):
    first, floors = command.tables(found)
    assert first.markdown().count("\n| ") == 1 + len(found.flaws)
    assert floors.markdown().count("\n| ") == 1 + len(found.floors)


def test_attackers_who_know_requests_never_read_hidden_gold_plans(monkeypatch):
    """Their plans are the same if the gold plans of the hidden requests are others."""
    suite = suite_of(SUITE)
    target = target_of(suite)
    blind = replace(target, asked=replace(target.asked, tasks=tuple(replace(task, gold=None) for task in suite.tasks)))
    requests = [a_request(target, place) for place in (0, 7, 31)]
    for own in flaws():
        for attack in own.attacks:
            if attack.knows is Knowledge.REQUEST and attack.applies(target) and not attack.is_slow:
                planners = [attack.make(each) for each in (target, blind)]
                for request in requests:
                    assert plan_of(planners[0], request) == plan_of(planners[1], request), attack.name


def target_of(suite):
    from evaluator.core.suites.hidden import suite_on_split
    from evaluator.planners.attacks.base import Target

    asked = suite_on_split(suite=suite, split="hidden", hidden_seed="a" * 64)
    return Target(public=suite, asked=asked, split="hidden", tasks=(), in_turns=False, executes=False)


def a_request(target, place) -> PlannerRequest:
    from evaluator.core.planner import request_for
    from evaluator.episodes.judgement import all_tools

    task = target.asked.tasks[place]
    return request_for(suite=target.asked, task=task, context=all_tools(suite=target.asked, task=task))


def plan_of(planner, request):
    from evaluator.core.planner import PlannerError

    try:
        reply = planner.plan(request)
    except PlannerError as error:
        return str(error)
    return reply.plan, reply.alternatives


@pytest.mark.parametrize("slug", audited_suites())
def test_every_generated_suite_has_an_audit_of_today_that_lets_it_be_released(slug):
    assert outdated(slug) == "", "run planarena audit --outdated --publish"
    for own in audit_of(slug).flaws:
        for attack in own.attacks:
            assert attack.inherent or attack.points <= MOST_POINTS, f"{attack.name} earns {attack.points} points"


def test_an_audit_is_outdated_when_suite_judge_or_classes_change(monkeypatch, found):
    now = found.model_copy(update={"rules": episode_of(SUITE).rules_digest("lilliput")})
    changes = ({}, {"digest": "0"}, {"rules": "0"}, {"flaws": now.flaws[1:]})
    reasons = []
    for change in changes:
        monkeypatch.setattr(published, "audit_of", lambda _, change=change: now.model_copy(update=change))
        reasons.append(outdated(SUITE))
    assert reasons == [
        "", "the suite has changed", "its judge or its experts have changed", "a class of flaws is new",
    ]  # fmt: skip
    monkeypatch.setattr(published, "audit_of", lambda _: None)
    assert outdated(SUITE) == "there is none"


def test_the_command_audits_each_suite_that_is_outdated(monkeypatch, found):
    audited = []
    monkeypatch.setattr(measuring, "audit", lambda suite, **_: audited.append(suite.slug) or found)
    monkeypatch.setattr(published, "audited_suites", lambda: (SUITE, "arc-mini"))
    monkeypatch.setattr(published, "outdated", lambda slug: "" if slug == SUITE else "there is none")
    command.audit(is_outdated=True, is_quick=True)
    assert audited == ["arc-mini"]
    for wrong in ({}, {"suite": SUITE, "is_outdated": True}):
        with pytest.raises(typer.Exit) as refused:
            command.audit(**wrong)
        assert refused.value.exit_code == 2
