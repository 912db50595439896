"""Every page, for everybody who sees it differently, in both colour schemes, wide and narrow.

axe finds nothing, nothing moves or scrolls sideways, nothing is asked of other hosts, and scripts raise no error. A
picture of each is kept in `test-output/pages`.
"""

import time
from collections.abc import Iterator

import httpx
import pytest
from django.urls import URLResolver, get_resolver, reverse

from tests.browser.looking import EVERY_RULE, NARROW, SIZES, WIDE, Looker
from tests.browser.routes import ERRORS, NO_PAGES, PAGES, SAME, Visit
from tests.browser.site import Site

pytestmark = pytest.mark.browser

OURS = ({WIDE: EVERY_RULE, NARROW: SIZES}, {NARROW: EVERY_RULE, WIDE: None})
"""How a page is looked at in light and in dark: it is loaded at the first width and then made the other one, with what
axe looks for at each."""
ALIKE = ({WIDE: EVERY_RULE}, {NARROW: EVERY_RULE})
"""The same for pages of which there are many that are made of one template: those of these routes."""
FROM_ONE_TEMPLATE = ("admin:", "handbook:", "error")


def visits() -> list[tuple[str, Visit]]:
    """Route and visit."""
    found = [(route, visit) for route, several in PAGES.items() for visit in several]
    return [*found, *(("error", visit) for visit in ERRORS)]


def name_of(route: str, visit: Visit) -> str:
    parts = [route.replace(":", "-").replace("_", "-"), visit.name.replace("_", "-"), visit.role]
    return "-".join(part for part in parts if part)


def address_of(route: str, visit: Visit, site: Site) -> str:
    if visit.address:
        return visit.address.format(**site.arguments)
    kwargs = {name: value[1:] if value[0] == "=" else site.arguments[value] for name, value in visit.fill.items()}
    query = visit.query.format(**site.arguments)
    return reverse(route, kwargs=kwargs) + (f"?{query}" if query else "")


@pytest.mark.parametrize(("route", "visit"), visits(), ids=[name_of(*each) for each in visits()])
def test_page(lookers: tuple[Looker, Looker], site: Site, route: str, visit: Visit):
    started = time.monotonic()
    address, name = address_of(route, visit, site), name_of(route, visit)
    session = site.sessions.get(visit.role)
    problems = []
    for each, looks in zip(lookers, ALIKE if route.startswith(FROM_ONE_TEMPLATE) else OURS, strict=True):
        problems += each.open(
            address, session=session, width=next(iter(looks)), status=visit.status, leads_to=visit.leads_to
        )
        for width, rules in looks.items():
            problems += each.examine(width=width, rules=rules)
            each.picture(name)
        problems += each.said(status=visit.status)
    print(f"{time.monotonic() - started:.1f} s {name}", flush=True)
    assert not problems, "\n" + "\n".join(problems)


def test_every_route_is_a_page_that_is_looked_at_or_said_to_be_none():
    found = {name for name, _ in all_routes() if not name.startswith("api:")}
    assert found - PAGES.keys() - NO_PAGES.keys() == set(), "give these an entry in tests/browser/routes.py"
    assert (PAGES.keys() | NO_PAGES.keys()) - found == set(), "there are no such routes"
    assert PAGES.keys() & NO_PAGES.keys() == set()


def test_what_is_said_to_be_no_page_shows_none(site: Site):
    """Else a page could hide behind a reason that is not true."""
    pages = []
    with httpx.Client(base_url=site.url, trust_env=False, timeout=20) as client:
        for name, parameters in all_routes():
            if name not in NO_PAGES or NO_PAGES[name] == SAME:
                continue
            address = reverse(name, kwargs={each: site.examples[each] for each in parameters})
            for role, session in site.sessions.items():
                with client.stream("GET", address, headers={"Cookie": f"sessionid={session}"}) as answer:
                    is_html = answer.status_code == 200 and "text/html" in answer.headers["Content-Type"]
                    if is_html and "<html" in answer.read().decode():
                        pages.append(f"{name} shows one to {role}")
    assert pages == []


def all_routes() -> Iterator[tuple[str, list[str]]]:
    """Name and parameters of every address, the operators' pages included."""

    def walk(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, list[str]]]:
        for part in resolver.url_patterns:
            if isinstance(part, URLResolver):
                yield from walk(part, f"{prefix}{part.namespace}:" if part.namespace else prefix)
            elif part.name is not None:
                yield prefix + part.name, list(part.pattern.converters or part.pattern.regex.groupindex)

    return walk(get_resolver("leaderboard.wiring.urls"), "")
