"""The tools `Search` and `Click`, and what a purchase is worth."""

from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.shop.catalogue import Shop, shop
from evaluator.lumos.mini.shop.pages import PageError, address_of, click, search_page
from evaluator.lumos.mini.shop.reward import goal_of, reward
from evaluator.lumos.retrieval.environment import UnboundError, bound
from evaluator.lumos.tasks import TurnTask
from evaluator.replies.turns.binding import Parameter

_LONGEST_QUERY = 200


def run_search(call: Call, *, source: Source) -> Outcome:
    """The first page of results."""
    sold = _shop(call.scope, source=source)
    if sold is None:
        return _no_shop(call)
    try:
        query = bound(call, parameters=(Parameter("query"),))["query"]
        return Made((search_page(shop=sold, query=query[:_LONGEST_QUERY]),))
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))


def run_click(call: Call, *, source: Source) -> Outcome:
    """The page behind an element of a page."""
    sold = _shop(call.scope, source=source)
    if sold is None:
        return _no_shop(call)
    try:
        given = bound(call, parameters=(Parameter("page"), Parameter("element")))
        return Made((click(shop=sold, address=address_of(given["page"]), element=given["element"]),))
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
    except PageError as error:
        return Refused(ActionProblem.TOOL_ERROR, f"{str(error)[:1].upper()}{str(error)[1:]}.")


def score_purchase(*, task: TurnTask, answer: str | None, source: Source) -> TurnScore:
    """Solved where the reward is 1. An answer is the page after `buy now`; anything else is worth nothing."""
    sold = _shop(task.scope, source=source)
    assert sold is not None
    goal = goal_of(task.answer)
    worth = 0.0
    try:
        address = address_of(answer or "")
        item = sold.by_key.get(address.item)
        if address.kind == "bought" and item is not None:
            chosen = dict(address.chosen)
            legal = all(value in item.options().get(name, ()) for name, value in chosen.items())
            worth = reward(goal=goal, item=item, chosen=chosen) if legal else 0.0
    except PageError:
        pass
    expected = f"{', '.join(goal.features)} {goal.noun}, {goal.colour}, {goal.size}, at most {goal.most} coins"
    return TurnScore(
        score=float(worth == 1), indicators={"solved": float(worth == 1), "reward": worth}, expected=expected
    )


def _shop(scope: str, *, source: Source) -> Shop | None:
    kind, _, number = scope.partition(" ")
    return shop(source=source, number=int(number)) if kind == "shop" else None


def _no_shop(call: Call) -> Refused:
    return Refused(ActionProblem.UNKNOWN_TOOL, f"{call.tool} is not offered for this task.")
