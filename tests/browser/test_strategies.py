"""Strategies with models for their roles, from the form in a browser through a worker to rows of boards.

Playwright and Django's database cannot be used at the same time in one thread: the browser is closed in between.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from django.conf import settings as current
from django.core.asgi import get_asgi_application
from django.test import Client
from playwright.sync_api import Page, expect, sync_playwright

from evaluator.core.suites.registry import suite_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.planners.language_models.shipped import shipped_folder
from gpu_jobs.checkpoints import CheckpointCache
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.models import Planner
from tests.browser.looking import FLAGS
from tests.evaluator.controlllm.strategies.test_tog_decomposing import answer as solution
from tests.fakes.checkpoints import zipped_folder
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.factories import make_user
from tests.leaderboard.planners.servers import TOKEN, chatting
from tests.leaderboard.planners.test_checkpoints import upload
from tests.leaderboard.planners.test_roles import DRAW
from tests.leaderboard.planners.test_secret_headers import CREDENTIAL, everything_in_the_database
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server
from tests.run import find_browser

pytestmark = [
    pytest.mark.full, pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)
]  # fmt: skip
MOST_TASKS = 6


@pytest.fixture
def site(settings, tmp_path) -> Iterator[str]:
    reset_launcher()
    settings.DEMO, settings.EVALUATOR = True, REAL
    settings.STORE_DIR, settings.STATIC_ROOT = tmp_path / "store", tmp_path / "static"
    settings.STATIC_ROOT.mkdir()
    settings.WHITENOISE_USE_FINDERS = True
    # The middleware reads its settings when the application is made.
    with server(get_asgi_application()) as url:
        yield url


@contextmanager
def page_of(site: str, *, session: str = "") -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        context = browser.new_context()
        if session:
            context.add_cookies([{"name": current.SESSION_COOKIE_NAME, "value": session, "url": site}])
        yield context.new_page()
        browser.close()


def session_of(user) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[current.SESSION_COOKIE_NAME].value


def submitted(site: str, *, user, kind: str, name: str, suite: str, fill: Callable[[Page], None]) -> None:
    """Submit a planner as a person does: choose its kind, fill the form in, press the button."""
    session = session_of(user)
    with page_of(site, session=session) as page:
        page.goto(f"{site}/submit/{kind}/")
        page.get_by_label("Name on the board").fill(name)
        for box in page.locator("input[name=suites]").all():
            box.set_checked(box.get_attribute("value") == suite)
        fill(page)
        page.get_by_role("main").get_by_role("button", name="Submit", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(name, timeout=60_000)


def row_of(site: str, *, suite: str, name: str) -> str:
    """The text of a planner's row on a board, as everybody sees it."""
    with page_of(site) as page:
        page.goto(f"{site}/boards/{suite}/")
        row = page.locator("tr").filter(has=page.get_by_role("link", name=name, exact=True)).first
        expect(row).to_be_visible()
        return " ".join(row.inner_text().split())


def few_tasks(suite: Suite) -> None:
    kept = Task.objects.filter(suite=suite).order_by("position").values_list("pk", flat=True)[:MOST_TASKS]
    Task.objects.filter(suite=suite).exclude(pk__in=list(kept)).delete()


def test_mix_of_two_chat_endpoints_is_submitted_and_gets_a_row(site):
    few_tasks(make_toolmini())
    ada = make_user("ada")
    score = '{"thought": "fits", "score": 4}'
    with chatting(answer=score) as large, chatting(answer=solution(DRAW)) as small:

        def fill(page: Page) -> None:
            page.locator("[name=endpoint_url]").fill(large.url)
            page.locator("[name=model_id]").fill("large")
            expect(page.get_by_text("Decomposition: a model of its own")).to_be_hidden()
            page.locator("[name=strategy]").select_option("controlllm/adaptive")
            page.get_by_text("Timeout and secret header").click()
            page.locator("[name=header_name]").fill("Authorization")
            page.locator("[name=header_value]").fill(TOKEN)
            expect(page.get_by_text("Planning module: a model of its own")).to_be_hidden()
            page.get_by_text("Options of the strategy").click()
            page.get_by_label("Threshold").fill("2.5")
            page.get_by_text("Decomposition: a model of its own").click()
            page.locator("[name=roles__decompose__kind]").select_option("chat")
            expect(page.locator("[name=roles__decompose__checkpoint_digest]")).to_be_hidden()
            page.locator("[name=roles__decompose__endpoint_url]").fill(small.url)
            page.locator("[name=roles__decompose__model_id]").fill("small")
            page.locator("[name=roles__decompose__header_name]").fill("Authorization")
            page.locator("[name=roles__decompose__header_value]").fill(TOKEN)

        submitted(site, user=ada, kind="chat", name="mix", suite="toolmini", fill=fill)
        work_through(site)
        evaluation = Evaluation.objects.get()
        assert evaluation.state == "completed", evaluation.reason_text
        large_asked, small_asked = ([one["messages"][0]["content"] for one in chat.requests] for chat in (large, small))
        assert large_asked
        assert all(text.startswith("Split a request") for text in small_asked)
        assert not any(text.startswith("Split a request") for text in large_asked)
        assert set(small.headers) == {TOKEN}
        assert CREDENTIAL not in everything_in_the_database()
    row = row_of(site, suite="toolmini", name="mix")
    assert "controlllm/adaptive@2.5" in row
    assert "decompose: small" in row
    assert small.url not in row


def test_lumos_s_two_modules_are_submitted_as_checkpoints_and_get_a_row(site, tmp_path, settings):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    register_suite(suite_of("lumos-mini"))
    few_tasks(Suite.objects.get(slug="lumos-mini", current=True))
    ada = make_user("ada")
    files = {}
    for module in ("plan", "ground"):
        files[module] = tmp_path / f"{module}.zip"
        files[module].write_bytes(zipped_folder(shipped_folder(f"lilliput-lumos/{module}-iterative")))
    ground = upload(ada, files["ground"].read_bytes()).json()["digest"]

    def fill(page: Page) -> None:
        page.locator("[name=strategy]").select_option("lumos/iterative")
        expect(page.locator("[name=roles__decompose__kind]")).to_be_hidden()
        for module in ("plan", "ground"):
            page.locator(f"[name=roles__{module}__kind]").select_option("checkpoint")
            expect(page.locator(f"[name=roles__{module}__endpoint_url]")).to_be_hidden()
        page.locator("[name=roles__plan__checkpoint_file]").set_input_files(files["plan"])
        page.locator("[name=roles__ground__checkpoint_digest]").select_option(ground)

    submitted(site, user=ada, kind="roles", name="lumos pair", suite="lumos-mini", fill=fill)
    cache = CheckpointCache(client=ApiClient(url=site, token=settings.WORKER_TOKEN), folder=tmp_path / "checkpoints")
    work_through(site, runner=EvaluatorRunner(store=MemoryStore(), device="cpu", checkpoints=cache))
    cache.close()
    torch.set_num_threads(threads)
    evaluation, planner = Evaluation.objects.get(), Planner.objects.get()
    assert evaluation.state == "completed", evaluation.reason_text
    assert len(planner.role_checkpoints) == 2
    assert ground in planner.role_checkpoints
    scores = evaluation.results.values_list("score", flat=True)
    assert sum(scores) > 0, "modules that ship solve some of the tasks that they were trained for"
    row = row_of(site, suite="lumos-mini", name="lumos pair")
    assert "lumos/iterative" in row
    assert f"ground: llama checkpoint {ground[:8]}" in row
