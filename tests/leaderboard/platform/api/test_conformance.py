"""The site keeps what its schema promises, whatever it is sent: Schemathesis makes up the requests.

As nobody, as a user who owns things, and as staff; with made-up identifiers and with those of things that there are.
Never a 5xx, a status or a media type that is not documented, or a body of another shape.
"""

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from evaluator.core.values import MediaType
from gpu_jobs import bundles
from leaderboard.messages.webhooks import add_webhook
from leaderboard.people.models import Scope
from leaderboard.people.services import create_token
from leaderboard.platform.uploads import services as upload_tickets
from leaderboard.queue.jobs import accept, run_next
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.rewards.services import REWARDS, accept_rewards
from leaderboard.submissions.endpoint_tests import ENDPOINT_TEST
from tests.leaderboard.factories import make_evaluation, make_lease, make_season, make_suite, make_team, make_user
from tests.leaderboard.platform.api.test_reading import finish
from tests.leaderboard.votes.factories import bundled, make_pair
from tests.leaderboard.workbench.factories import make_run
from tests.rings import usual

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(120), pytest.mark.usefixtures("own_store")]


@pytest.fixture
def served_here():
    """Requests use the test's own connection, which they must not close; Django's test client does the same."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def schema(served_here):
    import schemathesis

    schemathesis.serializer.alias([bundles.CONTENT_TYPE, MediaType.PNG.value], "application/octet-stream")
    return schemathesis.openapi.from_wsgi("/api/v1/schema/?format=json", app=get_wsgi_application())


@pytest.fixture
def things():
    """Identifiers of what the owner has, by the names that they have in addresses."""
    owner = make_user("owner")
    make_team(owner, make_user("member"), name="lab")
    suite = make_suite(slug="openagi", not_run=1)
    waiting = make_evaluation(user=owner, suite=suite)
    done = make_evaluation(user=owner, suite=suite, state="launching")
    finish(done)
    make_evaluation(user=owner, suite=suite)
    running = make_evaluation(user=owner, suite=suite, state="launching")
    return owner, {
        "evaluation_id": [str(done.pk), str(waiting.pk)],
        "submission_id": [str(done.submission_id)],
        "task_key": ["0", "x0"],
        "number": [1, 2],
        "slug": ["lab", "openagi"],
        "username": ["member", "owner"],
        "planner_id": [str(done.submission.planner_id)],
        "ticket_id": [str(upload_tickets.ask(owner_id=owner.pk, address="", size=1).row.pk)],
        "token_id": [create_token(user=owner).id, str(create_worker_token(owner=owner, name="a").id)],
        "attempt_id": [str(make_lease(running).attempt.pk)],
        "job_id": _jobs(owner),
        "digest": ["d" * 64],
        "webhook_id": [str(add_webhook(owner=owner, url="https://example.org/hook").pk)],
        "run_id": [str(make_run(owner).pk)],
        "pair_id": [str(make_pair(owner, a=bundled("a"), b=bundled("b"), suite="openagi").pk)],
        "season": [make_season().name],
        "suite": ["openagi"],
        "role": ["decompose"],
    }


def _jobs(owner):
    """One that waits, and one that is done."""
    waiting = accept(kind=ENDPOINT_TEST, owner=owner, request=None)
    rewards = accept_rewards(user=owner, suite="openagi", proposals=[("0", "Colorization")])
    run_next(REWARDS)
    return [str(waiting.pk), str(rewards.pk)]


def calls(operation, things, *, full):
    """Strategies for the requests of an operation, each with its kind and how many to try.

    A full run tries several of each operation and kind of identifier; others one, with the first identifier.
    """
    from schemathesis import GenerationMode

    modes = {GenerationMode.POSITIVE: 5 if full else 1, GenerationMode.NEGATIVE: 4 if full else 1}
    names = [parameter.name for parameter in operation.path_parameters]
    real = [{name: things[name][number % len(things[name])] for name in names} for number in range(2)] if names else []
    for mode, count in modes.items():
        if full or not real:
            yield operation.as_strategy(generation_mode=mode), mode, count
        for values in real if full else real[:1]:
            yield operation.as_strategy(generation_mode=mode, path_parameters=values), mode, count


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("role", usual(["nobody", "owner", "staff"], of=["owner"]))
def test_every_operation_answers_as_the_schema_says(schema, things, role, half, full):
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.core.failures import FailureGroup
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    owner, known = things
    staff = make_user("root")
    staff.is_staff = True
    staff.save()
    user = {"nobody": None, "owner": owner, "staff": staff}[role]
    token = create_token(user=user, scopes=Scope.values).token if user else ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len({operation.label for operation in operations}) >= 50
    found = set()
    for operation in operations[half::2]:
        for strategy, mode, count in calls(operation, known, full=full):

            @given(case=strategy)
            @settings(
                max_examples=count, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            def keeps_its_promise(case):
                case.headers.pop("Authorization", None)
                case.validate_response(case.call(headers=headers), checks=checks)

            try:
                keeps_its_promise()
            except FailureGroup as broken:
                found |= {f"{operation.label}: {one.title}: {one.message}" for one in broken.exceptions}
            except Unsatisfiable:
                # Of an operation without parameters there is no request that does not follow the schema.
                assert mode is GenerationMode.NEGATIVE, operation.label
    assert not found, "\n\n".join(sorted(found))
