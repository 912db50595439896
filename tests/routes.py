"""Every route of the site: who may call it, what it is asked with, how many queries it may take, who looks at its page.

The entries are in `routes.toml`. Three tests walk them, so that a route cannot be in one and be forgotten in another.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from django.contrib.admin import ModelAdmin
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from leaderboard.help.documents.chapters import BY_SLUG
from leaderboard.people.models import User
from leaderboard.platform.web.admin import site as operators_site

TABLE = Path(__file__).with_name("routes.toml")
ROLES = ("anonymous", "stranger", "member", "owner", "staff", "worker", "attempt")
"""Of `Route.statuses`, in this order."""
METHODS = ("get", "post", "put", "patch", "delete")
VISITORS = frozenset({"anonymous", "researcher", "newcomer", "staff", "careful", "halfway"})
"""Nobody; a person with evaluations, a team, tokens and webhooks; a person with nothing yet; an operator; a person with
a second factor; the same after the password, before the code."""
ALLAUTH = ("account_", "mfa_", "socialaccount_", "github_")
"""How the names of django-allauth's routes begin: forms about one account, whose queries nobody counts."""
SAME = "made of the same template as one that is looked at"
EXTENSIONS = ("csv", "json", "bib", "parquet")
MOST_QUERIES = 12
Things = Mapping[str, Any]
"""What there is, by name: what the `arguments` of a route and the braces in its queries stand for."""
_USUAL = {"evaluation_id": "evaluation", "submission_id": "submission", "task_key": "task", "webhook_id": "webhook",
          "attempt_id": "attempt", "ticket_id": "ticket", "job_id": "job", "run_id": "run",
          "pair_id": "pair"}  # fmt: skip
"""Things that parameters stand for where neither their own names nor the route's `arguments` say it."""
_WITH_HISTORY = "evaluations_evaluation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Somebody opens a page in a browser."""

    by: str = "anonymous"
    """One of `VISITORS`. The table has a list: a visit for each."""
    name: str = ""
    """Tells visits of one route apart."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """In the place of the route's: names of things, or texts that begin with `=`."""
    query: str = ""
    """With things in braces."""
    status: int = 200
    address: str = ""
    """In the place of the route's, for what is no route."""
    leads_to: str = ""
    """The end of the address that one is sent on to; empty: to none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One entry of the table."""

    name: str
    statuses: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By method, in the order of `ROLES`."""
    permissions_elsewhere: str = ""
    """The test of who may call it; empty: the table is."""
    address: str = ""
    """Of a route that catches all that is left."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """The things that parameters are, where these have other names."""
    queries: tuple[str, ...] = ()
    """What it is read with besides its plain address; `{name}` stands for a thing."""
    plain: bool = True
    """Whether its plain address is read too."""
    limit: int = MOST_QUERIES
    """The most queries that it may take."""
    uncounted: str = ""
    """Why nobody counts its queries, if it can be read."""
    visits: tuple[Visit, ...] = ()
    no_page: str = ""
    """Why nobody looks at it, if it can be read and is no part of the API."""

    @property
    def is_read(self) -> bool:
        """Whether its queries are counted."""
        return "get" in self.statuses and not self.uncounted

    @property
    def is_only_written(self) -> bool:
        """Whether it refuses people who would read it."""
        return "get" not in self.statuses and not (self.uncounted or self.visits or self.no_page)

    @property
    def is_for_staff(self) -> bool:
        """Whether only staff get to see something there."""
        owner, staff = (ROLES.index(role) for role in ("owner", "staff"))
        shown = self.statuses.get("get", (200,) * len(ROLES))
        return shown[staff] == 200 and shown[owner] != 200

    def values(
        self, *, parameters: Sequence[str], things: Things, arguments: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The values of its parameters; `arguments` come before its own."""
        named = {**_USUAL, **self.arguments, **(arguments or {})}
        wanted = {name: named.get(name, name) for name in parameters}
        return {name: thing[1:] if thing[0] == "=" else things[thing] for name, thing in wanted.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One address of one route."""

    route: str
    path: str
    by_staff: bool = False
    """Whether only staff get to see something there."""


@cache
def table() -> Mapping[str, Route]:
    """Every entry by its name, with those of the operators' pages about each model.

    Raises:
        ValueError: an entry has a key or a value that there is not.
    """
    entries = tomllib.loads(TABLE.read_text())
    return {name: _route(name, entry) for name, entry in entries.items()} | _of_models()


def _route(name: str, entry: dict[str, Any]) -> Route:
    statuses = {method: tuple(map(int, entry.pop(method).split())) for method in METHODS if method in entry}
    unknown = entry.keys() - {each.name for each in fields(Route)}
    if unknown or any(len(found) != len(ROLES) for found in statuses.values()):
        raise ValueError(f"{TABLE.name}, {name}: {sorted(unknown) or 'a method needs a status for each role'}")
    entry["visits"] = tuple(visit for one in entry.get("visits", ()) for visit in _visits(name, one))
    entry["queries"] = tuple(entry.get("queries", ()))
    if name.startswith(ALLAUTH):
        entry["uncounted"] = "a form of django-allauth"
    return Route(name=name, statuses=statuses, **entry)


def _visits(name: str, entry: dict[str, Any]) -> Iterator[Visit]:
    if "each" in entry:
        yield from (Visit(name=chapter, arguments={entry["each"]: f"={chapter}"}) for chapter in BY_SLUG)
        return
    visitors = entry.pop("by", ["anonymous"])
    if not VISITORS.issuperset(visitors):
        raise ValueError(f"{TABLE.name}, {name}: somebody of {visitors} is none of {sorted(VISITORS)}")
    yield from (Visit(by=by, **entry) for by in visitors)


def _of_models() -> dict[str, Route]:
    """The operators' pages about each model: its list and one of its rows are looked at, and the history of one."""
    found = []
    for model in operators_site._registry:
        rows = f"{model._meta.app_label}_{model._meta.model_name}"
        about_one = Visit(by="staff", arguments={"object_id": rows})
        history = {"visits": (about_one,)} if rows == _WITH_HISTORY else {"no_page": SAME}
        found += [
            Route(name=f"admin:{rows}_changelist", visits=(Visit(by="staff"),)),
            Route(name=f"admin:{rows}_change", visits=(about_one,)),
            Route(name=f"admin:{rows}_history", **history),
            *(Route(name=f"admin:{rows}_{what}", no_page="refused to all") for what in ("add", "delete")),
        ]
    return {route.name: route for route in found}


def named_routes(urls: str | None = None) -> Iterator[tuple[str, list[str]]]:
    """Name and parameters of every route, those of the operators' pages included.

    Only addresses that lead to a route's present one have no name: `test_routes.py`.
    """
    for name, pattern, _ in patterns(urls):
        if name is not None:
            yield name, list(pattern.converters or pattern.regex.groupindex)


def patterns(urls: str | None = None) -> Iterator[tuple[str | None, Any, str]]:
    """Name, pattern and address of every route."""

    def walk(resolver: URLResolver, prefix: str, path: str) -> Iterator[tuple[str | None, Any, str]]:
        for part in resolver.url_patterns:
            address = path + str(part.pattern)
            if isinstance(part, URLResolver):
                yield from walk(part, f"{prefix}{part.namespace}:" if part.namespace else prefix, address)
            elif isinstance(part, URLPattern):
                yield None if part.name is None else prefix + part.name, part.pattern, address

    return walk(get_resolver(urls), "", "")


def site_addresses(things: Things) -> Iterator[Address]:
    """Every address of the pages and of the API that these things fill and whose queries are counted."""
    for name, parameters in named_routes():
        route = table().get(name)
        if route is None or not route.is_read:
            continue
        for values in _filled(route, parameters=parameters, things=things):
            path = reverse(name, kwargs=values)
            for query in (("",) if route.plain else ()) + route.queries:
                asked = path + query.format(**things)
                yield Address(route=name, path=asked, by_staff=route.is_for_staff)


def _filled(route: Route, *, parameters: Sequence[str], things: Things) -> Iterator[dict[str, Any]]:
    extensions = EXTENSIONS if "extension" in parameters else ("",)
    for extension in extensions:
        yield route.values(parameters=parameters, things={**things, "extension": extension})


def admin_addresses(*, staff: User, rows: Mapping[str, Any]) -> Iterator[Address]:
    """Every list of the operators' pages with each of its filters, a search and its last page; and of each kind the
    page and the history of one row: the one that `rows` names by the model's name, or any."""
    request = RequestFactory().get("/")
    request.user = staff
    yield Address(route="admin:index", path=reverse("admin:index"), by_staff=True)
    for label in sorted({model._meta.app_label for model in operators_site._registry}):
        path = reverse("admin:app_list", kwargs={"app_label": label})
        yield Address(route="admin:app_list", path=path, by_staff=True)
    for model, admin in operators_site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        path = reverse(f"{name}_changelist")
        for query in _list_queries(admin=admin, request=request):
            yield Address(route=f"{name}_changelist", path=path + query, by_staff=True)
        key = rows.get(model.__name__) or model._default_manager.values_list("pk", flat=True).first()
        if key is not None:
            for page in ("change", "history"):
                yield Address(route=f"{name}_{page}", path=reverse(f"{name}_{page}", args=[key]), by_staff=True)


def _list_queries(*, admin: ModelAdmin, request: Any) -> Iterator[str]:
    shown = admin.get_changelist_instance(request)
    yield ""
    if admin.search_fields:
        yield "?q=planner"
    for filtered in shown.filter_specs:
        yield list(filtered.choices(shown))[-1]["query_string"]
    if shown.paginator.num_pages > 1:
        yield f"?p={shown.paginator.num_pages}"
