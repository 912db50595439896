"""Options of strategies, and roles with models of their own: entered, refused, leased, run and shown on boards."""

import hashlib
import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser
from django.utils import timezone

from evaluator.client import Client, NewSubmission, PlannerEntry
from leaderboard.boards.services import entry_of
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.people.services import create_token
from leaderboard.planners import checkpoints, roles, secret_headers
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds.language_models import strategy_named
from leaderboard.planners.models import CheckpointUpload, Planner, RoleSecret
from leaderboard.planners.services import data_of, identity_of
from leaderboard.planners.tasks import remove_unused_checkpoints
from leaderboard.platform.models import AuditEntry
from leaderboard.queue.pools import needs_of
from tests.evaluator.controlllm.strategies.test_tog_decomposing import answer as solution
from tests.evaluator.controlllm.strategies.test_tog_decomposing import raw
from tests.fakes.checkpoints import zipped
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.planners.servers import TOKEN, chatting, staging
from tests.leaderboard.planners.test_checkpoints import upload
from tests.leaderboard.planners.test_secret_headers import CREDENTIAL, everything_in_the_database
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.platform.api.helpers import ApiClient, client_of, lease_request, worker_client
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
MIX = {
    "name": "mix",
    "kind": "chat",
    "endpoint_url": "https://large.example.org/v1",
    "model_id": "large",
    "strategy": "controlllm/adaptive",
}
DECOMPOSER = {"kind": "chat", "endpoint_url": "https://small.example.org/v1", "model_id": "small"}
HEADER = {"header_name": "Authorization", "header_value": TOKEN}


@pytest.fixture
def ada():
    return make_user("ada")


@pytest.fixture
def suite():
    return make_suite(slug="toolmini", runnable=20)


def submit(user, suite, **changes):
    return client_of(user).post("submissions/", {"planner": {**MIX, **changes}, "suites": [suite.slug]})


def leased() -> dict:
    Evaluation.objects.update(state=EvaluationState.LAUNCHING)
    return worker_client().post("worker/lease/", lease_request()).json()


def test_the_worker_is_told_each_role_s_model_and_gets_its_header_by_a_call(ada, suite):
    answer = submit(ada, suite, options={"threshold": 2.5}, roles={"decompose": {**DECOMPOSER, **HEADER}})
    assert answer.status_code == 201, answer.json()
    planner = Planner.objects.get()
    assert (planner.strategy, planner.role_kinds) == ("controlllm/adaptive@2.5", ["chat"])
    lease = leased()
    assert lease["planner"]["strategy"] == "controlllm/adaptive@2.5"
    assert lease["planner"]["has_header"] is False
    told = lease["planner"]["roles"]["decompose"]
    assert (told["url"], told["model"], told["has_header"]) == ("https://small.example.org/v1", "small", True)
    call = f"worker/attempts/{lease['attempt']}/secret-header/"
    assert ApiClient(lease["token"]).get(f"{call}?role=decompose").json() == {"name": "Authorization", "value": TOKEN}
    assert ApiClient(lease["token"]).get(call).status_code == 404
    assert ApiClient(lease["token"]).get(f"{call}?role=respond").status_code == 404
    assert CREDENTIAL not in json.dumps(lease) + everything_in_the_database()


def test_its_owner_sees_addresses_and_headers_of_roles_and_others_only_models(ada, suite):
    made = submit(ada, suite, roles={"decompose": {**DECOMPOSER, **HEADER}}).json()["planner"]["roles"]["decompose"]
    assert made["endpoint_url"] == "https://small.example.org/v1"
    assert made["header"] == {"name": "Authorization", "ends_in": TOKEN[-4:]}
    (others,) = client_of(make_user()).get("planners/").json()["results"]
    seen = others["roles"]["decompose"]
    assert (seen["kind"], seen["model_id"]) == ("chat", "small")
    assert not seen.keys() & {"endpoint_url", "header", "timeout_seconds"}


def test_the_same_again_keeps_the_header_and_another_model_is_another_planner(ada, suite):
    models = {"decompose": {**DECOMPOSER, **HEADER}}
    assert submit(ada, suite, roles=models).status_code == 201
    again = {"decompose": {**DECOMPOSER, "header_name": "Authorization"}}
    assert submit(ada, suite, roles=again).status_code == 201
    assert (Planner.objects.count(), RoleSecret.objects.count()) == (1, 1)
    other = submit(ada, suite, roles={"decompose": {**DECOMPOSER, "model_id": "other"}})
    assert other.json()["errors"] == {
        "planner.name": ["You have a planner 'mix' with another choice of models: choose another name."]
    }
    assert submit(ada, suite, name="more", roles={"assess": DECOMPOSER}).status_code == 201
    assert len({identity_of(planner) for planner in Planner.objects.all()}) == 2
    first = Planner.objects.get(name="mix")
    assert data_of(first).values["roles"]["decompose"]["model_id"] == "small"
    assert "facts" not in json.dumps(data_of(first).values["roles"])


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"options": {"threshold": 9}}, "options.threshold", "it must be a number from 1 to 5"),
        ({"options": {"threshold": {"a": []}}}, "options.threshold", "it must be a number from 1 to 5"),
        ({"options": {"samples": 1}}, "options", "there is no option 'samples'; there are: threshold"),
        ({"options": [1]}, "options", "Expected a dictionary"),
        ({"strategy": "controlllm/adaptive@x"}, "strategy", "threshold is 'x'"),
        ({"strategy": "controlllm/adaptive@2", "options": {"threshold": 2}}, "options", "Give the options once"),
        ({"strategy": "hugginggpt", "roles": {"decompose": DECOMPOSER}}, "roles", "It has none."),
        ({"roles": {"ground": DECOMPOSER}}, "roles", "no role 'ground'. It has decompose, assess, respond."),
        ({"roles": {"x" * 9000: DECOMPOSER}}, "roles", "It has decompose, assess, respond."),
        ({"roles": "decompose"}, "roles", "Expected a dictionary"),
        ({"roles": {"decompose": "chat"}}, "roles.decompose", "Invalid data"),
        ({"roles": {"decompose": {"kind": "plans"}}}, "roles.decompose.kind", "no kind of model"),
        ({"roles": {"decompose": {**DECOMPOSER, "key": "x"}}}, "roles.decompose.key", "Unknown field"),
        (
            {"roles": {"decompose": {**DECOMPOSER, "endpoint_url": "https://127.0.0.1/v1"}}},
            "roles.decompose.endpoint_url", "127.0.0.1",
        ),
        ({"roles": {"decompose": {**DECOMPOSER, "revision": "main"}}}, "roles.decompose.revision", "has no revision"),
        ({"roles": {"decompose": {**DECOMPOSER, "model_id": ""}}}, "roles.decompose.model_id", "Give the name"),
        (
            {"roles": {"decompose": {**DECOMPOSER, "header_name": "X-Key"}}},
            "roles.decompose.header_value", "Give the value of X-Key",
        ),
        (
            {"roles": {"decompose": {"kind": "bundled", "model_id": "../weights"}}},
            "roles.decompose.model_id", "Choose one of lilliput-planner",
        ),
        (
            {"roles": {"decompose": {"kind": "checkpoint", "checkpoint_digest": "0" * 64}}},
            "roles.decompose.checkpoint_digest", "You uploaded no checkpoint",
        ),
        (
            {"roles": {"decompose": {**DECOMPOSER, "timeout_seconds": 10**400}}},
            "roles.decompose.timeout_seconds", "Give 1 to 300 seconds.",
        ),
        ({"kind": "bundled", "bundled_name": "gold", "roles": {"decompose": DECOMPOSER}}, "roles", "has no choice"),
    ],
)  # fmt: skip
def test_impossible_options_and_roles_are_refused_beside_their_field(ada, suite, settings, changes, field, words):
    settings.EVALUATOR, settings.DEMO = REAL, False
    answer = submit(ada, suite, **changes)
    assert answer.status_code == 400, answer.json()
    errors = answer.json()["errors"]
    assert words in " ".join(errors[f"planner.{field}"]), errors
    assert len(answer.content) < 4000
    assert Planner.objects.count() == 0


def test_options_that_are_too_long_together_are_refused(ada, suite):
    (views,) = (option for option in strategy_named("arc-experts").options.declared if option.name == "views")
    options = {"views": list(views.choices)[1:], "samples": 16, "loops": 8, "temperature": 0.123, "seed": 2**31 - 1}
    answer = submit(ada, suite, strategy="arc-experts", options=options)
    assert (answer.status_code, Planner.objects.count()) == (400, 0)
    assert "Name fewer options" in " ".join(answer.json()["errors"]["planner.options"])


def test_a_pair_of_checkpoints_is_leased_and_kept_while_a_role_uses_it(ada):
    pair = [zipped(README__md=name) for name in (b"plan", b"ground")]
    digests = [hashlib.sha256(data).hexdigest() for data in pair]
    for data in pair:
        assert upload(ada, data).status_code == 201
    lumos = {"kind": "checkpoint", "endpoint_url": "", "model_id": "", "strategy": "lumos/iterative"}
    ground = {"ground": {"kind": "checkpoint", "checkpoint_digest": digests[1]}}
    answer = submit(ada, make_suite(slug="lumos-mini"), **lumos, checkpoint_digest=digests[0], roles=ground)
    assert answer.status_code == 201, answer.json()
    planner, evaluation = Planner.objects.get(), Evaluation.objects.get()
    assert planner.role_checkpoints == [digests[1]]
    assert needs_of(evaluation).model
    CheckpointUpload.objects.update(wanted_at=timezone.now() - timedelta(days=30))
    remove_unused_checkpoints()
    assert CheckpointUpload.objects.count() == 2
    assert set(checkpoints.checkpoint_store().digests()) == set(digests)
    lease = leased()
    assert lease["planner"]["roles"] == {"ground": {"kind": "checkpoint", "digest": digests[1], "bytes": len(pair[1])}}
    for digest, data in zip(digests, pair, strict=True):
        path = f"worker/attempts/{lease['attempt']}/checkpoints/{digest}/"
        assert ApiClient(lease["token"]).get(path).content[:8] == data[:8]
    Evaluation.objects.update(summary={})
    row = entry_of(evaluation)
    assert row.roles == {"ground": f"gpt2 checkpoint {digests[1][:8]}"}
    assert row.parameters == 2 * planner.parameters


def test_a_role_s_model_of_another_kind_counts_for_pools_and_secrets(ada, suite):
    bundled = {"kind": "bundled", "model_id": "lilliput-lumos/ground-iterative"}
    planner = {"kind": "chat", "strategy": "lumos/iterative", "roles": {"plan": bundled, "ground": DECOMPOSER}}
    assert submit(ada, make_suite(slug="lumos-mini"), **planner).status_code == 201
    planner = Planner.objects.get()
    assert roles.has_secret(planner)
    assert leased()["planner"]["roles"]["plan"] == {"kind": "bundled", "name": "lilliput-lumos/ground-iterative"}


def identities(*, strategy="controlllm/adaptive", **models):
    planner = {"kind": "chat", "endpoint_url": MIX["endpoint_url"], "model_id": "large", "strategy": strategy}
    return identity_of(Planner(**planner, **roles.columns(models)))


def test_what_changes_no_model_of_a_role_changes_no_identity():
    known = identities(decompose=DECOMPOSER)
    for same in (
        {"timeout_seconds": 31}, {"api": "chat"}, {"reasoning_effort": "low"}, {"answer_tokens": 9}, {"streamed": True},
        {"endpoint_url": "https://SMALL.example.org:443/a/../v1/?x=1"}, {"model_id": "Small"},
    ):  # fmt: skip
        assert identities(decompose={**DECOMPOSER, **same}) == known, same
    assert identities(decompose={**DECOMPOSER, "model_id": "other"}) != known
    assert identities(assess=DECOMPOSER) != known
    main = {**DECOMPOSER, "endpoint_url": MIX["endpoint_url"], "model_id": "Large", "timeout_seconds": 7}
    assert identities(decompose=DECOMPOSER, assess=main) == known
    assert identities(assess=main) == identities()
    hub = {"kind": "hub", "model_id": "org/name", "revision": "main", "facts": {"commit": "a" * 40}}
    assert identities(decompose={**hub, "revision": "v1"}) == identities(decompose=hub)
    assert identities(decompose={**hub, "facts": {"commit": "b" * 40}}) != identities(decompose=hub)
    bundled = [{"kind": "bundled", "model_id": name} for name in ("lilliput-planner", "other")]
    assert len({identities(decompose=model) for model in bundled}) == 2


def test_a_model_that_answers_no_call_changes_no_identity():
    modules = {"plan": DECOMPOSER, "ground": {**DECOMPOSER, "model_id": "other"}}
    both = {
        identity_of(Planner(kind="hub", model_id=f"org/{name}", strategy="lumos/iterative", **roles.columns(modules)))
        for name in ("a", "b")
    }
    own = Planner(**DECOMPOSER, strategy="lumos/iterative")
    only_ground = {name: value for name, value in modules.items() if name == "ground"}
    for name, value in roles.columns(only_ground).items():
        setattr(own, name, value)
    assert both == {identity_of(own)}
    assert identities(strategy="lumos/iterative", ground=DECOMPOSER) not in both
    assert identities(**dict.fromkeys(("decompose", "assess", "respond"), DECOMPOSER)) != identities(
        decompose=DECOMPOSER
    )


def test_a_role_s_secret_header_is_replaced_and_removed_alone(ada, suite):
    chosen = {"decompose": {**DECOMPOSER, **HEADER}, "assess": {**DECOMPOSER, "model_id": "other", **HEADER}}
    submission = submit(ada, suite, roles=chosen).json()["id"]
    api, path = client_of(ada), f"submissions/{submission}/header/"
    wanted = json.dumps({"name": "X-Key", "value": "another-secret-value"})
    answer = api.put(f"{path}assess/", wanted, "application/json")
    assert (answer.status_code, answer.json()) == (200, {"name": "X-Key", "ends_in": "alue"})
    planner = Planner.objects.get()
    assert secret_headers.header_of(planner, role="assess").value == "another-secret-value"
    assert secret_headers.header_of(planner, role="decompose").value == TOKEN
    entry = AuditEntry.objects.get(action="header_set")
    assert entry.details == {"header": "X-Key", "role": "assess"}
    for role in ("respond", "x" * 999):
        refused = api.put(f"{path}{role}/", wanted, "application/json")
        assert (refused.status_code, "it has assess, decompose" in refused.json()["detail"]) == (404, True)
    assert api.put(f"{path}assess/", "{}", "application/json").status_code == 400
    assert client_of(make_user()).delete(f"{path}assess/").status_code == 404
    assert [api.delete(f"{path}assess/").status_code for _ in range(2)] == [204, 404]
    assert [secret.role for secret in RoleSecret.objects.all()] == ["decompose"]


def test_a_seed_or_another_spelling_changes_no_identity():
    known = identities(strategy="arc-experts@views=grid,objects;samples=1")
    assert identities(strategy="arc-experts@samples=1;views=objects,grid;seed=7;temperature=0.70") == known
    assert identities(strategy="arc-experts@samples=2;views=objects,grid") != known
    assert identities(strategy="arc-experts@seed=7") == identities(strategy="arc-experts")
    # Stored by a release with other options.
    assert identities(strategy="arc-experts@old=1") != identities(strategy="arc-experts")


@pytest.mark.parametrize(
    ("kind", "strategy", "models", "samples"),
    [
        ("checkpoint", "controlllm/adaptive", {}, False),
        ("checkpoint", "controlllm/adaptive", {"decompose": {"kind": "bundled", "model_id": "m"}}, False),
        ("checkpoint", "controlllm/adaptive", {"decompose": DECOMPOSER}, None),
        ("chat", "controlllm/adaptive", {"decompose": {"kind": "bundled", "model_id": "m"}}, None),
        ("chat", "arc-experts", {"any": {"kind": "bundled", "model_id": "m"}}, True),
        ("checkpoint", "arc-experts", {"any": DECOMPOSER}, True),
    ],
)
def test_a_planner_is_known_to_be_deterministic_only_if_all_its_models_are(kind, strategy, models, samples):
    assert roles.samples(Planner(kind=kind, strategy=strategy, **roles.columns(models))) is samples


@pytest.mark.parametrize(
    ("kind", "models", "may"),
    [
        ("hub", {}, False),
        ("hub", {"decompose": DECOMPOSER}, True),
        ("hub", {"decompose": {"kind": "bundled"}}, False),
        ("chat", {"decompose": {"kind": "bundled"}}, True),
        ("hub", {"decompose": {"kind": ["chat"]}, "assess": "chat"}, False),
        ("hub", "chat", False),
    ],
)
def test_determinism_is_declared_of_planners_with_a_model_that_the_site_does_not_know(kind, models, may):
    values = {"strategy": "controlllm/adaptive", "roles": models}
    assert roles.may_declare_determinism(PlannerData(kind=kind, values=values)) is may


def test_a_worker_that_does_not_know_roles_gets_no_planner_with_roles(ada, suite):
    assert submit(ada, suite, roles={"decompose": DECOMPOSER}).status_code == 201
    with_roles = Evaluation.objects.get()
    Evaluation.objects.update(state=EvaluationState.LAUNCHING)
    before = {"worker": "w", "token": "0" * 43}
    assert worker_client().post("worker/lease/", before).status_code == 204
    named = worker_client().post("worker/lease/", {**before, "evaluation": str(with_roles.pk)})
    assert (named.status_code, named.headers["X-Work-Left"]) == (204, "1")
    assert submit(ada, suite, name="single").status_code == 201
    Evaluation.objects.update(state=EvaluationState.LAUNCHING)
    assert worker_client().post("worker/lease/", before).json()["evaluation"] != str(with_roles.pk)
    assert worker_client().post("worker/lease/", lease_request()).json()["evaluation"] == str(with_roles.pk)


def test_an_endpoint_is_a_role_s_model_and_only_workers_that_know_get_it(ada, suite):
    stages = {"kind": "endpoint", "endpoint_url": "https://stages.example.org/plan", **HEADER}
    assert submit(ada, suite, roles={"decompose": stages}).status_code == 201
    planner = Planner.objects.get()
    assert (planner.role_kinds, roles.model_names(planner.roles)) == (["endpoint"], {"decompose": "endpoint"})
    assert roles.samples(planner) is None
    Evaluation.objects.update(state=EvaluationState.LAUNCHING)
    before = {"worker": "w", "token": "0" * 43, "knows_roles": True}
    assert worker_client().post("worker/lease/", before).status_code == 204
    lease = leased()
    told = lease["planner"]["roles"]["decompose"]
    assert (told["kind"], told["url"], told["has_header"]) == ("endpoint", "https://stages.example.org/plan", True)
    call = f"worker/attempts/{lease['attempt']}/secret-header/?role=decompose"
    assert ApiClient(lease["token"]).get(call).json()["value"] == TOKEN
    (others,) = client_of(make_user()).get("planners/").json()["results"]
    assert others["roles"]["decompose"].keys() == {"kind"}
    assert CREDENTIAL not in everything_in_the_database()


@pytest.mark.parametrize(
    ("stages", "field", "words"),
    [
        ({"endpoint_url": "https://127.0.0.1/plan"}, "endpoint_url", "127.0.0.1"),
        ({"endpoint_url": ""}, "endpoint_url", "Give the address"),
        ({"model_id": "m"}, "model_id", "A planner/1 endpoint has no model"),
        ({"header_value": "x" * 9}, "header_name", "name"),
    ],
)
def test_an_impossible_endpoint_of_a_role_is_refused(ada, suite, settings, stages, field, words):
    settings.EVALUATOR, settings.DEMO = REAL, False
    endpoint = {"kind": "endpoint", "endpoint_url": "https://stages.example.org/plan", **stages}
    answer = submit(ada, suite, roles={"decompose": endpoint})
    assert answer.status_code == 400
    assert words in " ".join(answer.json()["errors"][f"planner.roles.decompose.{field}"])


MODULES = {"plan": DECOMPOSER, "ground": {"kind": "endpoint", "endpoint_url": "https://ground.example.org/"}}


def of_roles(user, suite, **changes):
    planner = {"name": "pair", "kind": "roles", "strategy": "lumos/iterative", "roles": MODULES, **changes}
    return client_of(user).post("submissions/", {"planner": planner, "suites": [suite.slug]})


def test_a_planner_with_a_model_for_each_role_needs_no_other(ada):
    answer = of_roles(ada, make_suite(slug="lumos-mini"))
    assert answer.status_code == 201, answer.json()
    planner = Planner.objects.get()
    unused = Planner(kind="hub", model_id="org/a", strategy="lumos/iterative", **roles.columns(planner.roles))
    assert identity_of(planner) == identity_of(unused)
    lease = leased()["planner"]
    assert (lease["kind"], sorted(lease["roles"])) == ("roles", ["ground", "plan"])
    assert data_of(planner).values["roles"]["plan"]["model_id"] == "small"
    needs = needs_of(Evaluation.objects.get())
    assert (needs.endpoint, needs.model) == (True, False)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"roles": {"plan": DECOMPOSER}}, "roles.ground.kind", "Choose a model for grounding module (ground)"),
        ({"roles": None}, "roles.plan.kind", "Choose a model"),
        ({"strategy": "hugginggpt"}, "strategy", "Choose one of controlllm/adaptive"),
        ({"strategy": ""}, "strategy", "Choose one of"),
        ({"model_id": "m"}, "model_id", "A planner with a model for each role has no model"),
    ],
)
def test_a_planner_of_roles_names_what_is_missing(ada, changes, field, words):
    answer = of_roles(ada, make_suite(slug="lumos-mini"), **changes)
    assert answer.status_code == 400
    assert words in " ".join(answer.json()["errors"][f"planner.{field}"])


@pytest.mark.parametrize(
    ("plan", "parameters", "is_open"),
    [({"parameters": 5, "open_weights": True}, 12, True), ({"parameters": 5, "open_weights": False}, 12, False),
     ({}, None, None)],
)  # fmt: skip
def test_sizes_are_those_of_the_roles_together_where_no_other_model_answers(plan, parameters, is_open):
    models = {"plan": {"facts": plan}, "ground": {"facts": {"parameters": 7, "open_weights": True}}}
    assert roles.parameters_with(models, kind="roles", main=None) == parameters
    assert roles.are_open_with(models, kind="roles", main=None) is is_open
    assert roles.parameters_with(models, kind="chat", main=None) is None


def test_the_form_of_roles_asks_for_no_other_model_and_keeps_uploads(client, ada):
    suite = make_suite(slug="lumos-mini")
    client.force_login(ada)
    page = client.get("/submit/roles/").content.decode()
    assert 'name="roles__plan__kind"' in page
    assert not any(f'name="{field}"' in page for field in ("endpoint_url", "model_id", "checkpoint_digest"))
    assert "The planner&#x27;s model" not in page
    posted = {
        "kind": "roles", "name": "pair", "visibility": "public", "suites": [suite.slug], "strategy": "lumos/iterative",
        "roles__plan__kind": "checkpoint", "roles__ground__kind": "endpoint",
        "roles__ground__endpoint_url": "https://ground.example.org/",
    }  # fmt: skip
    wrong = client.post("/submit/roles/", {**posted, "roles__ground__kind": ""})
    assert wrong.status_code == 400
    assert "Choose a model for grounding module (ground)" in wrong.content.decode()
    file = SimpleUploadedFile("plan.zip", zipped())
    assert client.post("/submit/roles/", {**posted, "roles__plan__checkpoint_file": file}).status_code == 302
    planner = Planner.objects.get()
    assert planner.role_checkpoints == [CheckpointUpload.objects.get().digest]
    assert planner.roles["ground"]["endpoint_url"] == "https://ground.example.org/"


DRAW = raw(task=("image-generation",), args=(("text", "a dog"),), gives="image", description="Generate a dog.")


@pytest.mark.django_db(transaction=True)
def test_mix_runs_on_two_endpoints_and_their_secret_is_in_no_row(settings, tmp_path, launcher):
    settings.STORE_DIR = tmp_path / "store"
    settings.DEMO, settings.EVALUATOR = True, REAL
    make_toolmini()
    score = '{"thought": "fits", "score": 4}'
    with server() as site, chatting(answer=score) as large, chatting(answer=solution(DRAW)) as small:
        entry = PlannerEntry.model_validate({
            **MIX, "endpoint_url": large.url, "header_name": "Authorization", "header_value": TOKEN,
            "options": {"threshold": "2"},
            "roles": {"decompose": {**DECOMPOSER, "endpoint_url": small.url, **HEADER}},
        })  # fmt: skip
        with Client(url=site, token=create_token(user=make_user("ada")).token) as people:
            made = people.submit(NewSubmission(planner=entry, suites=["toolmini"]), key="k")
        work_through(site)
        evaluation = Evaluation.objects.get(pk=made.evaluations[0].id)
        assert evaluation.state == "completed", evaluation.reason_text
        asked = {name: [request["messages"][0]["content"] for request in chat.requests]
                 for name, chat in (("large", large), ("small", small))}  # fmt: skip
        assert {request["model"] for request in small.requests} == {"small"}
        assert set(small.headers) == set(large.headers) == {TOKEN}
        assert all(text.startswith("Split a request") for text in asked["small"])
        assert asked["large"]
        assert not any(text.startswith("Split a request") for text in asked["large"])
        assert CREDENTIAL not in everything_in_the_database()
        board = Browser().get("/boards/toolmini/").content.decode()
        usage = Browser().get(f"/api/v1/evaluations/{evaluation.pk}/").json()["summary"]["role_usage"]
        assert usage["decompose"]["calls"] == len(asked["small"]) / 120
        assert usage["assess"]["calls"] == len(asked["large"]) / 120
        page = " ".join(Browser().get(f"/evaluations/{evaluation.pk}/").content.decode().split())
        assert "Mean per task by role of the strategy:" in page
        assert "<li>decompose: " in page
    assert "controlllm/adaptive@2" in board
    assert "decompose: small" in " ".join(board.split())


@pytest.mark.django_db(transaction=True)
def test_two_endpoints_answer_the_calls_of_all_roles(settings, tmp_path, launcher):
    settings.STORE_DIR = tmp_path / "store"
    settings.DEMO, settings.EVALUATOR = True, REAL
    make_toolmini()
    score = '{"thought": "fits", "score": 4}'
    with server() as site, staging(answer=score) as large, staging(answer=solution(DRAW)) as small:
        models = {
            role: {"kind": "endpoint", "endpoint_url": chat.url, **HEADER}
            for role, chat in (("decompose", small), ("assess", large), ("respond", large))
        }
        entry = PlannerEntry.model_validate(
            {"name": "stages", "kind": "roles", "strategy": "controlllm/adaptive", "roles": models}
        )
        with Client(url=site, token=create_token(user=make_user("ada")).token) as people:
            made = people.submit(NewSubmission(planner=entry, suites=["toolmini"]), key="k")
        work_through(site)
        evaluation = Evaluation.objects.get(pk=made.evaluations[0].id)
        assert evaluation.state == "completed", evaluation.reason_text
        assert {request["role"] for request in small.requests} == {"decompose"}
        assert {request["role"] for request in large.requests} == {"assess"}
        usage = evaluation.summary["role_usage"]
        assert usage["decompose"]["prompt_tokens"] == usage["decompose"]["calls"] * 9
        assert CREDENTIAL not in everything_in_the_database()
    board = " ".join(Browser().get("/boards/toolmini/").content.decode().split())
    assert "decompose: endpoint" in board
    assert "127.0.0.1" not in board


def test_the_form_takes_options_and_roles_without_javascript(client, ada, suite):
    client.force_login(ada)
    page = client.get("/submit/chat/").content.decode()
    assert 'name="options__threshold"' in page
    assert 'name="roles__decompose__kind"' in page
    fields = {name: value for name, value in MIX.items() if name != "kind"}
    posted = {
        **fields, "kind": "chat", "visibility": "public", "suites": [suite.slug], "options__threshold": "2.5",
        "options__samples": "1", "roles__decompose__kind": "chat", "roles__decompose__model_id": "small",
        "roles__decompose__endpoint_url": "https://small.example.org/v1",
        "roles__decompose__header_name": "Authorization", "roles__decompose__header_value": TOKEN,
    }  # fmt: skip
    wrong = client.post("/submit/chat/", {**posted, "options__threshold": "9", "roles__decompose__model_id": ""})
    assert wrong.status_code == 400
    text = wrong.content.decode()
    assert "it must be a number from 1 to 5" in text
    assert "Give the name of the model, as used in requests" in text
    assert CREDENTIAL not in text
    assert client.post("/submit/chat/", posted).status_code == 302
    planner = Planner.objects.get()
    assert planner.strategy == "controlllm/adaptive@2.5"
    assert planner.roles["decompose"]["model_id"] == "small"
    assert RoleSecret.objects.get().name == "Authorization"
