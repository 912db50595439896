"""Who has learnt the public requests by heart does not solve the hidden ones: no sentence and no template is both."""

import json
import re

import pytest

from evaluator.controlllm.toolbench.judging import judge
from evaluator.controlllm.toolbench.meaning.sentences import mentions
from evaluator.controlllm.toolbench.mini.hidden import PARAPHRASES
from evaluator.controlllm.toolbench.mini.requests import GROUPS as MINI
from evaluator.controlllm.toolbench.mini.requests import sentences_of
from evaluator.controlllm.toolbench.spoken.speech import WISHES, Speech
from evaluator.controlllm.toolbench.world.requests import GROUPS as WORLD
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_of
from tests.rings import usual

SUITES = ("toolmini", "toolmini-abstain", "toolworld")
SEEDS = usual(["a secret of the tests", "another one", "a third"], of=("a secret of the tests",))
_FILE = re.compile(r"[\w\-]+\.(?:png|jpe?g|mp4|mov|webm)\b")
_SLOT = re.compile(r"<[FL]\d+>")
_QUOTED = re.compile(r'"[^"]*"')


def hidden(slug, seed=SEEDS[0]):
    return suite_on_split(suite=suite_of(slug), split="hidden", hidden_seed=seed)


def sentences(text):
    """The sentences of a request, without the texts that it quotes, of which the miniature world has few."""
    return {
        " ".join(re.findall(r"\w+", one.lower())) for one in re.split(r"(?<=[.?!])\s+", _QUOTED.sub("", text)) if one
    }


class Memoriser:
    """Makes a template of each public request and its gold plan, where files and copied texts are slots."""

    def __init__(self, tasks):
        known = dict(template(task.text, plan_to_json(task.gold)) for task in tasks if task.gold is not None)
        # The template with the most words first, so that no slot takes a whole request that another one explains.
        self.known = [
            (expression(text), text, plan)
            for text, plan in sorted(known.items(), key=lambda pair: -len(_SLOT.sub("", pair[0])))
        ]

    def plan(self, text):
        """The plan of the template that fits; without one that of the template with the most similar words."""
        for fits, _, plan in self.known:
            if found := fits.fullmatch(text):
                return filled(plan, found.groupdict())
        _, nearest, plan = max(self.known, key=lambda one: similarity(one[1], text))
        copied = [*dict.fromkeys(_FILE.findall(text))] or ["none.png"]
        slots = dict.fromkeys(_SLOT.findall(nearest))
        values = {slot[1:-1]: copied[min(n, len(copied) - 1)] for n, slot in enumerate(s for s in slots if s[1] == "F")}
        nouns = re.findall(r"\b(?:the|an?) ((?:[a-z]+ )?[a-z]+?) (?:in|from|of|that)\b", text) or ["thing"]
        return filled(plan, values | {slot[1:-1]: nouns[0] for slot in slots if slot[1] == "L"})


def template(text, plan):
    """A request and its plan as JSON, both with slots for files and for texts that the plan copies."""
    known = json.dumps(plan)
    for number, name in enumerate(dict.fromkeys(_FILE.findall(text))):
        text, known = text.replace(name, f"<F{number}>"), known.replace(name, f"<F{number}>")
    literals = [value for step in plan["steps"] for value in step["inputs"].values() if value in text]
    for number, literal in enumerate(dict.fromkeys(one for one in literals if not _SLOT.fullmatch(one))):
        text = text.replace(literal, f"<L{number}>")
        known = known.replace(json.dumps(literal), json.dumps(f"<L{number}>"))
    return text, known


def expression(text):
    """Matches what has the words of a template, and the same value for the same slot."""
    seen, parts = set(), []
    for part in re.split(r"(<[FL]\d+>)", text):
        name = part[1:-1]
        if not _SLOT.fullmatch(part):
            parts.append(re.escape(part))
        elif name in seen:
            parts.append(f"(?P={name})")
        else:
            seen.add(name)
            parts.append(f"(?P<{name}>{_FILE.pattern if name[0] == 'F' else '.+?'})")
    return re.compile("".join(parts))


def filled(plan, values):
    for slot, value in values.items():
        plan = plan.replace(f"<{slot}>", json.dumps(value)[1:-1])
    return json.loads(plan)


def similarity(first, second):
    one, other = (set(re.findall(r"[a-z]+", text.lower())) for text in (first, second))
    return len(one & other) / max(len(one | other), 1)


def share_solved(planner, suite):
    scores = [judge(suite=suite, task=task, value=planner.plan(task.text)).judgement.SE for task in suite.tasks]
    return sum(scores) / len(scores)


@pytest.mark.parametrize("slug", SUITES)
@pytest.mark.parametrize("seed", SEEDS)
def test_hardly_any_hidden_sentence_is_a_public_one(slug, seed):
    """Only questions about scenes are, which have to be those that the miniature world's experts understand."""
    public = set().union(*(sentences(task.text) for task in suite_of(slug).tasks))
    said = [one for task in hidden(slug, seed).tasks for one in sentences(task.text)]
    assert len(said) > len(suite_of(slug).tasks)
    shared = [one for one in said if one in public]
    assert len(shared) <= 0.01 * len(said)
    assert all(one.startswith(("how many things", "what shape is", "what colour is", "is there")) for one in shared)


def test_no_phrase_is_a_public_wording():
    rows = [row for groups in (MINI, WORLD) for group in groups.values() for row in group]
    public = {wording for row in rows for wording in wordings(row)}
    phrases = {phrase for facts in WISHES.values() for kind in ("do", "get", "say") for phrase in facts.get(kind, ())}
    assert len(phrases) > 300
    assert not {bare(one) for one in phrases} & {bare(one) for one in public}
    own = {bare(wording) for group in MINI.values() for row in group for wording in wordings(row)}
    others = {bare(sentence) for sentences in PARAPHRASES.values() for sentence in sentences}
    assert len(others) > 40
    assert not others & own


def wordings(row):
    for sentence in sentences_of(row) if not isinstance(row, dict) else row["one_image"]:
        yield from wordings(sentence) if isinstance(sentence, dict) else (sentence[1],)


def bare(wording):
    """A wording with its slots alike."""
    return " ".join(re.findall(r"\w+", re.sub(r"\{\w+\}", "X", wording.lower())))


@pytest.mark.parametrize(("slug", "public"), [("toolmini", 0.9), ("toolworld", 0.9)])
def test_a_memoriser_of_templates_solves_the_public_requests_and_hardly_any_hidden_one(slug, public):
    planner = Memoriser(suite_of(slug).tasks)
    assert share_solved(planner, suite_of(slug)) >= public
    assert share_solved(planner, hidden(slug)) <= 0.2


@pytest.mark.parametrize("slug", ["toolmini", "toolworld"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_request_and_its_paraphrase_name_all_that_the_goal_wants(slug, seed):
    for task in hidden(slug, seed).tasks:
        for text in (task.text, task.other_words):
            wanted = [part.target.removeprefix("The new image shows ").rstrip(".") for part in task.goal.parts]
            # The prompt of a picture that is worked on further has the scene and one more thing.
            names = [name for one in wanted for name in (re.split(" and an? ", one) if one in task.plain else [one])]
            unsaid = [one for one in names if one not in text and not mentions(text=text, name=one)]
            assert all(one.startswith(("Describe", "Is there")) for one in unsaid), (unsaid, text)
            assert all(name in text for name in task.resources), text


def test_seasons_use_other_parts_of_the_grammar():
    first, second = (Speech(seed) for seed in ("one", "two"))
    assert first.words["objects"] != second.words["objects"]
    assert first.phrases("count", "do") != second.phrases("count", "do")
    assert Speech("one").phrases("count", "do") == first.phrases("count", "do")


@pytest.mark.parametrize("slug", SUITES)
def test_files_come_in_an_order_that_tells_nothing(slug):
    for task in hidden(slug).tasks:
        assert list(task.resources) == sorted(task.resources)
