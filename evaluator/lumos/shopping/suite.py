"""The suite `lumos-shop`: requests of the miniature's shops, with all four tools of LUMOS on WebShop."""

from types import MappingProxyType

from evaluator.core.suites.base import Column, Conditions, Panel, Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.episodes.base import Setting
from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.groups import CLICK, SEARCH
from evaluator.lumos.mini.groups import TOOLS as MINI_TOOLS
from evaluator.lumos.mini.shop import BUY, NEXT, ON_A_PAGE, Goal, Item, Shop, draw_request, goal_of, reward, shop
from evaluator.lumos.shopping.choosing import best, fitting
from evaluator.lumos.shopping.environment import FEATURES, PICK, ShopEnvironment
from evaluator.lumos.tasks import EPISODES, GoldTurn, TurnTask, mean, plan_of_turns, solved
from evaluator.miniature.seeds import Split

SLUG = "lumos-shop"
VERSION = "1"
TASKS = 60
FIRST = 600
"""Number of the first request, beyond those of `lumos-mini`, whose shops are others."""
_TEXT = ResourceType.TEXT


def _tool(name: str, description: str, *, inputs: tuple[str, ...], output: str) -> Tool:
    return Tool(
        name=name, domain="web", description=description, inputs=MappingProxyType(dict.fromkeys(inputs, _TEXT)),
        outputs=MappingProxyType({output: _TEXT}),
    )  # fmt: skip


_TOOLS = (
    MINI_TOOLS[SEARCH],
    _tool(
        FEATURES, "Selects the features and options of an item's page that a query names, and its price.",
        inputs=("page", "query"), output="features",
    ),
    _tool(
        PICK,
        "Picks the item that fits a query best by its name and its features. The result is the item's number, which "
        "Click opens: Pick(R1, [R3, R5], Query: a stackable bowl).",
        inputs=("items", "features", "query"), output="item",
    ),
    MINI_TOOLS[CLICK],
)  # fmt: skip
TOOLS = Catalogue(name=SLUG, tools=MappingProxyType({tool.name: tool for tool in _TOOLS}))
COLUMNS: tuple[Column, ...] = (
    solved("Share of requests for which what was bought has everything that was wanted."),
    mean(
        key="reward", label="Reward",
        description="WebShop's reward of what was bought: the share of features, options and price limit that are met, "
        "0 for another kind of item. The shop is synthetic: WebShop-style, not WebShop.",
    ),
    *EPISODES,
)  # fmt: skip
_KIND = Facet(name="kind", label="Kind", attribute="kind", heading="Kind of request", stands_alone=True)
_SCORING = (
    "Requests to buy something, with the four tools of LUMOS on WebShop: Search, FeatureRetrieve, Pick and Click. "
    "Items and pages are synthetic, and FeatureRetrieve and Pick compare words instead of asking a reader network. A "
    "request is solved if the reward is 1."
)


def shop_suite() -> Suite:
    """Sixty public requests in six shops."""
    source = Source(split=Split.PUBLIC)
    tasks = tuple(_task(draw_shopping(source=source, index=FIRST + n), number=n) for n in range(TASKS))
    return Suite(
        slug=SLUG, version=VERSION, title="LUMOS shop",
        description="Purchases in a synthetic shop, with the four tools of LUMOS on WebShop.", metrics=COLUMNS,
        catalogue=TOOLS, tasks=tasks, conditions=Conditions(experts=False, samples=False, splits=("public",)),
        panels=(Panel.TRANSCRIPT,), scoring=_SCORING,
        facets=Facets(filters=(_KIND,), facts=("kind",), breakdowns=("kind",), plots=("kind",), comparisons=("kind",)),
    )  # fmt: skip


def environment(_: Setting) -> ShopEnvironment:
    """The environment of the public shops."""
    return ShopEnvironment(Source(split=Split.PUBLIC))


def draw_shopping(*, source: Source, index: int) -> Drawn:
    """The request with this number, with a solution that compares two items of a page of results."""
    drawn = draw_request(source=source, index=index)
    catalogue = shop(source=source, number=int(drawn.scope.partition(" ")[2]))
    goal = goal_of(drawn.answer)
    query = f"{' '.join(goal.features)} {goal.noun}"
    return Drawn(
        text=drawn.text, answer=drawn.answer, kind=drawn.kind, scope=drawn.scope,
        gold=_solution(catalogue=catalogue, goal=goal, query=query, request=drawn.text),
    )  # fmt: skip


def _solution(*, catalogue: Shop, goal: Goal, query: str, request: str) -> tuple[GoldTurn, ...]:
    results = catalogue.search(query)
    place = next(place for place, item in enumerate(results) if _fits(item, goal=goal))
    page = place // ON_A_PAGE
    right, shown = results[place], results[page * ON_A_PAGE : (page + 1) * ON_A_PAGE]
    both = _compared(catalogue=catalogue, right=right, shown=shown, request=request)
    turns = [GoldTurn(f"Search for a {query}.", f"R1 = {SEARCH}({query})")]
    for _ in range(page):
        turns.append(
            GoldTurn("Look at the next page of results.", f"R{len(turns) + 1} = {CLICK}(R{len(turns)}, {NEXT})")
        )
    at = last = len(turns)
    for item in both:
        actions = f"R{last + 1} = {CLICK}(R{at}, {item.key}); R{last + 2} = {FEATURES}(R{last + 1}, Query: {request})"
        turns.append(GoldTurn(f"Select the most relevant features of item {item.key}.", actions))
        last += 2
    features = ", ".join(f"R{at + 2 * place}" for place in range(1, len(both) + 1))
    turns.append(GoldTurn(
        "Pick up the most related item according to the names and the features.",
        f"R{last + 1} = {PICK}(R{at}, [{features}], Query: {request})",
    ))  # fmt: skip
    turns.append(GoldTurn(
        "Buy this item by selecting its relevant features.",
        f"R{last + 2} = {CLICK}(R{at}, R{last + 1}); R{last + 3} = {CLICK}(R{last + 2}, {goal.colour}); "
        f"R{last + 4} = {CLICK}(R{last + 3}, {goal.size}); R{last + 5} = {CLICK}(R{last + 4}, {BUY})",
    ))  # fmt: skip
    return tuple(turns)


def _fits(item: Item, *, goal: Goal) -> bool:
    chosen = {"colour": goal.colour, "size": goal.size}
    has_options = goal.colour in item.colours and goal.size in item.sizes
    return has_options and reward(goal=goal, item=item, chosen=chosen) == 1.0


def _compared(*, catalogue: Shop, right: Item, shown: tuple[Item, ...], request: str) -> tuple[Item, ...]:
    """The right item and another one that `Pick` refuses, in the order of the page; the right one by itself if there is
    none."""
    for other in shown:
        pair = tuple(item for item in shown if item in (right, other))
        lines = "; ".join(fitting(item=item, query=request) for item in pair)
        names = " ".join(item.key for item in shown)
        if other != right and best(shop=catalogue, names=names, features=lines, query=request) == right:
            return pair
    return (right,)


def _task(drawn: Drawn, *, number: int) -> TurnTask:
    return TurnTask(
        key=str(number), text=drawn.text, structure="linear", metric="solved", resources=MappingProxyType({}),
        expects=_TEXT, gold=plan_of_turns(drawn.gold, catalogue=TOOLS), answer=drawn.answer,
        facts=MappingProxyType({"kind": drawn.kind}), scope=drawn.scope,
    )  # fmt: skip
