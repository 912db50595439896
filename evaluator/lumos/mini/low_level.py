"""Low-level subgoals (LUMOS, section 4.5): every subgoal of a solution stands for exactly one action."""

from collections.abc import Mapping, Sequence

from evaluator.core.turns import ActionResult, PastTurn
from evaluator.episodes.turns.environment import Call
from evaluator.lumos.mini.groups import CLICK
from evaluator.lumos.retrieval.environment import ANSWER, KNOWLEDGE, PARAGRAPHS, bound
from evaluator.lumos.tasks import GoldTurn
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.binding import Parameter

_WORDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    KNOWLEDGE: ("Find the article about {}.", ("entity",)),
    PARAGRAPHS: ("Find what it says about: {}.", ("knowledge", "query")),
    ANSWER: ("Answer from it: {}", ("context", "question")),
    CLICK: ("Click {}.", ("page", "element")),
}
"""By tool: the subgoal, whose blank is the value of the tool's last parameter, and the parameters."""


def low_level(
    *, gold: Sequence[GoldTurn], past: Sequence[PastTurn]
) -> tuple[tuple[GoldTurn, ...], tuple[PastTurn, ...]]:
    """Split turns with several actions into one turn per action. Subgoals name values instead of references.

    Args:
        gold: the turns of a solution; only those with one action may use other tools than `_WORDS` has.
        past: the same turns with the results of their actions.

    Returns:
        The turns of one action each, and the same with their results.
    """
    turns: list[GoldTurn] = []
    done: list[PastTurn] = []
    values: dict[str, str] = {}
    for turn, ran in zip(gold, past, strict=True):
        for result in ran.results:
            subgoal = turn.subgoal if len(ran.results) == 1 else _subgoal(result, values=values)
            values |= result.outputs
            turns.append(GoldTurn(subgoal, result.action))
            done.append(ran.model_copy(update={"index": len(turns), "subgoals": [subgoal], "results": [result]}))
    return tuple(turns), tuple(done)


def _subgoal(result: ActionResult, *, values: Mapping[str, str]) -> str:
    (action,) = read_actions(text=result.action, tools=tuple(_WORDS)).actions
    words, parameters = _WORDS[action.tool]
    call = Call(
        scope="", tool=action.tool, arguments=action.raw, references=action.references, values=values,
        outputs=len(action.outputs),
    )  # fmt: skip
    return words.format(bound(call, parameters=tuple(map(Parameter, parameters)))[parameters[-1]])
