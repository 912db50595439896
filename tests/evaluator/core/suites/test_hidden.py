"""Hidden requests: new words for the same goals, which a planner that knows the public ones by heart does not find."""

import random
import re
from dataclasses import replace

import pytest

from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.core.planner import PlannerReply, request_for
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, PlannerCall
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import JudgementEvaluator
from tests.rings import usual

SEEDS = usual(["a secret of the tests", "another one", "a third", "4", "fünf"], of=("a secret of the tests", "fünf"))
SEED, OTHER = "a secret of the tests", "another one"
OPENAGI, TOOLMINI = suite_of("openagi"), suite_of("toolmini")


def hidden(suite, seed=SEED):
    return suite_on_split(suite=suite, split="hidden", hidden_seed=seed)


def request_of(suite, task):
    return request_for(
        suite=suite, task=task, context=suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    )


class LookingUp:
    """Knows every public request with its gold plan by heart: by its words, however they are written, and by its id."""

    name = "looking-up"

    def __init__(self, suite) -> None:
        self._plans = {
            known: plan_to_json(task.gold)
            for task in suite.tasks
            for known in (task.key, _normal(task.text))
            if task.gold is not None
        }
        self.hits = 0

    def plan(self, request) -> PlannerReply:
        found = self._plans.get(_normal(request.task.request)) or self._plans.get(request.task.id)
        self.hits += found is not None
        return PlannerReply(plan=found or {"steps": [], "answers": []}, call=PlannerCall(seconds=0.0))


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def read(text: str) -> tuple:
    """What a request of OpenAGI wants, by its words: base task, language, defects of the image, masked inputs."""
    words = {
        "low_resolution": r"low-res|pixelated|coarsely resolved|low-definition",
        "noise": r"grainy|noise-ridden|speckled|noise-corrupted",
        "blur": r"blurred|out-of-focus|unsharp|defocused",
        "grayscale": r"black-and-white|monochrome|colourless|gray-toned",
    }
    defects = frozenset(kind for kind, pattern in words.items() if re.search(pattern, text))
    gap = r"(?:with a (?:masked|missing) word|in which a word is blanked out|that has a gap to be filled in)"
    nouns = {"query": r"question", "document": r"document", "text": r"(?:text|piece of English writing|passage)"}
    clozed = frozenset(
        name for name, noun in nouns.items() if re.search(rf"{noun}(?: (?:written|asked))?(?: in English)? {gap}", text)
    )
    goal = next((base for base, pattern in _GOALS if re.search(pattern, text)), None)
    language = "de" if re.search(r"German|Deutsch", text) else None
    if language is None and goal not in {"restoration", "text_to_image"}:
        language = "en"
    return goal, language, defects, clozed


_GOALS = [
    ("qa", r"from the document|in the document and give"),
    ("vqa", r"asked about the picture"),
    ("restoration", r"clean version|undamaged state|repair all|normal quality"),
    ("image_captioning", r"caption|describe it|what it shows"),
    ("image_classification", r"class it belongs|classify|category"),
    ("object_detection", r"objects? (?:that|in)"),
    ("text_to_image", r"draw|illustration|depicts"),
    ("summarization", r"summar|gist|condense"),
    ("translation", r"translate|render it"),
    ("sentiment", r"sentiment|mood"),
]


class TestOpenAGI:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_variant_asks_for_what_the_public_request_asks(self, seed):
        for task in hidden(OPENAGI, seed).tasks:
            wanted = (str(task.base), task.language, frozenset(task.degradations), frozenset(task.clozed))
            assert read(task.text) == wanted, task.text

    @pytest.mark.parametrize("seed", SEEDS)
    def test_no_variant_is_a_public_request_nor_another_variant(self, seed):
        texts = {_normal(task.text) for task in hidden(OPENAGI, seed).tasks}
        assert len(texts) == 185
        assert texts.isdisjoint(_normal(task.text) for task in OPENAGI.tasks)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_paraphrase_asks_for_what_the_request_asks_in_other_words(self, seed):
        for task in [*OPENAGI.tasks, *hidden(OPENAGI).tasks]:
            wanted = (str(task.base), task.language, frozenset(task.degradations), frozenset(task.clozed))
            text = OPENAGI.reworded(task, random.Random(f"{seed} {task.key}"))
            assert read(text) == wanted, text
            assert text != task.text

    def test_all_but_words_and_name_is_as_in_public(self):
        for task in hidden(OPENAGI).tasks:
            public = OPENAGI.task(task.key)
            assert replace(task, text=public.text, asked_as="") == public

    def test_a_planner_that_knows_all_public_requests_finds_none(self):
        asked, planner = hidden(OPENAGI), LookingUp(OPENAGI)
        for task in asked.tasks:
            planner.plan(request_of(asked, task))
        assert planner.hits == 0
        for task in OPENAGI.tasks:
            planner.plan(request_of(OPENAGI, task))
        assert planner.hits == 185

    def test_names_say_nothing_of_keys_or_places(self):
        names = [request_of(asked, task).task.id for asked in [hidden(OPENAGI)] for task in asked.tasks]
        assert len(set(names)) == 185
        assert set(names).isdisjoint(task.key for task in OPENAGI.tasks)
        assert sorted(names) == names, "places say what names say"
        assert [task.key for task in hidden(OPENAGI).tasks] != [task.key for task in OPENAGI.tasks]

    def test_nearly_all_wordings_change_with_the_seed(self):
        first, second = (hidden(OPENAGI, seed) for seed in (SEED, OTHER))
        same = [task for task in first.tasks if task.text == second.task(task.key).text]
        assert len(same) <= 3
        assert {task.asked_as for task in first.tasks}.isdisjoint(task.asked_as for task in second.tasks)


class TestToolmini:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_each_task_has_what_sites_show_of_the_public_one(self, seed):
        for public, task in ((TOOLMINI.task(task.key), task) for task in hidden(TOOLMINI, seed).tasks):
            shown = [
                (one.key, one.group, one.level, one.structure, one.metric, {*one.resources.values()})
                for one in (task, public)
            ]
            assert shown[0] == shown[1], task.text
            assert task.uncovered == ""

    @pytest.mark.parametrize("seed", SEEDS)
    def test_some_wishes_are_others(self, seed):
        tools = [[step.tool for step in task.gold.steps] for task in TOOLMINI.tasks]
        others = [task for task in hidden(TOOLMINI, seed).tasks if [step.tool for step in task.gold.steps] not in tools]
        assert len(others) > 10

    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_gold_plans_solve_the_hidden_requests(self, seed):
        from evaluator.planners.bundled import GoldPlanner

        asked = hidden(TOOLMINI, seed)
        keys = [task.key for task in asked.tasks]
        records = JudgementEvaluator(suite=asked, judge=ToolJudge()).run(planner=GoldPlanner(asked), tasks=keys)
        assert {record.score for record in records} == {1.0}

    @pytest.mark.parametrize("seed", SEEDS)
    def test_no_request_is_a_public_one(self, seed):
        texts = {_normal(task.text) for task in hidden(TOOLMINI, seed).tasks}
        assert len(texts) > 110
        assert texts.isdisjoint(_normal(task.text) for task in TOOLMINI.tasks)

    def test_a_planner_that_knows_all_public_requests_gains_nothing(self):
        asked, planner = hidden(TOOLMINI), LookingUp(TOOLMINI)
        for record in JudgementEvaluator(suite=asked, judge=ToolJudge()).run(
            planner=planner, tasks=[task.key for task in asked.tasks]
        ):
            assert record.outcome is Outcome.PLANNER_FAULT or record.score == 0.0
        assert planner.hits == 0


class TestSplits:
    @pytest.mark.parametrize("split", ["public", "validation", "all"])
    def test_other_splits_are_asked_as_they_are(self, split):
        assert suite_on_split(suite=OPENAGI, split=split, hidden_seed="x") is OPENAGI

    def test_without_the_seed_there_is_no_hidden_split(self):
        with pytest.raises(ValueError, match="needs its secret seed"):
            suite_on_split(suite=OPENAGI, split="hidden", hidden_seed=None)

    def test_published_suites_have_no_hidden_requests(self):
        with pytest.raises(ValueError, match="has no hidden requests"):
            suite_on_split(suite=replace(TOOLMINI, hidden_requests=None), split="hidden", hidden_seed="x")
