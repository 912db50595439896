"""Run in a copy that follows a recipe of docs/extending.md for the site: uses what the recipe adds.

Takes the title of the recipe and the test database's connection settings as JSON, and leaves the database as it was.
"""

import json
import os
import sys
from pathlib import Path

import django


def main(title: str, database: str) -> None:
    """Use what a recipe adds.

    Raises:
        AssertionError: it does not do what the recipe says.
    """
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from django.conf import settings

    # The settings are a link, so that their own folder of templates is the repository's.
    settings.TEMPLATES[0]["DIRS"] = [Path("frontend/templates").absolute()]
    django.setup()
    from django.db import connection, transaction

    connection.settings_dict.update(json.loads(database))
    with transaction.atomic():
        RECIPES[title]()
        transaction.set_rollback(True)


def migrate() -> None:
    """What `makemigrations planners` and `migrate` do."""
    from django.apps import apps
    from django.db import connection
    from django.db.migrations.autodetector import MigrationAutodetector
    from django.db.migrations.loader import MigrationLoader
    from django.db.migrations.state import ProjectState

    loader = MigrationLoader(connection)
    state = loader.project_state()
    changes = MigrationAutodetector(state, ProjectState.from_apps(apps)).changes(loader.graph)
    assert changes.keys() == {"planners"}
    with connection.schema_editor() as editor:
        for migration in changes["planners"]:
            state = migration.apply(state, editor)


def follow_planner() -> None:
    """Follow a planner of the kind from the API to a board, with the column that it needs."""
    from django.test import Client

    from evaluator.client.shapes import NewSubmission, PlannerEntry
    from leaderboard.evaluations.models import Evaluation
    from leaderboard.queue.reconcile import sweep
    from tests.leaderboard.factories import make_record, make_suite, make_user
    from tests.leaderboard.platform.api.helpers import ApiClient, client_of, lease_request, worker_client

    migrate()
    suite, user = make_suite(), make_user()
    entry = PlannerEntry(name="denoise", kind="fixed", fixed_plan="Image Denoising")  # type: ignore[arg-type, call-arg]  # of the copy
    body = NewSubmission(planner=entry, suites=[suite.slug]).model_dump(mode="json")
    submitted = client_of(user).post("submissions/", body)
    assert submitted.status_code == 201, submitted.content
    assert submitted.json()["planner"]["fixed_plan"] == "Image Denoising"
    Evaluation.objects.update(state="launching")
    lease = worker_client().post("worker/lease/", lease_request()).json()
    assert answers(lease) == {"Image Denoising"}
    records = [make_record(task, suite=suite.slug).model_dump(mode="json") for task in lease["tasks"]]
    finished = ApiClient(lease["token"]).post(f"worker/attempts/{lease['attempt']}/finish/", {"results": records})
    assert finished.status_code == 200, finished.content
    sweep()
    page = Client()
    page.force_login(user)
    assert "Fixed plan" in page.get(f"/evaluations/{lease['evaluation']}/").content.decode()
    rows = ApiClient().get(f"boards/{suite.slug}/rows/", kind="fixed").json()["rows"]
    assert [row["planner"] for row in rows] == ["denoise"]
    assert 'name="kind" value="fixed"' in page.get("/submit/fixed/").content.decode()


def answers(lease: dict) -> set[str]:
    """The plans that the leased planner gives for the tasks of a suite."""
    from evaluator.core.planner import request_for
    from evaluator.core.suites.registry import suite_of
    from gpu_jobs.contract import Lease
    from gpu_jobs.planners import OPENERS

    suite, wanted = suite_of("openagi"), Lease.model_validate(lease).planner
    with OPENERS[type(wanted)](wanted, suite, None) as planner:
        tools = frozenset(suite.catalogue.tools)
        asked = [(task, suite.context(task=task, offered=tools)) for task in suite.tasks[:3]]
        return {planner.plan(request_for(suite=suite, task=task, context=context)).plan for task, context in asked}


def open_page() -> None:
    """Planners that the reader may see are listed; those of private submissions are not."""
    from django.test import Client

    from leaderboard.evaluations.models import Visibility
    from tests.leaderboard.factories import make_submission

    for name, visibility in (("shown to all", Visibility.PUBLIC), ("kept private", Visibility.PRIVATE)):
        make_submission(name=name, seen={"visibility": visibility})
    page = Client().get("/planners/")
    assert page.status_code == 200
    assert "shown to all" in page.content.decode()
    assert "kept private" not in page.content.decode()


RECIPES = {"A kind of planner": follow_planner, "A page": open_page}

if __name__ == "__main__":
    main(*sys.argv[1:])
