"""The search of the site and of its documentation: what it finds, and for whom."""

import re
import threading

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from leaderboard.evaluations.models import Submission
from leaderboard.help.documents.chapters import BY_SLUG, DOCS, passages_of
from leaderboard.help.documents.search import Documentation, documentation
from leaderboard.help.web.search import LONGEST, search
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


SECTIONS = [
    (
        "Scoring",
        "Gold plans",
        "A gold plan is what the paper calls right. Planners never see it.",
        "/docs/scoring/#gold-plans",
    ),
    ("Scoring", "", "Executed plans are scored.", "/docs/scoring/"),
    ("Boards", "Ranks", "Planners are ranked by a column.", "/docs/boards/#ranks"),
]


def urls(words: str) -> list[str]:
    return [found.url for found in Documentation(SECTIONS).find(words=words, limit=5)]


def test_every_word_must_occur_in_any_form_and_the_last_may_be_unfinished():
    assert urls("planner rank") == ["/docs/boards/#ranks"]
    assert urls("executed sco") == ["/docs/scoring/"]
    assert urls("gold nowhere") == []


def test_what_is_not_a_word_is_no_part_of_the_query():
    for query in ("", " ", '"', "* OR (", "NEAR(", "a AND", "page:x)", "-", "\x02"):
        assert Documentation(SECTIONS).find(words=query, limit=5) == [] or query == "a AND"
    assert urls('"gold" plan*)') == ["/docs/scoring/#gold-plans"]
    # Operators of FTS5 are words like others.
    assert urls("gold OR ranked") == []


def test_a_heading_counts_more_than_a_text_and_the_excerpt_marks_the_words():
    assert urls("ranked")[0] == "/docs/boards/#ranks"
    found = Documentation(SECTIONS).find(words="gold", limit=5)[0]
    assert found.url == "/docs/scoring/#gold-plans"
    assert [piece.text for piece in found.excerpt if piece.matches] == ["gold"]
    assert "".join(piece.text for piece in found.excerpt) == SECTIONS[0][2]


def test_threads_share_an_index():
    index, found = Documentation(SECTIONS), []
    threads = [threading.Thread(target=lambda: found.append(index.find(words="gold", limit=5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(each == found[0] for each in found)


def test_the_documentation_of_this_release_is_found():
    def first(words: str) -> str:
        return documentation().find(words=words, limit=1)[0].url

    assert first("pass^k outcome consistency") == "/docs/validity/#consistency"
    assert first("what your endpoint receives") == "/docs/endpoint/#request"
    assert first("GET /api/v1/quota/") == "/docs/reference/#quota_list"


def test_words_on_both_sides_of_a_line_break_stay_two_words():
    pairs = 0
    for slug, chapter in BY_SLUG.items():
        text = next(DOCS.rglob(f"{chapter.slug}.md")).read_text(encoding="utf-8")
        broken = re.findall(r"(\w+)\n(\w+)", text)
        passages = passages_of(slug)
        assert sum(len(passage.text) for passage in passages) > 200, slug
        indexed = {word for passage in passages for word in re.findall(r"\w+", passage.text)}
        assert {f"{first}{second}" for first, second in broken} & indexed <= set(re.findall(r"\w+", text)), slug
        pairs += len(broken)
    assert pairs > 1000
