"""Bringing suites into the database, and the site's access to the real `evaluator` package."""

import dataclasses
import os
import subprocess
import sys

import pytest
from django.core.management import call_command

from evaluator.core.suites.base import Panel
from evaluator.core.suites.registry import suite_names, suite_of
from evaluator.execution.experts.profile import load_profile
from leaderboard.catalog import library as catalog_library
from leaderboard.catalog.library import AddressRefusedError, Library, NotReadyError
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import Registered, register_suite

pytestmark = pytest.mark.django_db


def test_every_suite_that_can_be_used_is_registered_with_what_pages_ask_of_it():
    call_command("register_suites", verbosity=0)
    suite = Suite.objects.get(slug="openagi")
    assert suite.digest == suite_of("openagi").digest
    tasks = list(Task.objects.filter(suite=suite))
    assert [task.key for task in tasks] == [str(number) for number in range(185)]
    assert all(task.gold["steps"] for task in tasks)
    assert any(column["primary"] for column in suite.metrics)
    found = {suite.slug: suite for suite in Suite.objects.filter(current=True)}
    assert set(found) == set(suite_names())
    assert [found[slug].runs_experts for slug in ("openagi", "toolmini")] == [True, False]
    assert found["toolmini"].columns == suite_of("toolmini").metrics
    assert found["toolmini"].idle_tools == list(suite_of("toolmini").idle_tools) != []
    assert found["openagi"].idle_tools == []
    assert found["openagi"].has(Panel.ARTEFACTS)
    assert not found["toolmini"].has(Panel.ARTEFACTS)
    task = Task.objects.get(suite__slug="toolmini", key="image_detection/0")
    assert set(task.attributes) == {"group", "level", "flags", "active", "uncovered", "parts"}
    assert task.attributes["group"] == "image_detection"


def test_a_suite_as_large_as_tool2k_is_registered_in_a_few_queries(django_assert_max_num_queries):
    suite = suite_of("toolmini")
    tasks = tuple(dataclasses.replace(suite.tasks[number % 120], key=str(number)) for number in range(2500))
    with django_assert_max_num_queries(12):
        register_suite(dataclasses.replace(suite, slug="large", tasks=tasks))
    assert Task.objects.count() == 2500


def test_a_new_version_becomes_current_the_old_one_stays_and_better_texts_need_none():
    old = suite_of("openagi")
    new = dataclasses.replace(old, version="2", tasks=old.tasks[:5])
    assert register_suite(old) is Registered.CREATED
    before = list(Suite.objects.values()), list(Task.objects.values_list("pk", flat=True))
    assert register_suite(old) is Registered.UNCHANGED
    assert (list(Suite.objects.values()), list(Task.objects.values_list("pk", flat=True))) == before
    assert register_suite(new) is Registered.CREATED
    assert Suite.objects.get(current=True).digest == new.digest
    assert Task.objects.count() == 190
    # Going back to a version that is there is an update.
    assert register_suite(dataclasses.replace(old, title="A better title")) is Registered.UPDATED
    current = Suite.objects.get(current=True)
    assert (current.digest, current.title) == (old.digest, "A better title")


def test_loopback_and_private_addresses_are_refused_outside_demo_mode():
    for host in ("127.0.0.1", "localhost:8000", "10.1.2.3", "169.254.169.254", "[::1]"):
        with pytest.raises(AddressRefusedError):
            Library().check_endpoint(url=f"http://{host}/", allow_private=False, caller="")
        Library().check_endpoint(url=f"http://{host}/", allow_private=True, caller="")


def test_what_cannot_run_follows_from_suite_and_profile(monkeypatch):
    asked = {"suite": "openagi", "profile": "lilliput", "split": "public"}
    assert Library().not_run_reasons(**asked) == {}
    whole = load_profile("lilliput")
    fewer = {tool: spec for tool, spec in whole.experts.items() if tool != "Image Captioning"}
    monkeypatch.setattr(
        "evaluator.execution.experts.profile.load_profile", lambda name: dataclasses.replace(whole, experts=fewer)
    )
    reasons = Library().not_run_reasons(**asked)
    assert 0 < len(reasons) < 185
    assert all(text.endswith(".") for _, text in reasons.values())


def test_a_profile_that_is_not_there_is_said_in_a_sentence():
    with pytest.raises(NotReadyError, match="no profile 'unheard-of'"):
        Library().rules_digest(suite="openagi", profile="unheard-of")


def test_submitting_loads_no_torch(tmp_path):
    program = (
        "import sys; import tests.settings; import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings';"
        "import django; django.setup();"
        "from leaderboard.catalog.library import Library; library = Library();"
        "library.rules_digest(suite='openagi', profile='lilliput');"
        "library.check_endpoint(url='https://1.1.1.1/', allow_private=False, caller='');"
        "library.not_run_reasons(suite='openagi', profile='lilliput', split='public');"
        "library.summarise(suite='openagi', results=[], samples=1);"
        "print('torch' in sys.modules)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_profiles_of_an_operator_that_extend_released_models_need_their_hub_and_a_wrong_one_stops_no_page(
    tmp_path, monkeypatch
):
    for name, base in (("ours", "paper"), ("small", "lilliput"), ("wrong", "nowhere")):
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\nextends = "{base}"\n')
    monkeypatch.setenv("PLANARENA_PROFILES", str(tmp_path))
    catalog_library._profiles_of_hubs.cache_clear()
    try:
        assert Library().profiles_of_hubs() == {"paper", "ours", "wrong"}
    finally:
        catalog_library._profiles_of_hubs.cache_clear()
