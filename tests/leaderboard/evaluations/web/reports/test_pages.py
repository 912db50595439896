"""Pages of reports say what the site's pages of the same results say."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from evaluator.core.records import ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import Artefact, MediaType
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.kept_artefacts import folder_beside, keep_artefacts
from evaluator.execution.engine.store import LocalStore
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.web.reports import serving
from leaderboard.evaluations.web.reports.artefacts import FolderArtefacts
from leaderboard.evaluations.web.reports.reading import read_report
from leaderboard.evaluations.web.reports.state import STATE
from tests.leaderboard.evaluations.web.reports.making import document_from, judged_document, sections, written
from tests.leaderboard.executed import BOXES, COUNT, SLUG, WRONG_SIZE, make_executed_evaluation
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import REAL, make_clumsy_evaluation

SITE_ONLY = {"verification", "share", "runs", "reliability", "others", ""}
"""Sections that need a site."""


@pytest.fixture
def shown(settings, tmp_path):
    """Shows documents as reports, and returns a client of their pages."""

    def show(*documents) -> Client:
        files = [written(document, tmp_path, name=f"{number}.json") for number, document in enumerate(documents)]
        settings.ROOT_URLCONF = "leaderboard.evaluations.web.reports.urls"
        serving.show([(read_report(path), FolderArtefacts(folder_beside(path))) for path in files])
        return Client()

    before = STATE.reports, STATE.front_end
    yield show
    STATE.reports, STATE.front_end = before


def records_of(evaluation: Evaluation) -> list[ResultRecord]:
    store = server_store(split="public")
    digests = evaluation.results.order_by("task__position").values_list("record_digest", flat=True)
    return [ResultRecord.model_validate_json(store.get(digest).data) for digest in digests]


def same_sections(site: str, local: str, *, least: set[str]) -> None:
    pages = sections(local), sections(site)
    first, second = ({name: text for name, text in page.items() if name not in SITE_ONLY} for page in pages)
    assert least <= first.keys()
    # A site also has ranks, margins of rows, and a link to the documents.
    scores = [re.findall(r"(?<!±\s)\d\.\d{3}", page.pop("metrics", "")) for page in (first, second)]
    assert scores[0] == scores[1]
    assert first == {name: text.replace(" All causes and their definitions .", "") for name, text in second.items()}


@pytest.mark.django_db
def test_a_judged_suite_has_the_sections_of_the_site(client, settings, shown):
    settings.EVALUATOR = REAL
    evaluation = make_clumsy_evaluation()
    address = reverse("evaluations:detail", args=[evaluation.pk])
    queries = ("", "?sort=-marks", "?outcome=planner_fault", "?q=the+train", "?page=2", "?why=missing_step&sort=task")
    pages = {query: client.get(address + query).content.decode() for query in queries}
    tasks = {
        key: client.get(reverse("evaluations:task", args=[evaluation.pk, key])).content.decode()
        for key in ("image_detection/0", "QA/0", "count_object/0", "QA/1")
    }
    records = records_of(evaluation)
    judge = episode_of("toolmini").evaluator(suite=suite_of("toolmini"), setting=Setting())
    reader = shown(document_from(judge, records=records, setting=Setting(), planner=evaluation.submission.planner.name))
    assert reader.get("/").headers["Location"] == "/1/"
    for query, site in pages.items():
        same_sections(site, reader.get(f"/1/{query}").content.decode(), least={"metrics", "why", "tasks"})
    for key, site in tasks.items():
        same_sections(site, reader.get(f"/1/tasks/{key}/").content.decode(), least={"plans"})


@pytest.mark.django_db
def test_an_executed_suite_has_the_samples_of_the_site_with_pictures_beside_the_report(client, shown, tmp_path):
    evaluation = make_executed_evaluation(user=make_user())
    records = records_of(evaluation)
    store = server_store(split="public")
    setting = Setting(profile="lilliput", samples=2, open_store=lambda: store)
    evaluator = episode_of(SLUG).evaluator(suite=suite_of(SLUG), setting=setting)
    document = document_from(evaluator, records=records, setting=setting, planner="a few")
    site = {
        key: client.get(reverse("evaluations:task", args=[evaluation.pk, key])).content.decode()
        for key in (BOXES, COUNT, WRONG_SIZE)
    }
    assert keep_artefacts(records, store=store, folder=folder_beside(tmp_path / "0.json")) == 0
    reader = shown(document)
    for key, expected in site.items():
        local = reader.get(f"/1/tasks/{key}/").content.decode()
        same_sections(expected, local, least={"plans", "samples-title"})
        picture = re.search(r'src="(/1/objects/[0-9a-f]{64})"', local)
        response = reader.get(picture[1])
        assert (response.status_code, response["Content-Type"]) == (200, "image/png")
        assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    page = reader.get("/1/").content.decode()
    assert f"{len(records)} of the" in page
    assert "not beside the report" not in page


@pytest.mark.django_db
def test_without_its_artefacts_a_report_has_everything_else_and_says_what_is_missing(shown):
    evaluation = make_executed_evaluation(user=make_user())
    store = server_store(split="public")
    setting = Setting(profile="lilliput", samples=2, open_store=lambda: store)
    evaluator = episode_of(SLUG).evaluator(suite=suite_of(SLUG), setting=setting)
    reader = shown(document_from(evaluator, records=records_of(evaluation), setting=setting))
    assert "not beside the report" in reader.get("/1/").content.decode()
    task = reader.get(f"/1/tasks/{BOXES}/").content.decode()
    assert "(not kept with the report)" in task
    assert "/objects/" not in task


def test_several_reports_have_an_index(shown):
    document = judged_document()
    html = shown(document, {**document, "planner": "<b>other</b>"}).get("/").content.decode()
    assert '<a href="/1/">clumsy</a>' in html
    assert '<a href="/2/">&lt;b&gt;other&lt;/b&gt;</a>' in html
    assert html.count("<tr>") == 3


def test_texts_of_a_report_are_escaped_and_its_links_stay_on_the_page(shown):
    document = judged_document()
    attack = '"><script src=https://evil.example/x></script><img src=x onerror=alert(1)>'
    fault = next(record for record in document["results"] if record["outcome"] == "planner_fault")
    fault.update(reason_text=attack, plan_received=attack, planner_notes={attack: attack})
    document.update(planner=attack, planner_identity={attack: attack})
    document["causes"]["findings"][fault["task"]] = [{"cause": "missing_step", "tool": attack[:90]}]
    reader = shown(document)
    for address in ("/1/", f"/1/tasks/{fault['task']}/"):
        html = reader.get(address).content.decode()
        assert "&lt;script src=" in html
        assert "<script src=https" not in html
        assert "<img src=x" not in html
        assert not re.search(r'(?:href|src|action)="(?:https?:)?//', html)


def test_what_a_report_does_not_have_is_404(shown, client):
    reader = shown(judged_document())
    addresses = "/2/", "/1/tasks/none/", "/1/tasks/QA/5/", f"/1/objects/{'0' * 64}", "/static/../manage.py", "/x/y"
    for address in addresses:
        assert reader.get(address).status_code == 404, address
    assert reader.post("/1/").status_code == 405


def test_artefacts_are_read_from_the_folder_alone(tmp_path):
    folder, outside = tmp_path / "report.json.artefacts", tmp_path / "outside"
    artefact = Artefact(data=b"secret", media_type=MediaType.TEXT)
    digest = LocalStore(outside).put(artefact)
    inside = LocalStore(folder).put(Artefact(data=b"kept", media_type=MediaType.TEXT))
    place = Path("objects", digest[:2], f"{digest[2:]}.txt")
    (folder / place).parent.mkdir(parents=True)
    (folder / place).symlink_to(outside / place)
    reader = FolderArtefacts(folder)
    assert reader.get(inside).data == b"kept"
    with pytest.raises(LookupError):
        reader.get(digest)
    (folder / place).unlink()
    (folder / place).parent.rmdir()
    (folder / place).parent.symlink_to((outside / place).parent)
    for name in (digest, "../" * 10 + "etc/passwd", "", "x" * 64):
        with pytest.raises(LookupError):
            reader.get(name)
