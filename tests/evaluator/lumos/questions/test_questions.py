"""HotpotQA and StrategyQA: when they are there, what their tools find, and how answers are scored."""

import json

import pytest

from evaluator.core.records import Outcome, Reason
from evaluator.core.suites import registry
from evaluator.core.suites.registry import suite_names, suite_of
from evaluator.core.turns import TurnResponse
from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.episodes.turns.environment import Call, Made, Refused
from evaluator.execution.engine.store import LocalStore
from evaluator.lumos.mounted import VARIABLE
from evaluator.lumos.questions.environment import score_verdict
from evaluator.lumos.questions.source import (
    DISTRACTORS,
    EVIDENCE,
    QuestionFileError,
    read_distractors,
    read_evidence,
    read_questions,
)
from evaluator.planners.bundled import bundled_planner
from evaluator.replies.turns.actions import read_actions
from evaluator.scoring.rating import VARIABLE as RATER
from evaluator.scoring.rating import with_ratings
from tests.evaluator.episodes.turns.toy import Answers
from tests.evaluator.lumos.questions.conftest import FILM
from tests.evaluator.scoring.arbiters.arbiter_server import MODEL

BOTH = ("hotpotqa", "strategyqa")


def setting(path, *, profile: str = "lilliput") -> Setting:
    return Setting(profile=profile, open_store=lambda: LocalStore(path / "store"))


def ran(environment, action: str, **values: str):
    """What one action gives."""
    (read,) = read_actions(text=action, tools=("KnowledgeQuery", "ParagraphRetrieve", "QA", "Calculator")).actions
    call = Call(
        scope="", tool=read.tool, arguments=read.raw, references=read.references, values=values,
        outputs=len(read.outputs),
    )  # fmt: skip
    return environment.run([call])[0]


@pytest.mark.parametrize(("slug", "place"), [("hotpotqa", DISTRACTORS), ("strategyqa", EVIDENCE)])
def test_without_the_operators_file_it_is_unavailable_too(slug, place, mounted):
    path = place.path(place.files[0])
    path.unlink()
    assert slug not in suite_names()
    with pytest.raises(LookupError, match=f"{path} is missing. Mount .* {VARIABLE}"):
        suite_of(slug)
    with pytest.raises(SettingError, match="is missing"):
        episode_of(slug).rules_digest("lilliput")


def test_with_all_files_both_suites_are_there(mounted):
    assert set(BOTH) <= set(suite_names())
    hotpotqa, strategyqa = map(suite_of, BOTH)
    assert (len(hotpotqa.tasks), len(strategyqa.tasks)) == (7405, 2290)
    assert hotpotqa.tasks[1].answer == "Chief of Protocol"
    assert "53.2% of the right answers are no" in strategyqa.scoring
    assert "Contamination" in strategyqa.scoring


def test_with_a_rater_hotpotqa_has_the_accuracy_by_a_language_model(mounted, monkeypatch):
    monkeypatch.setenv(RATER, f"chat:http://127.0.0.1:9/v1#{MODEL}")
    registry.forget()
    hotpotqa, strategyqa = map(suite_of, BOTH)
    column = hotpotqa.rated.column
    assert column in hotpotqa.metrics
    assert MODEL in column.description
    assert strategyqa.rated is None
    evaluator = episode_of("hotpotqa").evaluator(suite=hotpotqa, setting=setting(mounted))
    planner = bundled_planner(name="no-op", suite=hotpotqa)
    (record,) = with_ratings(evaluator.run(planner=planner, tasks=["1"]), suite=hotpotqa)
    assert record.indicators[column.key] == 0
    assert record.explanations[column.key] == "There is no answer, which is wrong without a vote."


def test_a_file_of_other_questions_is_refused(mounted):
    path = DISTRACTORS.path(DISTRACTORS.files[0])
    rows = json.loads(path.read_text())
    path.write_text(json.dumps(rows[1:]))
    with pytest.raises(LookupError, match=r"lacks 1 of the questions, for example 'Were Scott Derrickson"):
        suite_of("hotpotqa")


def test_the_rules_change_with_the_paragraphs(mounted):
    before = episode_of("strategyqa").rules_digest("lilliput")
    path = EVIDENCE.path(EVIDENCE.files[0])
    path.write_text(path.read_text().replace("thin layer", "thick layer"))
    assert episode_of("strategyqa").rules_digest("lilliput") != before


def test_articles_and_paragraphs_are_found_in_the_closed_corpus(mounted):
    found = episode_of("hotpotqa").environment(setting(mounted))
    knowledge = ran(found, f"R1 = KnowledgeQuery({FILM})")
    assert knowledge == Made((f"{FILM}\nKiss and Tell is a film. Shirley Temple played Corliss Archer.",))
    by_words = ran(found, "R1 = KnowledgeQuery(the director born in Denver)")
    assert by_words.values[0].startswith("Scott Derrickson\n")
    paragraphs = ran(found, "R2 = ParagraphRetrieve(R1, Query: Who played Corliss Archer?)", R1=knowledge.values[0])
    assert paragraphs == Made(("Kiss and Tell is a film. Shirley Temple played Corliss Archer.",))
    assert ran(found, "R3 = Calculator(1945 + 10)") == Made(("1955",))
    assert isinstance(ran(found, "R4 = KnowledgeQuery(zzzz)"), Refused)


def test_evidence_keeps_the_order_of_its_article(mounted):
    articles = {article.title: article.paragraphs for article in read_evidence(EVIDENCE.path(EVIDENCE.files[0]))}
    assert articles["Frost"] == ("Frost is a thin layer of ice.", "Frost is common in winter, from December on.")


def test_every_gold_solution_can_be_read_and_finds_its_articles(mounted):
    """With the supporting articles of the file; the reader answers, so that the answer may be wrong."""
    suite = suite_of("hotpotqa")
    assert {len(task.gold.steps) for task in suite.tasks} == {3}
    evaluator = episode_of("hotpotqa").evaluator(suite=suite, setting=setting(mounted))
    (record,) = evaluator.run(planner=bundled_planner(name="gold", suite=suite), tasks=["1"])
    assert record.outcome is Outcome.SCORED
    actions = record.transcripts[0].turns[0].actions
    assert [action.problem for action in actions] == [None, None, None]
    assert [action.tool for action in actions] == ["KnowledgeQuery", "KnowledgeQuery", "QA"]
    assert record.transcripts[0].expected == "Chief of Protocol"
    assert record.indicators["f1"] >= record.indicators["solved"]


def test_the_declared_majority_is_what_the_benchmark_calls_its_baseline(mounted):
    suite = suite_of("strategyqa")
    evaluator = episode_of("strategyqa").evaluator(suite=suite, setting=setting(mounted))
    keys = [task.key for task in suite.tasks]
    records = list(evaluator.run(planner=bundled_planner(name="majority", suite=suite), tasks=keys))
    assert sum(record.score for record in records) / len(records) == pytest.approx(0.532, abs=0.0005)


def test_a_mute_planner_scores_nothing_where_lumos_would_count_it(mounted):
    suite = suite_of("strategyqa")
    key = next(task.key for task in suite.tasks if task.answer == "no")
    evaluator = episode_of("strategyqa").evaluator(suite=suite, setting=setting(mounted))
    (record,) = evaluator.run(planner=Answers(lambda _: TurnResponse(stop=True)), tasks=[key])
    assert (record.reason, record.score, record.indicators) == (Reason.ABSTAINED, 0.0, {})


@pytest.mark.parametrize("answer", ["No, I cannot answer this.", "I'm sorry, I can't.", "As an AI, I don't know."])
def test_a_refusal_in_words_is_unreadable_and_no_verdict(mounted, answer):
    suite = suite_of("strategyqa")
    key = next(task.key for task in suite.tasks if task.answer == "no")
    evaluator = episode_of("strategyqa").evaluator(suite=suite, setting=setting(mounted))
    (record,) = evaluator.run(planner=Answers(lambda _: TurnResponse(answer=answer)), tasks=[key])
    assert (record.outcome, record.reason, record.score) == (Outcome.PLANNER_FAULT, Reason.UNPARSABLE_PLAN, 0.0)
    assert "it is a refusal in words" in record.reason_text


@pytest.mark.parametrize(
    ("answer", "reference", "solved", "as_lumos"),
    [("Yes.", "yes", 1, 1), ("no", "no", 1, 1), ("True", "yes", 1, 0), ("maybe", "no", 0, 1), ("", "yes", 0, 0),
     ("No, yesterday", "no", 1, 0), ("No, it is not possible.", "no", 1, 1), ("No, I can't say.", "no", 0, 1)],
)  # fmt: skip
def test_verdicts_are_yes_or_no(answer, reference, solved, as_lumos):
    assert score_verdict(answer=answer, reference=reference) == {"solved": solved, "as_lumos": as_lumos}


@pytest.mark.parametrize(
    ("read", "content", "named"),
    [
        (read_questions, "[", "cannot be read"), (read_questions, "{}", "no list of objects"),
        (read_questions, '[{"question": "Who?"}]', "entry 0 lacks a question or an answer"),
        (read_distractors, '[{"question": "Who?", "context": 3}]', "entry 0 lacks question, context"),
        (read_distractors, '[{"question": "W", "context": [["a"]], "supporting_facts": []}]', "entry 0"),
        (read_evidence, "[]", "no object of paragraphs"),
        (read_evidence, '{"a": {"title": "b"}}', "paragraph 'a' lacks"),
        (read_evidence, "[" * 100_000, "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_named_with_the_entry(read, content, named, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(QuestionFileError, match=f"file.json.*{named}"):
        read(path)
