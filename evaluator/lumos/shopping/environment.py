"""LUMOS's four tools on WebShop, and the score of a purchase."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.transcripts import ActionProblem, Transcript
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.lumos.exact_tools import ExactTools, several_results
from evaluator.lumos.mini.draws import VERSION, Source
from evaluator.lumos.mini.groups import CLICK, SEARCH
from evaluator.lumos.mini.shop import PageError, address_of, run_click, run_search, score_purchase, shop
from evaluator.lumos.retrieval.environment import UnboundError, bound
from evaluator.lumos.shopping.choosing import ChoiceError, best, fitting
from evaluator.lumos.tasks import TurnTask
from evaluator.replies.turns.binding import Parameter

if TYPE_CHECKING:
    from evaluator.lumos.mini.shop import Shop

FEATURES, PICK = "FeatureRetrieve", "Pick"
_QUERY = Parameter("query")
_RULES = 1
"""Version of results and scores; increase it when the same action or answer may yield a different one."""


class ShopEnvironment(ExactTools):
    """Exact tools without state: a page is determined by its address."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tools: Mapping[str, Callable[[Call], Outcome]] = {
            SEARCH: partial(run_search, source=source),
            CLICK: partial(run_click, source=source),
            FEATURES: self._features,
            PICK: self._pick,
        }

    def digest(self) -> str:
        return canonical_json.digest({"environment": "shop", "rules": _RULES, "draws": VERSION})

    def score(self, *, task: Task, answer: str | None, transcript: Transcript) -> TurnScore:
        """See `Environment`: WebShop's reward of what was bought; solved if it is 1."""
        del transcript
        assert isinstance(task, TurnTask)
        return score_purchase(task=task, answer=answer, source=self._source)

    def run_one(self, call: Call) -> Outcome:
        if call.tool not in self._tools:
            return Refused(ActionProblem.UNKNOWN_TOOL, f"There is no tool {call.tool[:100]!r}.")
        if (refused := several_results(call)) is not None:
            return refused
        try:
            return self._tools[call.tool](call)
        except (UnboundError, ChoiceError, PageError) as error:
            sentence = str(error)
            return Refused(ActionProblem.BAD_ARGUMENTS, f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}.")

    def _features(self, call: Call) -> Outcome:
        arguments = bound(call, parameters=(Parameter("page", aliases=("feature_list",)), _QUERY))
        address = address_of(arguments["page"])
        item = self._shop(call).by_key.get(address.item) if address.kind == "item" else None
        if item is None:
            raise ChoiceError(f"{FEATURES} takes the page of an item, which Click opens.")
        return Made((fitting(item=item, query=arguments["query"]),))

    def _pick(self, call: Call) -> Outcome:
        names = Parameter("items", aliases=("item_names",)), Parameter("features", aliases=("item_features",)), _QUERY
        arguments = bound(call, parameters=names)
        picked = best(
            shop=self._shop(call), names=arguments["items"], features=arguments["features"], query=arguments["query"]
        )
        return Made((picked.key,))

    def _shop(self, call: Call) -> "Shop":
        return shop(source=self._source, number=int(call.scope.partition(" ")[2]))
