"""The search of the site: what it finds, and for whom."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from leaderboard.evaluations.models import Submission
from leaderboard.search.finding import LONGEST, search
from tests.leaderboard.factories import make_submission, make_suite, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


def found(query: str, **arguments) -> dict[str, list[str]]:
    groups = search(query=query, reader=arguments.pop("reader", AnonymousUser()), **arguments)
    return {group.title: [hit.title for hit in group.hits] for group in groups}


@pytest.fixture
def submission() -> Submission:
    return make_submission(user=make_user("ada"), suite=make_suite(), name="tiny-planner")


class TestWhatIsFound:
    def test_planners_by_name_and_owner_in_any_order(self, submission):
        assert found("tiny")["Planners"] == ["tiny-planner"]
        assert found("ADA tiny")["Planners"] == ["tiny-planner"]
        assert "Planners" not in found("tiny nobody")

    def test_suites_by_title_and_slug_and_lead_to_their_pages(self, submission, client: Client):
        suite = submission.evaluations.get().suite
        groups = search(query=suite.slug, reader=submission.submitted_by)
        (hit,) = next(group.hits for group in groups if group.title == "Suites")
        assert (hit.title, hit.url) == (suite.title, f"/suites/{suite.slug}/")
        assert client.get(hit.url).status_code == 200

    def test_an_evaluation_by_the_beginning_of_its_id(self, submission):
        evaluation = submission.evaluations.get()
        groups = search(query=str(evaluation.pk)[:8], reader=submission.submitted_by)
        hits = next(group.hits for group in groups if group.title == "Evaluations")
        assert [hit.url for hit in hits] == [f"/evaluations/{evaluation.pk}/"]
        assert "Evaluations" not in found(str(evaluation.pk)[:5])

    def test_a_task_by_its_words_and_leads_to_it_in_its_suite(self, submission, client: Client):
        task = submission.evaluations.get().suite.tasks.first()
        groups = search(query=task.text, reader=submission.submitted_by)
        hit = next(group.hits for group in groups if group.title == "Tasks")[0]
        assert hit.title == task.text
        page = client.get(hit.url)
        assert page.status_code == 200
        assert [one.row.key for one in page.context["page"].page.object_list] == [task.key]

    def test_the_documentation_alone(self, submission):
        assert set(found("planner", only_docs=True)) == {"Documentation"}

    def test_nothing_for_nothing(self, submission):
        assert found("") == found("  ") == found("\x00") == {}
        assert found("%") == found("_____") == {}


class TestWhoFindsIt:
    def test_what_is_private_is_found_by_its_owner_alone(self):
        hidden = make_submission(
            user=make_user("ada"), suite=make_suite(), name="zebrafinch", seen={"visibility": "private"}
        )
        evaluation = str(hidden.evaluations.get().pk)
        for query in ("zebrafinch", evaluation, evaluation[:8]):
            assert found(query, reader=make_user()) == found(query) == {}
            assert found(query, reader=hidden.submitted_by) != {}


class TestThePage:
    def test_names_are_text(self, client: Client):
        make_submission(user=make_user("ada"), suite=make_suite(), name="<img src=x>")
        for part in ("", "&part=results"):
            html = client.get(f"/search/?q=%3Cimg{part}").content.decode()
            assert "&lt;img src=x&gt;" in html
            assert "<img src=x>" not in html

    def test_the_palette_gets_the_results_alone_for_its_reader_alone_and_a_long_query_is_cut(self, client, submission):
        html = client.get("/search/?q=tiny&part=results").content.decode()
        assert ("tiny-planner" in html, "<html" in html) == (True, False)
        response = client.get("/search/", {"q": "word" * 1000})
        assert (response.status_code, len(response.context["query"])) == (200, LONGEST)
        assert "private" in response.headers["Cache-Control"]
