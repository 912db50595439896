"""One site for the whole corpus: all cases are submitted when the first test asks for what came of one."""

import secrets
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fakes.checkpoints import zipped
from tests.hostile.checkpoints import layers
from tests.hostile.checkpoints.base import CASES, Target, honest
from tests.hostile.checkpoints.base import Case as Checkpoint
from tests.hostile.endpoints import ENDPOINTS, HEADER, TIMEOUT_SECONDS, Endpoint, Serving, serving
from tests.hostile.site import Fate, Site, User, running_site

_LONGEST_SECONDS = 900.0
_AT_ONCE = 4
"""Submissions under way, and evaluations asked about."""
_BY_FORM = 3
"""Every third case goes through the form, the others through the API."""
_CHECKPOINTS = [*CASES, *layers.STRONGEST.values(), *layers.OTHERWISE.values(), layers.CONTROL]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test waits for the whole corpus."""
    for item in items:
        if "hostile" in item.path.parts:
            item.add_marker(pytest.mark.timeout(1200))


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    with running_site() as running, running.measuring():
        yield running


@pytest.fixture(scope="package")
def endpoints() -> Iterator[Serving]:
    """The hostile servers."""
    with serving() as found:
        yield found


@pytest.fixture(scope="package")
def target(site: Site) -> Target:
    """What the checkpoints try to read."""
    return site.target()


@pytest.fixture(scope="package")
def fates(request: pytest.FixtureRequest, site: Site, target: Target, endpoints: Serving) -> Mapping[str, Fate]:
    """What came of each hostile checkpoint and endpoint, by its name. Only those that a chosen test looks at run."""
    names = {value.name for item in request.session.items for value in _parameters(item)}
    checkpoints = [case for case in _CHECKPOINTS if not names or case.name in names]
    servers = [one for one in ENDPOINTS if not names or one.name in names]
    with ThreadPoolExecutor(2) as both:
        first = both.submit(_enter_checkpoints, site, checkpoints, target)
        second = both.submit(_enter_endpoints, site, servers, endpoints)
        found = first.result() | second.result()
    until = time.monotonic() + _LONGEST_SECONDS
    with ThreadPoolExecutor(_AT_ONCE) as some:
        list(some.map(lambda fate: site.finish(fate, until=until), found.values()))
    return found


def _parameters(item: pytest.Item) -> list[Checkpoint | Endpoint]:
    values = getattr(item, "callspec", None)
    return [] if values is None else [one for one in values.params.values() if isinstance(one, Checkpoint | Endpoint)]


def _enter_checkpoints(site: Site, cases: list[Checkpoint], target: Target) -> dict[str, Fate]:
    # What takes longest begins first: what is not of the corpus is loaded for certain.
    chosen = sorted(cases, key=lambda case: case in CASES)
    # Imports libraries whose lazy modules break when several threads import them at once.
    honest()
    with ThreadPoolExecutor(_AT_ONCE) as some:
        found = some.map(lambda case: _checkpoint(site, case, archive=zipped(case.build(honest(), target))), chosen)
        return {case.name: fate for case, fate in zip(chosen, found, strict=True)}


def _checkpoint(site: Site, case: Checkpoint, *, archive: bytes) -> Fate:
    user, name = site.mallory(), f"hostile-{secrets.token_hex(4)}"
    if _CHECKPOINTS.index(case) % _BY_FORM:
        return user.enter_checkpoint(archive, name=name)
    upload = {"checkpoint_file": ("model.zip", archive, "application/zip")}
    return user.enter_by_form(upload, kind="checkpoint", name=name, strategy="hugginggpt")


def _enter_endpoints(site: Site, servers: list[Endpoint], endpoints: Serving) -> dict[str, Fate]:
    return {one.name: _endpoint(site.mallory(), one, endpoints=endpoints, header=site.bait.header) for one in servers}


def _endpoint(user: User, server: Endpoint, *, endpoints: Serving, header: str) -> Fate:
    planner = {
        "name": f"hostile-{secrets.token_hex(4)}", "kind": "endpoint", "endpoint_url": endpoints.url(server),
        "timeout_seconds": TIMEOUT_SECONDS, "header_name": HEADER, "header_value": header,
    }  # fmt: skip
    return user.enter(planner) if ENDPOINTS.index(server) % _BY_FORM else user.enter_by_form({}, **planner)
