"""Why a profile has no figures of a perturbation. Pure."""

from collections.abc import Collection
from dataclasses import dataclass

from evaluator.reliability.perturbation import Kind, Perturbation
from evaluator.reliability.perturbations import PERTURBATIONS

_WHOLE_PLANS = "Planners of whole plans see no results of actions."
_TURNS = {
    Kind.TOOLS: "Actions in turns are read in the suite's names.",
    Kind.INPUTS: "Episodes in turns have exactly the inputs of their task.",
}
_OVER_MCP = "Agents get the suite's own list of tools over MCP."
_NO_REQUEST = "It changes no request of this suite."


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """A perturbation that a suite, or a kind of planner, cannot have."""

    name: str
    label: str
    why: str
    """As a sentence."""


def unavailable(
    *, in_turns: bool, applied: Collection[str], lists_tools_itself: bool = False
) -> tuple[Unavailable, ...]:
    """The perturbations that a profile leaves out, with reasons, in the order of reports.

    Args:
        in_turns: whether planners of the suite are asked turn by turn.
        applied: names of the perturbations that the profile has runs of, or lacks by a fault.
        lists_tools_itself: whether the planner gets its tools by a list that no perturbation changes.
    """
    return tuple(
        Unavailable(
            name=one.name, label=one.label, why=_why(one, in_turns=in_turns, lists_tools_itself=lists_tools_itself)
        )
        for one in PERTURBATIONS.values()
        if one.name not in applied
    )


def _why(perturbation: Perturbation, *, in_turns: bool, lists_tools_itself: bool) -> str:
    if perturbation.fault is not None and not in_turns:
        return _WHOLE_PLANS
    if in_turns and not perturbation.in_turns:
        return perturbation.not_in_turns or _TURNS[perturbation.kind]
    if lists_tools_itself and perturbation.kind is Kind.TOOLS:
        return _OVER_MCP
    return perturbation.without_form or _NO_REQUEST
