"""The perturbations there are, by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from evaluator.core.suites.base import Suite
from evaluator.episodes.turns.faults import Fault
from evaluator.reliability import changes
from evaluator.reliability.perturbation import Change, Kind, Perturbation


def _of_every_suite(change: Change) -> Callable[[Suite], Change]:
    return lambda _: change


def _fault(fault: Fault, *, label: str, definition: str) -> Perturbation:
    return Perturbation(
        name=f"fault-{fault}", label=label, kind=Kind.FAULTS, definition=definition, fault=fault, whole_plans=False,
        in_turns=True,
    )  # fmt: skip


PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType({
    one.name: one
    for one in (
        Perturbation(
            name="paraphrased", label="paraphrased requests", kind=Kind.REQUEST, in_turns=True,
            definition="Another wording with the same goal, by the suite's own generator. Suites without one leave it "
            "out.",
            change_for=changes.paraphrased,
            without_form="No generator makes its requests, so that nothing can reword them and keep their goal.",
        ),
        Perturbation(
            name="framed", label="framed requests", kind=Kind.REQUEST, in_turns=True,
            definition="A sentence before and sometimes one after the request, which say nothing further.",
            change_for=_of_every_suite(changes.framed),
        ),
        Perturbation(
            name="lower-case", label="requests in lower case", kind=Kind.REQUEST, in_turns=True,
            definition="The request begins with a small letter and has no full stop.",
            change_for=_of_every_suite(changes.lower_case),
        ),
        Perturbation(
            name="renamed-tools", label="renamed tools", kind=Kind.TOOLS,
            definition="The same words in the names of tools, in another style: camelCase, snake_case and others.",
            change_for=_of_every_suite(changes.styled_tools),
        ),
        Perturbation(
            name="renamed-arguments", label="renamed arguments", kind=Kind.TOOLS,
            definition="Arguments and results of tools have longer names.",
            change_for=_of_every_suite(changes.renamed_arguments),
        ),
        Perturbation(
            name="cut-descriptions", label="cut descriptions", kind=Kind.TOOLS, in_turns=True,
            definition=f"Descriptions of tools end after {changes.WORDS_KEPT} words.",
            change_for=_of_every_suite(changes.cut_descriptions),
        ),
        Perturbation(
            name="shuffled-tools", label="shuffled tools", kind=Kind.TOOLS, in_turns=True,
            definition="The tools come in another order.",
            change_for=_of_every_suite(changes.shuffled_tools),
        ),
        Perturbation(
            name="distractor-tools", label="distractor tools", kind=Kind.TOOLS, in_turns=True,
            definition="Up to six further tools that no request needs; a call of one is an invented tool.",
            change_for=_of_every_suite(changes.distracted),
        ),
        Perturbation(
            name="irrelevant-input", label="irrelevant input", kind=Kind.INPUTS,
            definition="A further input of a type that the request does not speak of.",
            change_for=_of_every_suite(changes.further_input),
        ),
        Perturbation(
            name="tool-outage", label="tool outage", kind=Kind.TOOLS,
            definition="A tool of the gold plan is not offered. Where the others suffice, another plan must be found; "
            "elsewhere abstaining is right.",
            variant_for=lambda suite: suite.with_outage,
            without_form="It is not known which other tools suffice for its requests.",
            not_in_turns="In turns it is not known which other tools suffice.",
        ),
        _fault(
            Fault.ONCE, label="action that fails once",
            definition="The first action that runs does not answer. Repeated, it works.",
        ),
        _fault(
            Fault.ALWAYS, label="action that fails always",
            definition="The first action that runs does not answer, however often it is repeated. Others work.",
        ),
        _fault(
            Fault.LATE, label="late answer",
            definition="The first result comes after half of the time that an episode may take. Nobody waits for it: "
            "the time is only counted.",
        ),
        _fault(
            Fault.NONSENSE, label="nonsense answer",
            definition="The first result is a text without sense. Repeated, the action works.",
        ),
    )
})  # fmt: skip
"""By name, in the order of reports."""


def perturbation_named(name: str) -> Perturbation:
    """The perturbation with this name.

    Raises:
        LookupError: there is none; the message lists them.
    """
    try:
        return PERTURBATIONS[name]
    except KeyError:
        raise LookupError(f"there is no perturbation {name!r}; there are: {', '.join(PERTURBATIONS)}") from None


def perturbations_of(*, suite: Suite, in_turns: bool) -> tuple[Perturbation, ...]:
    """The perturbations that apply to a suite, in the order of reports.

    Args:
        suite: one of the registry's, or as planners are asked.
        in_turns: whether its planners are asked turn by turn.
    """
    return tuple(one for one in PERTURBATIONS.values() if one.is_of(suite, in_turns=in_turns))
