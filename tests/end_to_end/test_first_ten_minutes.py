"""A stranger's first ten minutes in a browser: who is best, an endpoint of their own, why it loses points, and whether
the figures can be trusted. What pages say is compared with the numbers of the API."""

import json
import math
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.looking import EVERY_RULE, WIDE, Looker, looker
from tests.end_to_end.arena import Arena, data_folder, sign_up, started
from tests.end_to_end.endpoints import answering_gold
from tests.processes import ROOT, clean_environment

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(600)]
SUITE, METRIC = "toolmini", "SE"
STRATEGIES = ("greedy", "beam", "adaptive", "exhaustive", "trained")
PASS_PHRASE = "an analytical engine"
NAME = "first endpoint"
WRONG, RIGHT, LOST = "prompt", "input_msg", "QA/"
"""The endpoint's mistake: how it names the input of a tool, what the tool calls it, and where the keys of those tasks
begin."""
PATIENCE = 240_000
"""Milliseconds for an evaluation on a busy machine."""
_NUMBER = r"(\N{MINUS SIGN}?\d\.\d+)"
_GAP = re.compile(rf"{_NUMBER} \({_NUMBER} to {_NUMBER}, p")


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    """A demo with two anchors, and another user's five strategies on a board of judged plans."""
    with data_folder() as data, started(data, planners=("gold", "no-op")) as running:
        running.wait_for(running.evaluations, what="the first evaluations")
        token = sign_up(running, "neighbour")
        for name in STRATEGIES:
            running.post(
                "submissions/", token=token,
                body={
                    "planner": {"name": name, "kind": "bundled", "bundled_name": f"controlllm/{name}"},
                    "suites": [SUITE],
                },
            )  # fmt: skip
        running.wait_published()
        running.wait_for(lambda: len(ranked(running)) == len(STRATEGIES), what="five ranked planners")
        yield running


@pytest.fixture
def eyes(arena: Arena, browser: Browser) -> Iterator[Looker]:
    found = looker(browser, scheme="light", origin=arena.url)
    found.page.set_viewport_size({"width": WIDE, "height": 900})
    yield found
    found.context.close()


@pytest.fixture
def endpoint() -> Iterator[str]:
    """Right on every task, but for an input that it names as other services do."""

    def spoil(key: str, plan: dict[str, Any]) -> None:
        if key.startswith(LOST):
            for step in plan["steps"]:
                step["inputs"][WRONG] = step["inputs"].pop(RIGHT)

    with answering_gold(spoil) as url:
        yield url


def test_who_is_best_why_mine_is_not_and_whether_to_trust_it(arena: Arena, eyes: Looker, endpoint: str, tmp_path):
    page = eyes.page
    read_home(page, arena)
    look(eyes)
    page.get_by_role("table").get_by_role("link", name=re.compile(rf"^{len(ranked(arena))} ranked")).click()
    read_board(page, arena)
    look(eyes)
    unfold_the_leader(page, arena)
    look(eyes)
    compare_the_top_five(page, arena)
    look(eyes)
    page.go_back()
    cite_the_leader(page, arena)
    sign_up_from_the_board(page, arena)
    look(eyes)
    go_to_submit_from_the_docs(eyes)
    evaluation = submit(eyes, endpoint=endpoint)
    read_why(page, arena, evaluation)
    look(eyes)
    read_the_lost_task(page, arena, evaluation)
    look(eyes)
    compare_mine(page, arena, evaluation)
    look(eyes)
    use_a_token(eyes, arena, endpoint=endpoint)
    verify(page, arena, known=str(tmp_path / "known.json"))
    read_about_trust(eyes, arena)
    watch_a_plan(eyes, arena)
    assert eyes.problems == []


def look(eyes: Looker) -> None:
    found = eyes.examine(width=WIDE, rules=EVERY_RULE)
    assert found == [], f"{eyes.page.url}: {found}"


def board(arena: Arena) -> dict[str, Any]:
    return arena.get(f"boards/{SUITE}/")["content"]


def ranked(arena: Arena) -> list[dict[str, Any]]:
    """Rows of the board with a rank, in their order."""
    return [row for row in board(arena)["rows"] if row["rank"] is not None]


def words(where: Locator) -> str:
    """Its text on one line, with plain spaces."""
    return " ".join(where.inner_text().split())


def number(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-"))


def read_home(page: Page, arena: Arena) -> None:
    """Every planner with its score, interval and ranks; who leads, in words."""
    page.goto(arena.url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Which planner is best?")
    matrix = page.get_by_role("region", name="Table of planners and suites")
    rows = ranked(arena)
    for row in rows:
        value = row["metrics"][METRIC]
        cell = matrix.locator(f"a.value[href='/evaluations/{row['evaluation']}/']")
        expect(cell).to_have_attribute("title", re.compile(f"{value['low']:.3f} to {value['high']:.3f}"))
        expect(cell).to_contain_text(f"{value['mean']:.3f}")
    answers = page.get_by_role("list", name="Who leads").get_by_role("listitem")
    said = words(answers.filter(has=page.get_by_role("link", name=SUITE, exact=True)))
    assert said.startswith(f"{SUITE}: {rows[0]['planner']}"), said
    assert f"{rows[0]['metrics'][METRIC]['mean']:.3f}" in said


def read_board(page: Page, arena: Arena) -> None:
    """Its first sentences, and the plot of the first metric."""
    content, rows = board(arena), ranked(arena)
    check_answer(words(page.locator(".answer p").first), rows=rows, summary=content["summary"])
    for row in rows:
        shown, value = page.locator(f"#row-{row['evaluation']}"), row["metrics"][METRIC]
        expect(shown.locator("[data-cell=rank]")).to_have_text(str(row["rank"]))
        assert f"{value['low']:.3f} to {value['high']:.3f}" in words(shown.locator(".forest-cell"))
        dot = shown.locator("svg.forest .dot").get_attribute("cx") or ""
        assert float(dot.removesuffix("%")) == pytest.approx(100 * value["mean"], abs=0.06)
    for row in content["rows"]:
        if row["rank"] is None:
            expect(page.locator(f"#row-{row['evaluation']} .rank")).to_contain_text("anchor, not ranked")


def check_answer(said: str, *, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> None:
    """The names and figures in the first sentences are the API's."""
    leaders = rows[: min(summary["leaders"], 2)]
    assert said.startswith(" and ".join(row["planner"] for row in leaders)), said
    assert f"({rows[0]['metrics'][METRIC]['mean']:.3f}" in said
    lead, clear = summary["lead"], summary["clear_lead"]
    may_be_chance = summary["leaders"] == 1 and lead != clear and lead["mean"] > 0
    gaps = [gap for gap in (lead if may_be_chance else None, clear) if gap]
    found = [tuple(map(number, one)) for one in _GAP.findall(said)]
    assert found == [pytest.approx((gap["mean"], gap["low"], gap["high"]), abs=0.0051) for gap in gaps], said
    for gap in gaps:
        assert rows[gap["second"]]["planner"] in said
    for first, last in summary["groups"]:
        if rows[first]["rank"] != rows[last]["rank"]:
            assert f"{rows[first]['rank']} to {rows[last]['rank']}" in said
    if summary["resolution"] is not None:
        points = math.ceil(round(100 * summary["resolution"], 6))
        assert f"can tell {points} points apart" in said


def unfold_the_leader(page: Page, arena: Arena) -> None:
    """What costs it points, in its row."""
    row = ranked(arena)[0]
    page.locator(f"#open-{row['evaluation']} summary").click()
    fold = page.locator(f"#row-{row['evaluation']} + tr.fold")
    causes = arena.get(f"evaluations/{row['evaluation']}/causes/")
    expect(fold).to_contain_text(f"All causes: {causes['below']} of {causes['ran']} tasks below gold")
    value = row["metrics"][METRIC]
    expect(fold).to_contain_text(f"95 % interval {value['low']:.3f} to {value['high']:.3f}")


def compare_the_top_five(page: Page, arena: Arena) -> None:
    page.get_by_role("link", name="Compare the top five").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("5 evaluations compared")
    for row in ranked(arena)[:5]:
        expect(page.get_by_role("main")).to_contain_text(row["planner"])


def cite_the_leader(page: Page, arena: Arena) -> None:
    """With interval and rank."""
    row = ranked(arena)[0]
    address = page.locator(f"#row-{row['evaluation']} a.cite").get_attribute("href")
    cited = page.request.get(f"{arena.url}{address}").text()
    value = row["metrics"][METRIC]
    assert f"95 \\% interval {value['low']:.3f} to {value['high']:.3f}" in cited
    assert f"rank {row['rank']} of {len(ranked(arena))}, range {row['rank_low']} to {row['rank_high']}" in cited


def sign_up_from_the_board(page: Page, arena: Arena) -> None:
    """It leads back to where one was."""
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("Username").fill("stranger")
    page.get_by_label("Password", exact=True).fill(PASS_PHRASE)
    page.get_by_label("Password (again)").fill(PASS_PHRASE)
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("link", name="Sign out")).to_be_visible()
    expect(page).to_have_url(f"{arena.url}/boards/{SUITE}/")


def go_to_submit_from_the_docs(eyes: Looker) -> None:
    page = eyes.page
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Docs").click()
    expect(page.get_by_role("heading", name="Read a board")).to_be_visible()
    look(eyes)
    guide = page.get_by_role("region", name="Submit in five minutes")
    guide.get_by_role("link", name="Submit", exact=True).click()
    look(eyes)
    page.get_by_role("link", name="An HTTP endpoint").click()
    look(eyes)


def submit(eyes: Looker, *, endpoint: str) -> str:
    """Tested, submitted, and followed to its end without a reload; the evaluation's id."""
    page = eyes.page
    page.get_by_label("Address of the endpoint").fill(endpoint)
    page.get_by_label("Name on the board").fill(NAME)
    suites = page.get_by_role("group", name="Suites")
    for box in suites.get_by_role("checkbox", checked=True).all():
        box.uncheck()
    suites.get_by_role("checkbox", name=re.compile(rf"^{SUITE}\b(?!-)")).check()
    page.get_by_role("button", name="Test the endpoint").click()
    # A process of its own makes the call, which takes a while to start on a busy machine.
    expect(page.locator("#endpoint-test")).to_contain_text("Parsed as a plan with 1 step", timeout=60_000)
    look(eyes)
    page.get_by_role("main").get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
    expect(page.locator("[data-live=state]")).to_have_text("Completed", timeout=PATIENCE)
    expect(page.get_by_role("heading", name="Why below gold")).to_be_visible()
    return urlsplit(page.url).path.split("/")[2]


def read_why(page: Page, arena: Arena, evaluation: str) -> None:
    """What it lost, in a sentence that names the input, and as many tasks as there are."""
    causes = arena.get(f"evaluations/{evaluation}/causes/")
    lost = [row["task"] for row in arena.results(evaluation) if row["task"].startswith(LOST)]
    why = page.get_by_role("region", name="Why below gold")
    expect(why).to_contain_text(causes["explanation"][0])
    sentence = why.get_by_role("listitem").filter(has_text=f'there is no input "{WRONG}"').last
    assert f"takes {RIGHT}" in words(sentence)
    assert f"{len(lost)} tasks" in words(sentence)
    measured = arena.get(f"evaluations/{evaluation}/")["summary"]["metrics"][METRIC]
    shown = f"{measured['low']:.3f} \N{EN DASH} {measured['high']:.3f}"
    expect(page.get_by_role("region", name="Scores")).to_contain_text(shown)
    sentence.get_by_role("link", name=lost[0], exact=True).click()


def read_the_lost_task(page: Page, arena: Arena, evaluation: str) -> None:
    """The same sentence, at the step."""
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(rf"^Task {LOST}\d"))
    task = page.url.split("/tasks/")[1].strip("/")
    (cause,) = arena.get(f"evaluations/{evaluation}/results/{task}/")["causes"]
    assert (cause["step"], cause["input"]) == ("s1", WRONG)
    expect(page.locator(".plan-figure").first).to_contain_text(cause["given"])
    expect(page.get_by_role("region", name="The plan as a graph").locator(".node.failing")).to_have_count(1)


def compare_mine(page: Page, arena: Arena, evaluation: str) -> None:
    """With the best of the others, from the board."""
    page.get_by_role("link", name=SUITE, exact=True).first.click()
    rows = ranked(arena)
    check_answer(words(page.locator(".answer p").first), rows=rows, summary=board(arena)["summary"])
    page.get_by_role("link", name=re.compile("^Compare mine with the")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 evaluations compared")
    other = next(row for row in rows if row["evaluation"] != evaluation)
    for name in (NAME, other["planner"]):
        expect(page.get_by_role("main")).to_contain_text(name)


def use_a_token(eyes: Looker, arena: Arena, *, endpoint: str) -> None:
    """The lines on its page are run as they are, but for the address of the planner."""
    page = eyes.page
    page.get_by_role("link", name="Account", exact=True).click()
    page.get_by_label("Name").fill("pasted")
    page.get_by_role("button", name="Create a token").click()
    look(eyes)
    page.locator("details.folded:not([open]) > summary").evaluate_all("found => found.forEach(one => one.click())")
    texts = {key: page.locator(f"#lines-{key}").inner_text() for key in ("shell", "curl", "ci", "python")}
    steps = yaml.safe_load(texts["ci"])["jobs"]["evaluate"]["steps"]
    assert steps[-1]["env"]["PLANARENA_URL"] == arena.url
    assert shlex.split(steps[-1]["run"])[:2] == ["planarena", "submit"]
    texts = {key: text.replace("https://example.org/plan", endpoint) for key, text in texts.items()}
    assert shutil.which("curl"), "the lines for the shell need curl"
    submitted = json.loads(pasted("set -e\n" + texts["shell"] + texts["curl"].replace("curl ", "curl -sS ", 1)))
    made = {submitted["evaluations"][0]["id"]}
    printed = pasted(f"{texts['shell']}exec {shlex.quote(sys.executable)} -c {shlex.quote(texts['python'])}")
    made |= set(re.findall(rf"^{re.escape(arena.url)}/evaluations/([0-9a-f-]{{36}})/$", printed, re.MULTILINE))
    assert len(made) == 2, printed
    for one in made:
        arena.wait_for(lambda one=one: arena.get(f"evaluations/{one}/")["state"] == "completed", what="a pasted call")


def pasted(lines: str) -> str:
    """What a shell prints for these lines."""
    done = subprocess.run(
        ["bash", "-c", lines], cwd=ROOT, env=clean_environment(), text=True, capture_output=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def verify(page: Page, arena: Arena, *, known: str) -> None:
    """The command that the board names."""
    page.goto(f"{arena.url}/boards/{SUITE}/")
    command = page.locator("code", has_text="planarena verify").first.inner_text()
    name, *arguments = shlex.split(command)
    assert name == "planarena"
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments], cwd=ROOT, text=True, capture_output=True, timeout=240,
        env=clean_environment(PLANARENA_KNOWN_SITES=known), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("verified")
    count = len(board(arena)["rows"])
    assert f"{count} rows as signed" in done.stdout


def read_about_trust(eyes: Looker, arena: Arena) -> None:
    page = eyes.page
    page.get_by_role("contentinfo").get_by_role("link", name="Trust").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Trust")
    keys = page.request.get(f"{arena.url}/.well-known/planarena-keys.json").json()["keys"]
    for key in keys:
        expect(page.get_by_role("region", name="How results are decided")).to_contain_text(key["id"])
    look(eyes)
    page.get_by_role("contentinfo").get_by_role("link", name="Status").click()
    said = arena.get("status/")
    expect(page.get_by_role("status").first).to_have_text(said["sentence"])
    look(eyes)


def watch_a_plan(eyes: Looker, arena: Arena) -> None:
    """The replay on the home page, to its end."""
    page = eyes.page
    page.get_by_role("link", name="PlanArena").first.click()
    replay = page.locator("#live-task")
    expect(replay.locator("[data-watch=toggle]")).to_have_text("Play again", timeout=60_000)
    expect(replay.locator("[data-watch=now]")).to_have_text("The plan has run.")
    evaluation, task = (replay.get_attribute("data-task") or "").split()
    assert arena.get(f"evaluations/{evaluation}/results/{task}/")["record"]["score"] is not None
    look(eyes)
