"""Reading the tasks of an evaluation, and what of it is kept in memory."""

import pytest

from evaluator.core.suites.registry import suite_of
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.stored_rows import facts_of, task_rows
from leaderboard.evaluations.results.task_rows import modalities, tools_of
from leaderboard.evaluations.web.gathering import gather
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_result,
    make_suite,
    make_user,
)


def test_the_tools_of_a_plan_are_named_once_and_a_cut_one_not_at_all():
    assert tools_of("Colorization → Image Denoising → Colorization → Image Capt…") == (
        "Colorization",
        "Image Denoising",
    )
    assert tools_of("") == ()


def test_each_task_has_a_modality_unless_this_release_knows_its_suite_otherwise_or_not_at_all():
    expected = {
        "openagi": {"image → image", "image → text", "image, text → text", "text → image", "text → text"},
        "toolmini": {
            "words only", "image", "video", "depth", "hed", "image, mask", "image, video", "image, mask, video",
        },
    }  # fmt: skip
    for slug, kinds in expected.items():
        suite = suite_of(slug)
        found = modalities(slug=slug, digest=suite.digest)
        assert set(found) == {task.key for task in suite.tasks}
        assert set(found.values()) == kinds
    assert modalities(slug="openagi", digest="0" * 64) == {}
    assert modalities(slug="no-such-suite", digest="0" * 64) == {}


@pytest.mark.django_db
def test_a_suite_is_read_once_and_an_evaluation_that_goes_on_each_time(django_assert_num_queries):
    suite = make_suite()
    planner = make_planner(owner=make_user())
    running = make_evaluation(planner=planner, suite=suite, state="running")
    with django_assert_num_queries(2):
        assert {row.outcome for row in task_rows(running)} == {"pending"}
    make_result(evaluation=running, task=Task.objects.get(key="0"), samples=0)
    # And the results of gold plans.
    with django_assert_num_queries(2):
        rows = gather(running).tasks.rows
    assert [row.outcome for row in rows][:2] == ["scored", "pending"]
    assert rows[0].tools == tuple(step["tool"] for step in Task.objects.get(key="0").gold["steps"])


@pytest.mark.django_db
def test_what_was_gathered_of_an_evaluation_that_has_ended_is_kept(django_assert_num_queries):
    done = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())
    make_result(evaluation=done, task=Task.objects.get(key="0"), samples=0)
    first = gather(done)
    # Whether causes have changed.
    with django_assert_num_queries(1):
        assert gather(done) is first


@pytest.mark.django_db
def test_what_was_gathered_of_one_that_goes_on_is_kept_until_a_result_comes_changes_or_goes():
    running = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite(), state="running")
    first = gather(running)
    assert gather(running) is first
    result = make_result(evaluation=running, task=Task.objects.get(key="0"), samples=0)
    second = gather(running)
    assert second is not first
    assert gather(running) is second
    TaskResult.objects.filter(pk=result.pk).update(outcome="planner_fault", accepted=True)
    assert gather(running).tasks.rows[0].outcome == "planner_fault"
    result.delete()
    assert gather(running).tasks.rows[0].outcome == "pending"


@pytest.mark.django_db
def test_a_verification_shows_its_sample_only():
    suite = make_suite()
    planner = make_planner(owner=make_user())
    whole = make_evaluation(planner=planner, suite=suite)
    again = make_evaluation(planner=planner, suite=suite, state="running", verifies=whole)
    again.shards.create(number=0, task_keys=["3", "7"], available_at=again.created)
    assert [row.key for row in task_rows(again)] == ["3", "7"]
    assert len(facts_of(suite)) == 185
    assert TaskResult.objects.count() == 0
