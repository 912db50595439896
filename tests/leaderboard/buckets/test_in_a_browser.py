"""A page whose pictures a browser gets from the bucket, under the page's security policy."""

import pytest
from django.conf import settings as django_settings
from django.core.asgi import get_asgi_application
from django.db import close_old_connections
from playwright.sync_api import Browser, sync_playwright

from leaderboard.catalog.models import Task
from leaderboard.results import objects
from tests.browser.looking import FLAGS
from tests.leaderboard.factories import make_user
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_result, make_suite
from tests.leaderboard.serving import server
from tests.run import find_browser

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


_SHOWN = """async () => {
    document.querySelectorAll("details").forEach(one => { one.open = true; });
    const pictures = [...document.querySelectorAll("img")].filter(one => one.src.includes("/objects/"));
    pictures.forEach(one => { one.loading = "eager"; });
    const loaded = await Promise.all(pictures.map(one => one.decode().then(() => 1, () => 0)));
    return loaded.reduce((sum, one) => sum + one, 0);
}"""


@pytest.fixture
def page_address():
    """Of a task whose record names pictures."""
    evaluation = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())
    task = Task.objects.get(key="0")
    make_result(evaluation=evaluation, task=task)
    return f"/evaluations/{evaluation.pk}/tasks/{task.key}/"


def look(browser: Browser, *, address: str) -> tuple[int, list[str]]:
    """How many pictures of a page are shown, and what the browser complains of."""
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.goto(address, wait_until="domcontentloaded")
    shown = page.evaluate(_SHOWN)
    page.close()
    return shown, said


def test_pictures_come_from_the_bucket_and_only_from_the_one_that_the_policy_names(
    bucket, page_address, settings, monkeypatch
):
    monkeypatch.setenv("PLANARENA_S3_PUBLIC_ENDPOINT", bucket.url)
    objects._bucket.cache_clear()
    settings.STORE_ORIGIN, settings.WHITENOISE_USE_FINDERS = bucket.url, True
    directives = django_settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    named = {"DIRECTIVES": {**directives, "img-src": [*directives["img-src"], bucket.url]}}
    found = []
    for policy in (named, {"DIRECTIVES": directives}):
        settings.CONTENT_SECURITY_POLICY = policy
        with server(get_asgi_application()) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            bucket.requests.clear()
            found.append((*look(browser, address=f"{url}{page_address}"), [*bucket.requests]))
            browser.close()
        close_old_connections()
    (shown, said, requests), (refused, complaints, _) = found
    assert shown >= 2
    assert said == []
    assert len({name for method, name in requests if method == "GET" and "/objects/" in name}) >= 3
    assert refused == 0
    assert any("Content Security Policy" in one for one in complaints)
