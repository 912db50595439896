"""What a profile leaves out, and why."""

from evaluator.reliability import PERTURBATIONS, perturbations_of, unavailable
from evaluator.suites.registry import suite_of


def why(**options):
    return {one.name: one.why for one in unavailable(**options)}


def test_every_perturbation_is_applied_or_has_a_reason():
    for slug, in_turns in (("toolmini", False), ("arc-mini", True)):
        applied = {one.name for one in perturbations_of(suite=suite_of(slug), in_turns=in_turns)}
        found = why(in_turns=in_turns, applied=applied)
        assert applied.isdisjoint(found)
        assert applied | found.keys() == PERTURBATIONS.keys()


def test_reasons_say_whether_suite_protocol_or_planner_is_in_the_way():
    whole, turns = why(in_turns=False, applied=()), why(in_turns=True, applied=())
    assert "No generator" in whole["paraphrased"]
    assert "other tools suffice" in whole["tool-outage"]
    assert "see no results" in whole["fault-once"]
    assert turns["tool-outage"].startswith("In turns")
    assert "suite's names" in turns["renamed-tools"]
    assert "no request" in turns["shuffled-tools"]
    assert "over MCP" in why(in_turns=True, applied=(), lists_tools_itself=True)["shuffled-tools"]
