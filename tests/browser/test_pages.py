"""Every page, for everybody who sees it differently, in both colour schemes, wide and narrow.

axe finds nothing, nothing moves or scrolls sideways, nothing is asked of other hosts, and scripts raise no error. A
picture of each look is kept in `test-output/pages`.
"""

from typing import Any

import httpx
import pytest
from django.urls import reverse

from tests.browser.looking import EVERY_RULE, NARROW, SIZES, WIDE, Looker
from tests.browser.site import Site
from tests.routes import SAME, Visit, named_routes, table

pytestmark = [pytest.mark.full, pytest.mark.browser]

Looks = tuple[dict[int, dict[str, Any] | None], ...]
"""How a page is looked at in light and in dark: it is loaded at the first width and then made the other one, with what
axe looks for at each."""
OURS: Looks = ({WIDE: EVERY_RULE, NARROW: SIZES}, {NARROW: EVERY_RULE, WIDE: None})
ALIKE: Looks = ({WIDE: EVERY_RULE}, {NARROW: EVERY_RULE})
"""For pages of which there are many that are made of one template: those of these routes."""
FROM_ONE_TEMPLATE = ("admin:", "handbook:", "error")
ERRORS = [
    Visit(name="400", address="/broken/400/", status=400),
    Visit(name="403", address="/broken/403/", status=403),
    Visit(name="404", address="/nothing/", status=404),
    Visit(name="404", address="/nothing/", status=404, by="researcher"),
    Visit(name="405", address="/evaluations/{completed}/cancel/", status=405, by="researcher"),
    Visit(name="429", address="/broken/429/", status=429),
    Visit(name="500", address="/broken/500/", status=500),
]
"""Pages that say what went wrong."""


def visits() -> list[tuple[str, Visit]]:
    """Route and visit."""
    found = [(route.name, visit) for route in table().values() for visit in route.visits]
    return [*found, *(("error", visit) for visit in ERRORS)]


VISITS = visits()


def looks_at(route: str) -> Looks:
    """How the pages of this route are looked at."""
    return ALIKE if route.startswith(FROM_ONE_TEMPLATE) else OURS


def name_of(route: str, visit: Visit) -> str:
    parts = [route.replace(":", "-").replace("_", "-"), visit.name.replace("_", "-"), visit.by]
    return "-".join(part for part in parts if part)


def address_of(route: str, visit: Visit, site: Site) -> str:
    if visit.address:
        return visit.address.format(**site.things)
    parameters = dict(named_routes())[route]
    kwargs = table()[route].values(parameters=parameters, things=site.things, arguments=visit.arguments)
    query = visit.query.format(**site.things)
    return reverse(route, kwargs=kwargs) + (f"?{query}" if query else "")


@pytest.mark.parametrize("place", range(len(VISITS)), ids=[name_of(*each) for each in VISITS])
def test_page(lookers: tuple[Looker, Looker], site: Site, place: int):
    route, visit = VISITS[place]
    address, name = address_of(route, visit, site), name_of(route, visit)
    session = site.sessions.get(visit.by)
    problems = []
    for each, looks in zip(lookers, looks_at(route), strict=True):
        problems += each.open(
            address, session=session, width=next(iter(looks)), status=visit.status, leads_to=visit.leads_to
        )
        for width, rules in looks.items():
            problems += each.examine(width=width, rules=rules)
            each.picture(name)
        problems += each.said(status=visit.status)
    assert not problems, "\n" + "\n".join(problems)


def test_what_is_said_to_be_no_page_shows_none(site: Site):
    """Else a page could hide behind a reason that is not true."""
    pages = []
    with httpx.Client(base_url=site.url, trust_env=False, timeout=20) as client:
        for name, parameters in named_routes():
            route = table()[name]
            if name.startswith("api:") or route.visits or route.no_page == SAME:
                continue
            address = reverse(name, kwargs=route.values(parameters=parameters, things=site.things))
            for role, session in site.sessions.items():
                with client.stream("GET", address, headers={"Cookie": f"sessionid={session}"}) as answer:
                    is_html = answer.status_code == 200 and "text/html" in answer.headers["Content-Type"]
                    if is_html and "<html" in answer.read().decode():
                        pages.append(f"{name} shows one to {role}")
    assert pages == []
