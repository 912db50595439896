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
