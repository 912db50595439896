"""A site with something on every page, served by this process: boards, evaluations in each state, people, tokens."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.db import connection
from django.db.models import Model, Q
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from evaluator.controlllm.toolbench.mini.requests import toolmini_tasks
from evaluator.controlllm.toolbench.suite import tool_suite
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, PlannerCall, Reason
from evaluator.core.suites.registry import suite_of
from evaluator.planners.trials.process import trial_to_json
from evaluator.planners.trials.trial import Exchange, Trial, Verdict, trial_request
from gpu_jobs.contract import LogLine, LogLines
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.seasons import announce, close
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.states import close_open_tasks
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.operations.models import Outage, Part, StatusHour
from leaderboard.people import teams
from leaderboard.people.models import Scope, User
from leaderboard.people.services import create_token
from leaderboard.planners.models import CheckpointUpload, Planner, PlannerKind
from leaderboard.platform.web import admin as operators
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import DoctorReport, Job, JobState
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers import logs
from leaderboard.queue.workers.tokens import create_worker_token
from leaderboard.reliability.models import Condition
from leaderboard.submissions.endpoint_tests import ENDPOINT_TEST
from leaderboard.submissions.pending import SUBMISSION
from leaderboard.workbench import asking
from tests.evaluator.arc.small import MIRROR
from tests.fakes.launcher import reset_launcher
from tests.fakes.planners import ClumsyPlanner
from tests.leaderboard.boards.versions import make_version
from tests.leaderboard.catalog.sealed import added, derived, proposal
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_summary,
)
from tests.leaderboard.executed import make_executed_evaluation
from tests.leaderboard.factories import make_regraded, make_submission, make_team
from tests.leaderboard.grids import SAME, make_grids_evaluation, registered
from tests.leaderboard.planning import MISTAKES, REAL, make_clumsy_evaluation, run_evaluation
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.queue.workers.test_doctor_reports import REPORT
from tests.leaderboard.reliability.factories import make_profile
from tests.leaderboard.serving import server
from tests.leaderboard.votes.factories import bundled, make_pair, make_vote
from tests.leaderboard.workbench.factories import make_run

PASSWORD = "correct horse"
LONG_NAME = "a-planner-with-an-unreasonably-long-name/that_has_no_place_to_break-and-goes-on-for-eighty-char"[:80]
AWKWARD = {"image_detection/0": "nothing", "image_editing/0": "false", "QA/0": "garbage", "QA/1": "garbage"}
"""Mistakes of a planner beside the clumsy one."""
_DATABASE = "planarena_looked_at"
_USAGE = ("seconds", "prompt_tokens", "completion_tokens", "cached_tokens")
REASON = "The endpoint answered 503 (Service Unavailable) three times; the last answer began with '<!doctype html>'."


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where the site is served, what addresses are made of, and the session of each role."""

    url: str
    things: dict[str, str]
    """By the names in `tests/routes.toml`."""
    sessions: dict[str, str]


@contextmanager
def own_database() -> Iterator[None]:
    """A fresh database in the place of the tests', which is there again afterwards."""
    before = connection.settings_dict["NAME"]
    connection.close()
    with psycopg.connect(**{**_server(), "dbname": "postgres"}, autocommit=True) as operator:
        operator.execute(f"DROP DATABASE IF EXISTS {_DATABASE} WITH (FORCE)")
        operator.execute(f"CREATE DATABASE {_DATABASE}")
        try:
            connection.settings_dict["NAME"] = _DATABASE
            call_command("migrate", verbosity=0)
            yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = before
            operator.execute(f"DROP DATABASE {_DATABASE} WITH (FORCE)")


def _server() -> dict[str, Any]:
    names = {"user", "password", "host", "port"}
    return {name: value for name, value in connection.get_connection_params().items() if name in names}


@contextmanager
def looked_at(folder: Path) -> Iterator[Site]:
    """Fill the present database, and serve the site from it with its own style sheets and scripts."""
    changes = override_settings(
        EVALUATOR=REAL,
        STORE_DIR=folder / "store",
        STATIC_ROOT=folder / "static",
        WHITENOISE_USE_FINDERS=True,
        ROOT_URLCONF="tests.browser.urls",
        ACCOUNT_REAUTHENTICATION_TIMEOUT=24 * 3600,
    )
    with ExitStack() as stack:
        stack.enter_context(changes)
        stack.enter_context(registered())
        (folder / "static").mkdir()
        reset_launcher()
        things, people = _fill()
        sessions = {role: _session(user) for role, user in people.items()}
        # After signing in, which makes it worth nothing.
        things["key"] = default_token_generator.make_token(User.objects.get(pk=people["researcher"].pk))
        sessions["halfway"] = _session_before_the_code(people["careful"])
        # The middleware reads its settings when the application is made.
        url = stack.enter_context(server(get_asgi_application()))
        yield Site(url=url, things=things, sessions=sessions)


def _session(user: User) -> str:
    """The session of somebody who has just given their password."""
    client = Client()
    client.force_login(user)
    session = client.session
    record = {"method": "password", "at": time.time(), "username": user.username, "reauthenticated": True}
    session["account_authentication_methods"] = [record]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _session_before_the_code(user: User) -> str:
    client = Client()
    asked = client.post(reverse("account_login"), {"login": user.username, "password": PASSWORD})
    assert asked.headers["Location"] == reverse("mfa_authenticate")
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _fill() -> tuple[dict[str, str], dict[str, User]]:
    names = ("ada", "bea", "newcomer", "operator", "careful")
    ada, bea, newcomer, operator, careful = (_person(name) for name in names)
    TOTP.activate(careful, generate_totp_secret())
    RecoveryCodes.activate(careful)
    User.objects.filter(pk=operator.pk).update(is_staff=True)
    operator.refresh_from_db()
    # First: running it sweeps, and would bring on what is to stay as it is.
    clumsy, awkward = (make_clumsy_evaluation(user=who, mistakes=how) for who, how in ((ada, MISTAKES), (bea, AWKWARD)))
    whole, part = (_imported(bea, name=name, missing=count) for name, count in (("log of m-1", 0), ("log of m-2", 40)))
    states = _executed(ada=ada, bea=bea) | {"found": _with_findings(bea), **_with_grids(ada=ada, bea=bea)}
    states |= _asked_again(ada=ada, bea=bea)
    register_suite(
        tool_suite(slug="tool100", title="Tool100", description="A suite without a row.", raw=toolmini_tasks()[:3])
    )
    make_team(ada, bea, name="Planning Lab")
    other = make_team(bea, name="Second Lab")
    teams.invite(team=other, username="ada", by=bea)
    create_token(name="nightly pipeline", user=ada, scopes=Scope.values)
    create_worker_token(owner=ada, name="desktop below the stairs")
    CheckpointUpload.objects.create(
        owner=ada, digest="c" * 64, bytes=1_500_000, architecture="T5ForConditionalGeneration", parameters=374_896,
        weights_bytes=749_792, wanted_at=timezone.now(),
    )  # fmt: skip
    tomorrow = timezone.now() + timedelta(days=1)
    waiting = {
        kind.name: Job.objects.create(owner=ada, kind=kind.name, request="", deadline=tomorrow).pk
        for kind in (ENDPOINT_TEST, SUBMISSION)
    }
    tested = Job.objects.filter(pk=waiting[ENDPOINT_TEST.name])
    tested.update(state=JobState.DONE, result=trial_to_json(_trial()), finished=timezone.now())
    webhook = Webhook.objects.create(owner=ada, url="https://example.org/planarena/hook", secret="s" * 40)
    payload = {"webhook": str(webhook.pk), "event": "evaluation.completed"}
    OutboxMessage.objects.create(kind=Kind.WEBHOOK, payload=payload, sent_at=timezone.now())
    derived(added(proposal(), by=bea)[0])
    _history()
    completed = states["completed"]
    digest = TaskResult.objects.filter(evaluation=completed).exclude(record_digest="")[0].record_digest
    rows = {rows: str(model._default_manager.order_by("pk")[0].pk) for rows, model in _listed()}
    things = {
        "suite": "openagi", "number": "1", "team": "planning-lab", "username": "ada", "task": "0",
        "uidb36": user_pk_to_url_str(ada), "extension": "csv", "name": "planner_server.py",
        "object_id": "1", "content_type_id": "1", "app_label": "evaluations", "member": "bea", "invited": "bea",
        **dict.fromkeys(("evaluation", "ended", "compared", "profiled"), str(completed.pk)),
        "webhook": str(webhook.pk), "job": str(waiting["endpoint_test"]), "pending_job": str(waiting["submission"]),
        "run": str(make_run(ada).pk), **_votes(ada),
        "clumsy": str(clumsy.pk), "awkward": str(awkward.pk),
        "imported": str(whole.pk), "partly_imported": str(part.pk),
        "digest": digest, "hidden_digest": digest, "season": _seasons(),
        "versioned": str(_versioned(bea).pk),
        "regraded": str(make_regraded(states["repeated"]).pk),
        "repeated_task": states["further_run"].results.order_by("task__position")[0].task.key,
        **{state: str(evaluation.pk) for state, evaluation in states.items()},
        **rows, "planner_id": rows["planners_planner"], "submission": rows["evaluations_submission"],
        "worker_token": rows["queue_workertoken"], "personal_token": rows["queue_workertoken"],
    }  # fmt: skip
    return things, {"researcher": ada, "newcomer": newcomer, "staff": operator, "careful": careful}


def _imported(user: User, *, name: str, missing: int) -> Evaluation:
    """A completed evaluation of plans that another harness collected, without those of the last tasks."""
    suite = suite_of("toolmini")
    answered = suite.tasks[: len(suite.tasks) - missing]
    source = {"format": "inspect", "producer": "inspect_ai 0.3.285", "model": "m-1", "sha256": "0" * 64}
    plans = {task.key: {"plan": plan_to_json(task.gold)} for task in answered if task.gold is not None}
    document = {"version": "import/1", "suite": suite.slug, "source": source, "plans": plans, "usage": {}}
    body = {"planner": {"name": name, "kind": "plans", "plans": document}, "suites": [suite.slug]}
    made = client_of(user).post("submissions/", body)
    assert made.status_code == 201, made.content
    evaluation = Evaluation.objects.get(pk=made.json()["evaluations"][0]["id"])
    return run_evaluation(evaluation, planner=ClumsyPlanner(suite=suite, mistakes={"QA/1": "irrelevant"}))


def _trial() -> Trial:
    """A test call of a chat endpoint that refuses a parameter and answers in a fence."""
    task, _, request = trial_request(suite=suite_of("openagi"), offered=None)
    sent = {"model": "m-1", "messages": [{"role": "user", "content": task.text}], "max_tokens": 256}
    refused = {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model."}}
    text = "Here is the plan:\n```\nText to Image Generation\n```"
    answered = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    exchanges = tuple(
        Exchange(
            sent=json.dumps(sent), sent_bytes=9000, status=status, answer=json.dumps(answer),
            answer_bytes=len(json.dumps(answer)),
        )
        for status, answer in ((400, refused), (200, answered))
    )  # fmt: skip
    return Trial(
        suite="openagi", task=task.key, request=request, seconds=1.25, status=200, answer=text, answer_bytes=len(text),
        verdict=Verdict.VALID, judgement="It would be executed, and scored by what it produces.",
        plan=plan_to_json(task.gold) if task.gold else None, exchanges=exchanges,
        tolerated=("envelope: fence", "envelope: 17 characters of prose", "character 3: ignored an empty name"),
        adapted=("max_tokens was sent as max_completion_tokens.", "temperature was left out: the service refuses it."),
        prompt_tokens=90, completion_tokens=30,
    )  # fmt: skip


def _seasons() -> str:
    """A closed season and an open one, each with a board of three planners; the name of the open one."""
    suite = Suite.objects.get(slug="openagi", current=True)
    cleo = _person("cleo")
    planners = [make_planner(owner=cleo, name=name) for name in ("steady", "rising", "late")]
    names = ("2026-spring", "2026-autumn")
    for season, means in zip(names, ((0.55, 0.41, None), (0.57, 0.63, 0.48)), strict=True):
        announce(name=season)
        for planner, mean in zip(planners, means, strict=True):
            if mean is not None:
                summary = make_summary(overall=mean)
                publish(
                    make_evaluation(
                        planner=planner, suite=suite, split="hidden", season_id=season, summary=summary,
                        data_digest=season.encode().hex().ljust(64, "0"),
                    )
                )  # fmt: skip
    close(name=names[0], unfinished=Q(pk__in=[]))
    return names[1]


def _votes(ada: User) -> dict[str, str]:
    """A pair to be voted on and one with names, beside votes of others: two tables, one of them with intervals."""
    suite = asking.suites()[0].slug
    planners = [bundled(f"controlllm/{name}") for name in ("adaptive", "greedy", "beam")]
    for number in range(18):
        a, b = planners[number % 3], planners[(number + 1 + number // 9) % 3]
        voter = User.objects.get_or_create(username=f"voter{number % 6}")[0]
        pair = make_pair(voter, a=a, b=b, suite=suite, request=str(number))
        make_vote(pair, response=("a", "b", "a", "equal")[number % 4], seconds=0.5 if number == 4 else 60.0)
    make_vote(make_pair(ada, a=bundled("lumos/whole"), b=bundled("lumos/iterative"), suite=suite), plan="b")
    named = make_pair(ada, a=planners[0], b=planners[1], suite=suite, request="named")
    make_vote(named, response="b", plan="equal")
    blind = make_pair(ada, a=planners[0], b=planners[1], suite=suite, request="blind")
    make_vote(blind, response="a", named=False)
    return {"pair": str(blind.pk), "named_pair": str(named.pk)}


def _history() -> None:
    """Status of 60 days: parts that were down and impaired, and a day without checks."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hours = [back for back in range(1, 24 * 60) if not 700 < back < 730]
    bad = {Part.QUEUE: {100: 45, 101: 60}, Part.STORE: {1200: 3}}
    impaired = {Part.WORKERS: dict.fromkeys(range(300, 340), 60), Part.SUITES: {30: 20}}
    StatusHour.objects.bulk_create(
        StatusHour(
            part=part, hour=now - timedelta(hours=back), checks=60, down=bad.get(part, {}).get(back, 0),
            degraded=impaired.get(part, {}).get(back, 0),
        )
        for part in Part
        for back in hours
    )  # fmt: skip
    for part, code, is_down, back, lasted, affected in (
        (Part.QUEUE, "queue_stopped", True, 102, 105, ""),
        (Part.STORE, "disk_full", True, 1200, 3, "a-volume-with-a-very-long-name-" * 3),
        (Part.WORKERS, "no_workers", False, 340, 2400, ""),
        (Part.SUITES, "paused", False, 31, 20, "openagi, tool100"),
    ):
        began = now - timedelta(hours=back)
        ended = began + timedelta(minutes=lasted)
        Outage.objects.create(
            part=part, code=code, is_down=is_down, affected=affected, began=began, seen=ended, ended=ended,
            is_end_known=code != "no_workers",
        )  # fmt: skip
    Outage.objects.create(
        part=Part.MESSAGES, code="messages_late", is_down=False, began=now - timedelta(hours=2), seen=now
    )
    DoctorReport.objects.create(device_class="0" * 64, profile="paper", weights="own", content=REPORT, received=now)


def _listed() -> Iterator[tuple[str, type[Model]]]:
    """What operators see lists of, by the beginning of the routes' names; each has a row."""
    return ((f"{model._meta.app_label}_{model._meta.model_name}", model) for model in operators.site._registry)


def _person(name: str) -> User:
    return User.objects.create(username=name, email=f"{name}@example.org", password=make_password(PASSWORD))


def _make_further_runs(first: Evaluation) -> None:
    """Two further runs of 19 tasks, one of which waits for its owner, and what the evaluation says of them."""
    report = {"claim": "declared", "verdict": "contradicted", "runs": 3, "tasks": 19, "differing": 2, "asked": 38}
    Evaluation.runs.filter(pk=first.pk).update(summary={**first.summary, "runs": {**report, "why": ""}})
    first.refresh_from_db()
    names = "submission", "suite", "profile", "profile_digest", "split", "samples", "state_since", "provenance"
    ends = [
        {"state": EvaluationState.COMPLETED, "reason": "further_run", "summary": {"metrics": {}, "outcomes": {}}},
        {"state": EvaluationState.CANCELLED, "reason": "cancelled_by_owner", "reason_text": "Cancelled by its owner."},
    ]
    for number, end in enumerate(ends, start=2):
        run = Evaluation.runs.create(
            **{name: getattr(first, name) for name in names}, **end,
            member_of=first, is_further_run=True, repetition=number, tasks_total=19,
        )  # fmt: skip
        make_results(run, samples=1, upto=19)


def _executed(*, ada: User, bea: User) -> dict[str, Evaluation]:
    """OpenAGI with a board of several planners, and an evaluation of ada's in each state."""
    suite = make_suite()
    planner = make_planner(owner=ada, name="word-reader", description="Reads the words of a request one by one.")
    found = {"completed": make_evaluation(planner=planner, suite=suite, **_when(hours=3))}
    make_results(found["completed"], faults=False)
    _make_further_runs(found["completed"])
    others = ((bea, "gold", 0.91), (bea, "random-valid", 0.22), (bea, "no-op", 0.04))
    for number, (owner, name, overall) in enumerate(others):
        fields = {"summary": make_summary(overall), **_when(hours=30 + number)}
        evaluation = make_evaluation(planner=make_planner(owner=owner, name=name), suite=suite, **fields)
        make_results(evaluation, faults=False, samples=1)
        publish(evaluation)
        found.setdefault("other", evaluation)
    found["priced"] = _priced(ada, suite)
    make_profile(found["completed"])
    make_profile(found["other"], has_confidence=False, missing=[Condition("", 5), Condition("renamed-tools", 1)])
    publish(found["completed"])
    found["unmeasured"] = make_evaluation(planner=planner, suite=suite, **_when(hours=4))
    found["measuring"] = make_evaluation(planner=planner, suite=suite, **_when(hours=5))
    found["profile_member"] = make_profile(found["measuring"], state="running").evaluation.members.get(
        perturbation="framed"
    )
    state = EvaluationState
    on_hold = {"state": state.ON_HOLD, "reason": "infra_faults", "reason_text": REASON}
    failed = {"state": state.FAILED, "reason": "no_worker", "reason_text": REASON}
    found["on_hold"] = make_evaluation(planner=planner, suite=suite, **on_hold)
    make_results(found["on_hold"], samples=1, upto=40)
    left = {"outcome": Outcome.NOT_RUN, "reason": Reason.ENDPOINT_UNAVAILABLE, "reason_text": f"Not asked: {REASON}"}
    TaskResult.objects.bulk_create(
        TaskResult(evaluation=found["on_hold"], task=task, causes=[], **left)
        for task in Task.objects.filter(suite=suite, position__gte=40)
    )
    found["failed"] = make_evaluation(planner=planner, suite=suite, **failed)
    found["cancelled"] = make_evaluation(planner=planner, suite=suite, state=state.CANCELLED)
    for target in (state.FAILED, state.CANCELLED):
        close_open_tasks(evaluation_id=found[target].pk, target=target, why=REASON)
    found["queued"] = _submit(ada, suite)
    found["running"] = _running(ada, suite)
    return found


def _with_findings(user: User) -> Evaluation:
    found = make_executed_evaluation(user=user)
    publish(found)
    return found


def _asked_again(*, ada: User, bea: User) -> dict[str, Evaluation]:
    """Planners on the board of toolmini that answer otherwise when they are asked again: one that may, one that is said
    to be deterministic, and one whose further runs wait; with the anchors of a headroom."""
    tasks = [task.key for task in suite_of("toolmini").tasks]
    for anchor, mistaken in (("gold", ()), ("bag-of-words", tasks[::2])):
        mistakes = dict.fromkeys(mistaken, "nothing")
        make_clumsy_evaluation(user=bea, name=f"{anchor} of toolmini", bundled_name=anchor, mistakes=mistakes)
    with override_settings(FURTHER_RUNS=2):
        repeated = make_clumsy_evaluation(
            user=ada, name="moody", bundled_name="random-valid", mistakes=dict.fromkeys(tasks[::3], "garbage")
        )
        contradicted = make_clumsy_evaluation(user=bea, name=LONG_NAME, mistakes={})
        waiting = make_clumsy_evaluation(user=ada, name="asked soon", bundled_name="random-valid", mistakes={})
        for evaluation in (repeated, contradicted):
            while run := evaluation.further_runs.exclude(state=EvaluationState.COMPLETED).first():
                mistakes = dict.fromkeys(tasks[run.repetition % 2 :: 2], "false")
                ended = run_evaluation(run, planner=ClumsyPlanner(suite=suite_of("toolmini"), mistakes=mistakes))
                assert ended.state == EvaluationState.COMPLETED, ended.reason_text
                sweep()
            evaluation.refresh_from_db()
            assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    return {
        "repeated": repeated,
        "further_run": repeated.further_runs[0],
        "contradicted": contradicted,
        "asked_again": waiting,
    }


def _with_grids(*, ada: User, bea: User) -> dict[str, Evaluation]:
    """Two planners on one board that try different candidates."""
    found = {
        "grids": make_grids_evaluation(user=bea),
        "grids_other": make_grids_evaluation(user=ada, name="fewer tries", tries=(SAME, MIRROR)),
    }
    for one in found.values():
        publish(one)
    return found


def _versioned(user: User) -> Planner:
    """A planner with twelve versions, the newest with a reliability profile and known causes, and one version under
    other conditions."""
    suite = Suite.objects.get(slug="openagi", current=True)
    name = "Mehrschrittplanungsverfahren mit Rückwärtsverkettung und Übergangsbewertung"
    planner = make_planner(owner=user, name=name, bundled_name="controlllm/beam")
    rng = np.random.default_rng(3)
    scores = rng.choice([0.0, 0.3, 0.5], 30)
    hours = {"hours": -40, "profile": "retired", "profile_digest": "cd" * 32}
    make_version(planner, suite, version="vor der Umstellung", values=scores, **hours)
    for number in range(12):
        better, worse = rng.integers(0, 30, 4), rng.integers(0, 30, 2)
        scores[better], scores[worse] = 0.8, 0.0
        version = f"Wahrscheinlichkeitsgewichtung-{number}" if number % 3 else f"v{number}"
        newest = make_version(planner, suite, version=version, values=scores, hours=number - 30)
    make_profile(newest)
    causes = [{"cause": "wrong_tool"}, {"cause": "missing_step"}, {"cause": "wrong_order"}, {"cause": "wrong_input"}]
    TaskResult.objects.filter(evaluation=newest).update(causes=[])
    for number, result in enumerate(TaskResult.objects.filter(evaluation=newest, score__lt=0.6)):
        result.causes = [causes[number % len(causes)]]
        result.save()
    return planner


def _priced(user: User, suite: Suite) -> Evaluation:
    """A chat planner with every declared fact, whose service reports cached and reasoning tokens."""
    planner = Planner.objects.create(
        owner=user, name=LONG_NAME, kind=PlannerKind.CHAT, endpoint_url="https://example.org/v1", strategy="json-plan",
        model_id="vendor/model-2026-large", model_name="model-2026-large", parameters=8_190_735_360, open_weights=False,
        prompt_price=2.5, completion_price=10, cached_price=0.125, reasoning_effort="high", answer_tokens=16_384,
    )  # fmt: skip
    call = PlannerCall(
        seconds=14.2, prompt_tokens=12_840, completion_tokens=1_960, cached_tokens=11_520, reasoning_tokens=1_732
    )
    usage = {name: {"mean": getattr(call, name), "tasks": 30} for name in _USAGE}
    evaluation = make_evaluation(
        planner=planner, suite=suite, summary=make_summary(0.68) | {"usage": usage}, **_when(hours=33)
    )
    make_results(evaluation, faults=False, samples=1, call=call)
    publish(evaluation)
    return evaluation


def _submit(user: User, suite: Suite) -> Evaluation:
    return make_submission(user=user, suite=suite, name="in the queue").evaluations.get()


def _running(user: User, suite: Suite) -> Evaluation:
    """An evaluation with a live worker that has written a log."""
    evaluation = make_submission(user=user, suite=suite, name="under way").evaluations.get()
    Evaluation.runs.filter(pk=evaluation.pk).update(state=EvaluationState.LAUNCHING)
    lease = leases.lease(worker="gpu-7", evaluation_id=evaluation.pk)
    assert lease is not None
    now = timezone.now().timestamp()
    lines = [LogLine(at=now, level="INFO", text=f"task {number}: planned in 0.{number} s") for number in range(30)]
    logs.append(
        attempt_id=lease.attempt.pk,
        log=LogLines(first=0, lines=(*lines, LogLine(at=now, level="WARNING", text="x" * 300))),
    )
    evaluation.refresh_from_db()
    make_results(evaluation, samples=1, faults=False, upto=3)
    return evaluation


def _when(*, hours: int) -> dict[str, Any]:
    return {"finished": timezone.now() - timedelta(hours=hours)}
