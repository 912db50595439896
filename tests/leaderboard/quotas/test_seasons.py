"""A planner's quota of a season on hidden data."""

import pytest
from django.db import transaction

from leaderboard.catalog.hidden_data import PlannerLimitError
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners import roles
from leaderboard.planners.models import Planner
from leaderboard.quotas.services import check_planner_limit
from leaderboard.submissions import services
from leaderboard.submissions.actions import rerun
from tests.leaderboard.factories import make_season, make_suite, make_team, make_user, planner_data
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.quotas.test_quotas import at_once


@pytest.fixture(autouse=True)
def _limits(settings):
    settings.QUOTA_PER_PLANNER_AND_SEASON = 2
    settings.QUOTA_PER_DAY = settings.QUOTA_PER_SUITE_AND_DAY = 0
    settings.SPLIT = "hidden"


def hidden_suite(**changes: str) -> Suite:
    suite = make_suite(**changes)
    Suite.objects.filter(pk=suite.pk).update(conditions={**suite.conditions, "splits": ["public", "hidden"]})
    make_season("1")
    return Suite.objects.get(pk=suite.pk)


def submit(user, suite, *, team: str = "", **planner: str) -> Evaluation:
    data = services.SubmissionData(planner=planner_data(**{"name": "mine", **planner}), suites=[suite.slug], team=team)
    return services.submit(services.validate(user=user, data=data)).evaluations.get()


def of_server(name: str) -> dict[str, str]:
    return {"kind": "chat", "endpoint_url": f"https://{name}.example.org/v1", "model_id": name}


def submit_modules(user, suite, **planner) -> int:
    """Submit LUMOS's two modules under a new name. Returns the status."""
    chosen = {"name": f"modules {Planner.objects.count()}", "strategy": "lumos/iterative", **planner}
    return client_of(user).post("submissions/", {"planner": chosen, "suites": [suite.slug]}).status_code


@pytest.mark.django_db
class TestLimit:
    def test_another_name_gives_no_further_evaluation_and_the_sentence_says_so(self):
        user, suite = make_user(), hidden_suite()
        assert submit(user, suite).split == "hidden"
        submit(user, suite, name="another name")
        with pytest.raises(PlannerLimitError) as refused:
            submit(user, suite, name="three")
        assert str(refused.value).startswith(
            f"three has used 2 of the 2 evaluations of the suite {suite.slug} that a planner may have on the hidden "
            "data of season 1, those under other names included. The next season begins with none used"
        )
        assert Evaluation.runs.count() == 2

    def test_another_planner_suite_or_season_has_its_own(self):
        user, suite = make_user(), hidden_suite()
        for _ in range(2):
            submit(user, suite)
        submit(user, suite, name="different", bundled_name="no-op")
        submit(user, hidden_suite())
        make_season("2")
        submit(user, suite)

    def test_members_of_a_team_share_it_and_strangers_do_not(self):
        owner, member, suite = make_user("owner"), make_user("member"), hidden_suite()
        team = make_team(owner, member, name="lab")
        submit(owner, suite, team=team.slug)
        submit(member, suite, team=team.slug)
        with pytest.raises(PlannerLimitError):
            submit(member, suite, team=team.slug)
        submit(make_user("stranger"), suite)
        # Without the team the member has one of their own left: the one for the team counts for both.
        submit(member, suite)
        with pytest.raises(PlannerLimitError):
            submit(member, suite)

    @pytest.mark.parametrize("main", ["first", "unused"])
    def test_the_same_models_submitted_as_another_kind_share_it(self, main):
        user, suite = make_user(), hidden_suite(slug="lumos-mini")
        models = {"plan": of_server("first"), "ground": of_server("second")}
        own = {"plan": models["plan"]} if main == "unused" else {}
        chat = {**of_server(main), "roles": {**own, "ground": models["ground"]}}
        assert submit_modules(user, suite, **chat) == 201
        assert submit_modules(user, suite, kind="roles", roles=models) == 201
        assert submit_modules(user, suite, **chat) == 409
        assert submit_modules(user, suite, kind="roles", roles=models) == 409
        assert submit_modules(user, suite, kind="roles", roles={**models, "ground": of_server("third")}) == 201

    def test_a_model_of_the_hub_as_the_model_of_a_role_shares_it(self):
        user, suite = make_user(), hidden_suite(slug="lumos-mini")
        commit, ground = "c" * 40, of_server("second")
        for _ in range(2):
            assert submit_modules(user, suite, **of_server("first"), roles={"ground": ground}) == 201
        # As if entered with a model of the hub, which is not asked here.
        hub = {"model_id": "org/first", "revision": "main"}
        Planner.objects.update(kind="hub", endpoint_url="", commit=commit, **hub)
        assert submit_modules(user, suite, kind="roles", roles={"plan": of_server("first"), "ground": ground}) == 201
        planner = Planner.objects.get(kind="roles")
        for name, value in roles.columns(
            {"plan": {"kind": "hub", **hub, "facts": {"commit": commit}}, "ground": planner.roles["ground"]}
        ).items():
            setattr(planner, name, value)
        planner.save()
        evaluation = Evaluation.runs.get(submission__planner=planner)
        with pytest.raises(PlannerLimitError, match="used 2 of the 2"), transaction.atomic():
            check_planner_limit(evaluation)

    def test_public_data_and_no_limit_are_free(self, settings):
        user, suite = make_user(), hidden_suite()
        settings.SPLIT = "public"
        for _ in range(3):
            submit(user, suite)
        settings.SPLIT, settings.QUOTA_PER_PLANNER_AND_SEASON = "hidden", 0
        for _ in range(3):
            submit(user, suite)

    def test_what_is_refunded_is_free_again_but_not_without_end(self):
        user, suite = make_user(), hidden_suite()
        for _ in range(6):
            services.cancel(submit(user, suite))
        with pytest.raises(PlannerLimitError, match="used 0 of the 2"):
            submit(user, suite)

    def test_what_an_operator_runs_again_for_its_owner_does_not_count(self):
        user, suite = make_user(), hidden_suite()
        first = submit(user, suite)
        services.cancel(first)
        rerun(first, by=user, for_owner=True)
        for _ in range(2):
            submit(user, suite)
        with pytest.raises(PlannerLimitError, match="used 2 of the 2"):
            submit(user, suite)

    def test_the_api_answers_409_with_the_facts(self):
        user, suite = make_user(), hidden_suite()
        client = client_of(user)
        body = {"planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold"}, "suites": [suite.slug]}
        for _ in range(2):
            assert client.post("submissions/", body).status_code == 201
        refused = client.post("submissions/", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "season_quota_exceeded")
        assert (refused.json()["limit"], refused.json()["used"], refused.json()["season"]) == (2, 2, "1")


@pytest.mark.django_db(transaction=True)
def test_simultaneous_submissions_never_exceed_it():
    user, suite = make_user(), hidden_suite()
    submit(user, suite)
    assert at_once(lambda: submit(user, suite), count=4, refused=PlannerLimitError) == (1, 3)
