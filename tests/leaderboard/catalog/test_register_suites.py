"""Bringing suites into the database."""

import dataclasses

import pytest
from django.core.management import call_command

from evaluator.suites import suite_names, suite_of
from evaluator.suites.base import Panel
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


def test_registering_again_changes_nothing():
    suite = suite_of("openagi")
    assert register_suite(suite) is Registered.CREATED
    before = list(Suite.objects.values()), list(Task.objects.values_list("pk", flat=True))
    assert register_suite(suite) is Registered.UNCHANGED
    assert (list(Suite.objects.values()), list(Task.objects.values_list("pk", flat=True))) == before


def test_a_new_version_becomes_current_and_the_old_one_stays():
    old = suite_of("openagi")
    new = dataclasses.replace(old, version="2", tasks=old.tasks[:5])
    register_suite(old)
    assert register_suite(new) is Registered.CREATED
    assert Suite.objects.get(current=True).digest == new.digest
    assert Task.objects.count() == 190
    # Going back to a version that is there is an update.
    assert register_suite(old) is Registered.UPDATED
    assert Suite.objects.get(current=True).digest == old.digest


def test_better_texts_are_taken_over_without_a_new_version():
    suite = suite_of("openagi")
    register_suite(suite)
    assert register_suite(dataclasses.replace(suite, title="A better title")) is Registered.UPDATED
    assert Suite.objects.get().title == "A better title"
