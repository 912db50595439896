"""The operators' pages in a real browser: the site's Content-Security-Policy breaks none of them."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.processes import ROOT, clean_environment

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]
PASSWORD = "a difference engine"


def test_an_operator_reads_everything_and_is_told_of_each_action(arena, page):
    environment = clean_environment(
        PLANARENA_DEMO="1", PLANARENA_DATA=str(arena.data), DJANGO_SUPERUSER_PASSWORD=PASSWORD
    )
    make = ["createsuperuser", "--noinput", "--username", "operator", "--email", "operator@example.org"]
    subprocess.run([sys.executable, "manage.py", *make], cwd=ROOT, env=environment, check=True, timeout=120)

    page.goto(f"{arena.url}/admin/")
    page.get_by_label("Login").fill("operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{arena.url}/admin/")
    expect(page.locator("#content-main th a").first).to_be_visible()
    lists = page.locator("#content-main th a").evaluate_all("found => found.map(link => link.href)")
    assert len(lists) >= 14
    for address in lists:
        page.goto(address)
        expect(page.locator("#changelist")).to_be_visible()

    page.goto(f"{arena.url}/admin/evaluations/evaluation/?state__exact=completed")
    # The box in the heading works by the admin's own script.
    page.locator("#action-toggle").check()
    chosen = page.locator("input.action-select:checked").count()
    assert chosen >= 3
    page.locator("select[name='action']").select_option("cancel")
    page.get_by_role("button", name="Go").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator(".messagelist li")).to_have_count(chosen)
    expect(page.locator(".messagelist li").first).to_contain_text("nothing was changed")
    assert page.problems == []
