"""No address breaks the site: every route with odd values in each part of its path and in each of its parameters."""

import re
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client, RequestFactory
from django.urls import resolve, reverse
from django.urls.converters import IntConverter, UUIDConverter
from rest_framework.request import Request

from leaderboard.platform.api.views import ApiView
from tests.leaderboard.test_permissions import World, made, world  # noqa: F401 - fixtures
from tests.routes import ALLAUTH, Route, named_routes, patterns, table

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

ODD = {
    "digits": "9" * 5000, "zeros and digits": "000000001" + "9" * 5000,
    "bigint": "9" * 30, "integer": str(2**31), "negative": "-1", "zero": "0",
    "Unicode digits": quote("١٢"), "fraction": "1.5", "exponent": "1e999", "NUL": "a%00b", "surrogate": "%ED%A0%80",
    "no UTF-8": "%FF%FE", "upper case": "00000000-0000-0000-0000-00000000ABCD", "long": "a" * 5000, "parent": "..%2f..",
    "line feed": "a%0Ab", "percent": "%25", "quote": "%27%22%3C", "brackets": "a[b]=c".replace("=", "%3D"),
}  # fmt: skip
FEW = {name: ODD[name] for name in ("bigint", "NUL")}
"""Those that reach a database if nothing stops them. Every run has these, a full run all."""
FORM = "application/x-www-form-urlencoded"
PARAMETERS = sorted({
    "page", "per_page", "rows", "sort", "order", "planners", "e", "metric", "samples", "sample", "q", "season", "since",
    "until", "own", "kind", "size", "weights", "column", "axis", "part", "in", "id", "cursor", "page_size", "fields",
    "format", "planner", "planner_page", "suite", "state", "priority", "start", "public", "next", "model", "strategy",
    "split", "profile_digest", "data_digest", "outcome", "reason", "why", "undecided", "structure", "base", "level",
    "group", "disks", "reference", "owner", "mine", "usual_columns", "visit", "o", "p", "all", "e1", "_popup",
    "role", "question", "suites", "seconds",
})  # fmt: skip
"""All names that views read, with those of Django's admin."""


def things_of(route: Route, parameters: list[str], world: World) -> dict[str, str]:  # noqa: F811
    return {name: str(value) for name, value in route.values(parameters=parameters, things=world.things).items()}


def paths(route: Route, parameters: list[str], world: World, *, odds=ODD):  # noqa: F811
    """The path of a route, and with each part replaced by each odd value."""
    if route.address:
        yield route.address
        return
    values = things_of(route, parameters, world)
    whole = reverse(route.name, kwargs=values)
    yield whole
    for value in values.values():
        yield from (odd.join(whole.rsplit(quote(value), 1)) for odd in odds.values())


def broken(path: str, *, client: Client, method: str = "get", **sent) -> str:
    """What is wrong with the answer; empty: nothing."""
    with transaction.atomic():
        answer = getattr(client, method)(path, **sent)
        transaction.set_rollback(True)
    return f"{method} {path[:120]}: {answer.status_code}" if answer.status_code >= 500 else ""


def clients(world: World):  # noqa: F811
    """Sessions for pages, tokens for the API."""
    pages = Client(raise_request_exception=False)
    pages.force_login(world.users["staff"])
    api = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {world.tokens['owner']}"})
    worker = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {world.tokens['attempt']}"})
    return pages, api, worker


def routes():
    return [
        (table()[name], parameters)
        for name, parameters in named_routes()
        if name in table() and not name.startswith((*ALLAUTH, "admin:"))
    ]


@pytest.fixture
def odds(full):
    """The odd values of this run, by what is odd about them."""
    return ODD if full else FEW


def client_for(route: Route, parameters: list[str], of: tuple[Client, Client, Client]) -> Client:
    pages, api, worker = of
    return worker if "attempt_id" in parameters else api if route.name.startswith("api:") else pages


def test_no_part_of_a_path_and_no_parameter_breaks_a_route(world, odds):  # noqa: F811
    found, of = [], clients(world)
    for route, parameters in routes():
        client = client_for(route, parameters, of)
        path, *others = paths(route, parameters, world, odds=odds)
        found += [broken(other, client=client) for other in others]
        if "get" not in route.statuses:
            continue
        of_api = route.name.startswith("api:")
        names = declared(path) if of_api else PARAMETERS
        for odd in odds.values():
            # Of the API one at a time, since it refuses the first wrong one; pages ignore wrong ones.
            queries = [f"{name}={odd}" for name in names]
            found += [
                broken(f"{path}?{query}", client=client) for query in (queries if of_api else ["&".join(queries)])
            ]
    assert not list(filter(None, found))
    assert len(found) > 400


def declared(path: str) -> list[str]:
    """The parameters that a view of the API takes."""
    view = resolve(path).func.view_class
    if not issubclass(view, ApiView):
        return ["start"]
    request = Request(RequestFactory().get(path))
    return [*(parameter.name for parameter in view().parameters_of(request)), "format", "unknown"]


FIELDS = [
    "kind", "mails", "priority", "reason", "name", "visibility", "embargo_until", "suites", "team", "version", "season",
    "planner", "timeout_seconds", "parameters", "prompt_price", "bundled_name", "endpoint_url", "model_id", "strategy",
    "plans_digest", "checkpoint_digest", "days", "scopes", "url", "slug", "username", "display_name", "link", "bio",
    "password", "candidate", "action", "next", "e", "q", "kept",
]  # fmt: skip
"""Of forms of pages."""


def test_no_form_breaks_a_route(world, odds, full):  # noqa: F811
    pages, *_ = clients(world)
    owner = Client(raise_request_exception=False)
    owner.force_login(world.users["owner"])
    found = []
    for route, parameters in routes():
        if route.name.startswith("api:") or "post" not in route.statuses:
            continue
        path = next(paths(route, parameters, world))
        for odd in odds.values():
            sent = {"data": "&".join(f"{name}={odd}" for name in FIELDS), "content_type": FORM}
            found += [
                broken(path, client=client, method="post", **sent) for client in ((pages, owner) if full else (owner,))
            ]
    assert not list(filter(None, found))
    assert len(found) > 60


def test_the_names_of_parameters_are_all_there():
    pattern = re.compile(r"""(?:GET|query_params)(?:\.get|\.getlist)?[\[(]\s*["'](\w+)["']""")
    sources = (settings.BASE_DIR / "leaderboard").rglob("*.py")
    assert {name for source in sources for name in pattern.findall(source.read_text())} - set(PARAMETERS) == set()


def test_an_id_in_upper_case_finds_what_it_names(world):  # noqa: F811
    """Every route with an id answers the same."""
    differing, walked, of = [], 0, clients(world)
    for route, parameters in routes():
        values = things_of(route, parameters, world)
        ids = [name for name, value in values.items() if len(value) == 36]
        if not ids or "get" not in route.statuses or "event" in route.name:
            continue
        walked += 1
        client = client_for(route, parameters, of)
        path = reverse(route.name, kwargs=values)
        loud = path
        for name in ids:
            loud = loud.replace(values[name], values[name].upper())
        lower, upper = client.get(path), client.get(loud)
        if (lower.status_code, lower.get("Content-Type")) != (upper.status_code, upper.get("Content-Type")):
            differing.append(f"{loud}: {upper.status_code}, not {lower.status_code}")
    assert not differing
    assert walked > 20


def test_every_id_and_number_of_an_address_has_the_converters_of_this_site():
    django = [
        name
        for name, pattern, _ in patterns()
        if name and not name.startswith((*ALLAUTH, "admin:"))
        and any(type(one) in {IntConverter, UUIDConverter} for one in getattr(pattern, "converters", {}).values())
    ]  # fmt: skip
    assert django == [], "write <number:...> and <id:...> (leaderboard/wiring/apps.py)"
