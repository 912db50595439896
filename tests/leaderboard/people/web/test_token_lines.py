"""Lines to paste with a token."""

import ast
import json
import re
import shlex

import pytest
import yaml
from django.test import Client

from evaluator.client import Client as ApiClient
from evaluator.client import PlannerEntry
from leaderboard.people.models import Scope
from leaderboard.people.web.token_lines import PLACEHOLDER, lines_for
from tests.leaderboard.factories import make_user

SITE = "https://arena.example"


def texts(**more) -> dict[str, str]:
    return {entry.key: entry.text for entry in lines_for(site=SITE, **more)}


def test_each_text_is_valid_in_its_language_and_names_the_site():
    found = texts(name="it's a pipeline; $HOME")
    words = shlex.split(found["shell"], comments=True)
    assert words == ["export", f"PLANARENA_URL={SITE}", "export", f"PLANARENA_TOKEN={PLACEHOLDER}"]
    body = json.loads(shlex.split(found["curl"])[-1])
    assert PlannerEntry.endpoint(url=body["planner"]["endpoint_url"], name="my-planner").kind == "endpoint"
    steps = yaml.safe_load(found["ci"])["jobs"]["evaluate"]["steps"]
    assert steps[-1]["env"] == {"PLANARENA_URL": SITE, "PLANARENA_TOKEN": "${{ secrets.PLANARENA_TOKEN }}"}
    calls = {
        node.func.attr
        for node in ast.walk(ast.parse(found["python"]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert all(hasattr(ApiClient, name) or hasattr(PlannerEntry, name) for name in calls)


def test_a_token_that_may_only_read_gets_no_lines_that_submit():
    found = texts(scopes=[Scope.READ])
    assert list(found) == ["shell", "curl", "python"]
    assert not any("submi" in text for text in found.values())


@pytest.mark.django_db
def test_the_secret_is_on_the_page_only_right_after_it_was_created(client: Client):
    client.force_login(make_user("ada"))
    made = client.post("/tokens/", {"name": "<ci>", "scopes": ["read", "submit"], "days": "30"}).content.decode()
    secret = re.search(r'id="new-token"[^>]*>([^<]+)<', made)[1]
    assert f"export PLANARENA_TOKEN={secret}" in made
    assert "# Token: &lt;ci&gt;" in made
    assert "http://testserver" in made
    later = client.get("/tokens/").content.decode()
    assert secret not in later
    assert f"export PLANARENA_TOKEN={PLACEHOLDER}" in later
