"""Executed suites step by step: experts between the turns, scores of whole plans, failures and hostile replies."""

import base64
import io
import random
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from evaluator.core.planner import PlannerError
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import Outcome, PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Panel
from evaluator.core.suites.hidden import HiddenSeed
from evaluator.core.suites.registry import step_by_step_of, suite_of, whole_plans_of
from evaluator.core.transcripts import MOST_BYTES, ActionProblem, StopReason
from evaluator.core.turns import TurnReply, TurnRequest, TurnResponse
from evaluator.episodes.base import Evaluator, Setting, SettingError, episode_of
from evaluator.episodes.turns.expert_tools import ExpertTools, Failed
from evaluator.episodes.turns.interactive import step_by_step
from evaluator.execution.engine.jobs import FailureKind
from evaluator.execution.engine.store import LocalStore
from evaluator.openagi.entry import SUITES
from evaluator.planners.bundled import bundled_planner
from tests.evaluator.episodes.turns.stepping import IMAGE, SLUG, TEXT, evaluator, run, script
from tests.evaluator.episodes.turns.toy import Answers
from tests.rings import usual

SEASON = next(entry for entry in SUITES if entry.slug == "openagi-season")


class TestTheSameScores:
    @pytest.mark.parametrize(
        ("slug", "tasks", "samples"),
        usual(
            [
                ("openagi", ("0", "60", "184"), 2),
                ("openagi", ("5", "100", "120"), 3),
                ("toolworld", ("0", "1", "2", "40", "90"), 2),
            ],
            of=[("openagi", ("0", "60", "184"), 2)],
        ),
    )
    def test_gold_plans_score_what_they_score_as_whole_plans(self, folder, slug, tasks, samples):
        """Same samples, same calls, same scorers: equal to the last digit, sample by sample."""
        keys = [suite_of(slug).tasks[int(place)].key for place in tasks]
        result: dict[str, dict[str, ResultRecord]] = {}
        for form in (slug, step_by_step_of(slug)):
            one = evaluator(folder, form, samples=samples)
            planner = bundled_planner(name="gold", suite=one.suite)
            result[form] = {record.task: record for record in one.run(planner=planner, tasks=keys)}
        whole, turns = result.values()
        assert whole.keys() == turns.keys() == set(keys)
        for key in keys:
            assert turns[key].outcome is Outcome.SCORED
            assert turns[key].score == pytest.approx(whole[key].score, abs=1e-9, rel=0)
            assert [one.score for one in turns[key].samples] == [one.score for one in whole[key].samples]
            assert [one.answer for one in turns[key].samples] == [one.answer for one in whole[key].samples]
            assert [one.reference for one in turns[key].samples] == [one.reference for one in whole[key].samples]
            shared = whole[key].indicators
            assert {name: turns[key].indicators[name] for name in shared} == pytest.approx(shared)
            assert len(turns[key].transcripts) == samples
            assert {one.stop for one in turns[key].transcripts} == {StopReason.COMPLETED}

    def test_one_action_at_a_time_is_the_same_as_the_whole_plan(self, folder):
        names = suite_of(SLUG).task(IMAGE).gold.tools()
        actions = [
            {"actions": f"R{place} = {name}({'$image' if place == 1 else f'R{place - 1}'})"}
            for place, name in enumerate(names, start=1)
        ]
        turns = evaluator(folder, samples=2)
        (record,) = run(turns, script(*actions), IMAGE)
        (whole,) = turns.run(planner=bundled_planner(name="gold", suite=turns.suite), tasks=[IMAGE])
        assert (record.score, record.plan) == (whole.score, whole.plan)
        assert [one.steps[-1].key for one in record.samples] == [one.steps[-1].key for one in whole.samples]
        assert record.indicators["exact"] == 1.0
        assert record.indicators["turns"] == len(names) + 1
        assert {one.stop for one in record.transcripts} == {StopReason.STOPPED}


class TestWhatPlannersSee:
    def test_results_are_words_and_sizes_and_nothing_of_the_reference_is_sent(self, folder):
        asked: list[TurnRequest] = []

        def answer(request: TurnRequest) -> TurnResponse:
            asked.append(request)
            return script({"actions": "R1 = Image Denoising($image)"}, {"actions": "R2 = image_captioning(R1)"})(
                request
            )

        (record,) = run(evaluator(folder, samples=2), answer, TEXT)
        assert record.outcome is Outcome.SCORED
        last = max(asked, key=lambda request: len(request.history))
        denoised, captioned = (turn.results[0].outputs for turn in last.past)
        words = captioned["R2"]
        assert denoised == {"R1": f"a picture of 64x64 pixels: {words}"}
        references = {one.expected for one in record.transcripts}
        assert all(references)
        sent = "".join(request.model_dump_json() for request in asked)
        assert not any(reference in sent for reference in references if reference not in words)
        assert "digest" not in sent
        assert not any(one.reference.digest in sent for one in record.samples if one.reference)

    def test_pictures_are_sent_to_planners_that_accept_them(self, folder):
        asked: list[TurnRequest] = []

        def answer(request: TurnRequest) -> TurnResponse:
            asked.append(request)
            first = {"actions": "R1 = Image Denoising($image)", "accepts": ["image/webp", "image/png"]}
            return script(first, {"actions": "R2 = Image Captioning(R1)"})(request)

        (record,) = run(evaluator(folder), answer, TEXT)
        (picture,) = asked[1].past[0].results[0].pictures.values()
        decoded = Image.open(io.BytesIO(base64.b64decode(picture, validate=True)))
        assert (decoded.format, decoded.size) == ("PNG", (64, 64))
        assert asked[2].past[1].results[0].pictures == {}
        assert picture not in record.model_dump_json(), "records name the artefact"


class TestActions:
    @pytest.mark.parametrize(
        ("action", "problem", "sentence"),
        [
            ("R1 = Image Sharpening($image)", ActionProblem.UNKNOWN_TOOL, "There is no tool 'Image Sharpening'"),
            ("R1 = Image Denoising(R7)", ActionProblem.BAD_REFERENCE, "'R7', which names no result; there are: $image"),
            ("R1 = Image Denoising(a photo)", ActionProblem.BAD_REFERENCE, "'a photo', which names no result"),
            ("R1 = Image Denoising()", ActionProblem.BAD_ARGUMENTS, "Image Denoising takes image (image)"),
            ("R1 = Machine Translation($image)", ActionProblem.BAD_ARGUMENTS, "is $image, which is image"),
            ("R1, R2 = Image Denoising($image)", ActionProblem.BAD_ARGUMENTS, "The action names 2 results"),
        ],
    )
    def test_what_is_wrong_is_a_sentence_and_the_episode_goes_on(self, folder, action, problem, sentence):
        (record,) = run(evaluator(folder), script({"actions": action}, {"actions": "R1 = Colorization($image)"}), IMAGE)
        first, second = (turn.actions[0] for turn in record.transcripts[0].turns[:2])
        assert first.problem is problem
        assert sentence in first.error
        assert second.problem is None
        assert record.outcome is Outcome.SCORED
        assert [step["tool"] for step in record.plan["steps"]] == ["Colorization"]

    def test_a_text_may_stand_in_an_action(self, folder):
        given = script({"actions": "R1 = Machine Translation('A cat, a dog (R9).')"}, {"answer": "R1"})
        (record,) = run(evaluator(folder), given, TEXT)
        assert record.samples[0].steps[0].outputs["text"] == record.samples[0].answer
        assert record.plan["steps"][0]["inputs"] == {"text": "A cat, a dog (R9)."}

    @pytest.mark.parametrize("name", ["image", "$other"])
    def test_results_may_not_be_called_like_inputs(self, folder, name):
        step = {"id": "a", "tool": "Colorization", "inputs": {"image": "$image"}, "outputs": {"image": name}}
        answer = script({"steps": [step]}, {"actions": "R1 = Colorization($image)"})
        (record,) = run(evaluator(folder), answer, IMAGE)
        first, second = (turn.actions[0] for turn in record.transcripts[0].turns[:2])
        assert first.error == f"{name} is the name of an input of the request; call the result otherwise."
        assert second.problem is None


class TestAnswers:
    @pytest.mark.parametrize(
        ("answer", "sentence"),
        [
            ("a red star", "'a red star' is none; there are: $image, R1"),
            ("R1", "The answer R1 is image; this request expects text."),
            ("R1, R1", "The answer is 1 result (text); this names R1, R1."),
            ("", "The answer names no result"),
        ],
    )
    def test_an_answer_must_name_a_result_of_the_right_type(self, folder, answer, sentence):
        """Experts are what is measured: words of the planner's own are no answer."""
        turns = (
            {"actions": "R1 = Image Denoising($image)"},
            {"answer": answer},
            {"actions": "R2 = Image Captioning(R1)"},
        )
        (record,) = run(evaluator(folder), script(*turns), TEXT)
        assert sentence in record.transcripts[0].turns[1].error
        assert record.transcripts[0].stop is StopReason.STOPPED
        assert record.score


class TestFailures:
    def test_a_planner_is_at_fault_only_if_it_fails_on_all_samples(self, folder):
        record = self._with_failures(folder, failing={1})
        assert (record.outcome, record.transcripts[1].stop) == (Outcome.SCORED, StopReason.CALL_FAILED)
        assert record.samples[1].score == 0.0
        record = self._with_failures(folder, failing={0, 1})
        assert (record.outcome, record.reason) == (Outcome.PLANNER_FAULT, Reason.PLANNER_TIMEOUT)
        assert record.score == 0.0

    def test_failing_experts_and_unreachable_planners_are_infrastructure_faults(self, folder, monkeypatch):
        record = self._with_failures(folder, failing={1}, reason=Reason.ENDPOINT_UNAVAILABLE)
        assert (record.outcome, record.score) == (Outcome.INFRA_FAULT, None)
        failed = Failed(kind=FailureKind.EXPERT, message="It fell over.")
        monkeypatch.setattr(ExpertTools, "run", lambda _, calls: [failed] * len(calls))
        (record,) = run(evaluator(folder), script({"actions": "R1 = Image Captioning($image)"}), TEXT)
        assert (record.outcome, record.reason_text) == (Outcome.INFRA_FAULT, "It fell over.")

    @staticmethod
    def _with_failures(folder: Path, *, failing: set[int], reason: Reason = Reason.PLANNER_TIMEOUT) -> ResultRecord:
        class Late(Answers):
            def turn(self, request: TurnRequest) -> TurnReply:
                if int(request.key.split("/")[2]) in failing:
                    raise PlannerError(reason=reason, message="Too late.", call=PlannerCall(seconds=1.0))
                return super().turn(request)

        planner = Late(script({"actions": "R1 = Image Captioning($image)"}))
        (record,) = evaluator(folder, samples=2).run(planner=planner, tasks=[TEXT])
        return record


class TestConditions:
    def test_a_step_by_step_form_has_the_tasks_and_columns_of_its_suite(self):
        whole, turns = suite_of("openagi"), suite_of(SLUG)
        assert (whole_plans_of(SLUG), step_by_step_of("openagi")) == ("openagi", SLUG)
        assert whole_plans_of("openagi") == step_by_step_of("toolmini") == ""
        assert turns.tasks == whole.tasks
        assert turns.digest != whole.digest
        assert turns.conditions == whole.conditions
        assert turns.panels == (Panel.TRANSCRIPT, *whole.panels)
        assert [column.key for column in turns.metrics][: len(whole.metrics)] == [one.key for one in whole.metrics]
        episode = episode_of(SLUG)
        assert (episode.executes, episode.in_turns) == (True, True)
        assert episode.offered(suite=turns, profile="lilliput") == episode_of("openagi").offered(
            suite=whole, profile="lilliput"
        ) & frozenset(turns.catalogue.tools)

    def test_data_are_those_of_whole_plans_and_rules_are_not(self):
        setting = Setting(profile="lilliput", split="public")
        digests = [episode_of(slug).data_digest(suite=suite_of(slug), setting=setting) for slug in ("openagi", SLUG)]
        assert digests[0] == digests[1]
        # Hidden data of two suites have commitments, and so digests, of their own.
        hidden = replace(setting, split="hidden", hidden=HiddenSeed("5eed" * 16, season="one"))
        assert episode_of(SLUG).data_digest(suite=suite_of(SLUG), setting=hidden) != episode_of("openagi").data_digest(
            suite=suite_of("openagi"), setting=hidden
        )
        rules = [episode_of(slug).rules_digest("lilliput") for slug in ("openagi", SLUG, "toolworld-turns")]
        assert len(set(rules)) == 3
        with pytest.raises(SettingError, match="no profile"):
            episode_of(SLUG).rules_digest("none")

    def test_the_hidden_split_has_other_words_and_names(self, folder):
        asked: list[TurnRequest] = []

        def answer(request: TurnRequest) -> TurnResponse:
            asked.append(request)
            return script({"actions": "R1 = Image Captioning($image)"})(request)

        turns = evaluator(folder, split="hidden", hidden=HiddenSeed("secret", season="one"))
        (record,) = run(turns, answer, TEXT)
        public = suite_of(SLUG).task(TEXT)
        assert record.task == TEXT
        assert asked[0].task.id != TEXT
        assert asked[0].task.request != public.text
        assert TEXT not in asked[0].key.split("/")[1]
        with pytest.raises(SettingError, match="hidden split needs its secret seed"):
            evaluator(folder, split="hidden")


@pytest.mark.parametrize("seed", usual(range(3), of=[0]))
def test_no_reply_makes_an_exception(folder, seed):
    """Pieces of right replies in any order: each gets a result or a sentence."""
    rng = random.Random(seed)
    pieces = ["R1", "R2", "$image", "$", "=", "(", ")", "[", "]", '"', "'", ",", ";", "\n", "Image Denoising", "image",
              "Image Captioning", "text", ":", "s1.image", "\u0000", "\N{SNOWMAN}", "Output"]  # fmt: skip

    def text() -> str:
        return "".join(rng.choices(pieces, k=rng.randrange(12)))

    def reply() -> dict[str, object]:
        step = {"id": text(), "tool": rng.choice([*pieces, text()]), "inputs": {text(): text(), "image": "$image"},
                "outputs": {rng.choice(["image", text()]): text()}}  # fmt: skip
        return rng.choice(
            [
                {"actions": text()}, {"actions": f"R1 = Image Denoising({text()})"}, {"answer": text()},
                {"steps": [step, step]}, {"steps": [step]}, {"subgoal": text()}, {"text": text()},
                {"actions": "R1 = Image Denoising($image); R2 = Image Captioning(R1)", "accepts": [text(), 7]},
            ]
        )  # fmt: skip

    keys = [task.key for task in suite_of(SLUG).tasks if list(task.resources) == ["image"]][:20]
    turns = {(key, number): TurnResponse.model_validate(reply()) for key in keys for number in range(30)}
    records = run(evaluator(folder), lambda request: turns[request.task.id, len(request.history)], *keys)
    assert {record.reason for record in records} <= {None, Reason.ABSTAINED, Reason.UNPARSABLE_PLAN}
    for record in records:
        actions = [action for turn in record.transcripts[0].turns for action in turn.actions]
        assert all(bool(action.error) == (action.problem is not None) for action in actions)


class TestBounds:
    def test_names_and_texts_are_bounded(self, folder):
        step = {"id": "a", "tool": "Machine Translation", "inputs": {"text": "x" * 20_000}, "outputs": {"text": "R1"}}
        long = {"id": "a", "tool": "Colorization", "inputs": {"image": "$image"}, "outputs": {"image": "y" * 101}}
        (record,) = run(evaluator(folder), script({"steps": [step]}, {"steps": [long]}), IMAGE)
        errors = [turn.actions[0].error for turn in record.transcripts[0].turns[:2]]
        assert errors[0] == 'The input "text" has 20000 characters; at most 16384 are read.'
        assert errors[1] == "The name of a result has at most 100 characters."

    def test_a_record_of_many_long_episodes_is_small_enough_to_be_kept(self, folder):
        """A site refuses records of more than 8 MiB."""
        text = "\N{SNOWMAN}" * 60_000
        action = "; ".join(f"R{number} = Machine Translation({text[:900]})" for number in range(1, 3))

        def answer(request: TurnRequest) -> TurnResponse:
            return TurnResponse(subgoals=[text] * 15, actions=action)

        (record,) = run(evaluator(folder, samples=8), answer, TEXT)
        assert [one.stop for one in record.transcripts] == [StopReason.TURN_LIMIT] * 8
        assert sum(len(one.model_dump_json().encode()) for one in record.transcripts) <= MOST_BYTES
        assert len(record.model_dump_json().encode()) < 8 * 2**20
        assert record.transcripts[7].turns[0].subgoals[0].startswith("\N{SNOWMAN}" * 30)


def season(folder: Path, *, in_turns: bool, keys: list[str], samples: int = 2) -> Evaluator:
    """Some of the generated requests in one of two forms; some want several answers, and some cannot be met."""
    whole = SEASON
    entry = step_by_step(whole, caption="Image Captioning") if in_turns else whole
    built = entry.build()
    suite = replace(built, tasks=tuple(task for task in built.tasks if task.key in keys))
    setting = Setting(profile="lilliput", split="public", samples=samples, open_store=lambda: LocalStore(folder))
    return entry.episode.evaluator(suite=suite, setting=setting)


class TestOtherRequests:
    @pytest.fixture(scope="class")
    def keys(self) -> dict[str, list[str]]:
        tasks = SEASON.build().tasks
        return {
            "several": [task.key for task in tasks if len(task.answers) > 1][:3],
            "impossible": [task.key for task in tasks if task.metric == ABSTENTION][:2],
            "same type": [
                task.key for task in tasks
                if task.metric != ABSTENTION and task.expects in task.resources.values() and len(task.answers) == 1
            ][:2],
        }  # fmt: skip

    @pytest.mark.parametrize("plans", usual(["gold", "none"], of=["none"]))
    def test_several_answers_and_abstentions_score_what_they_score_as_whole_plans(self, folder, keys, plans):
        wanted = [key for result in keys.values() for key in result]
        assert len(wanted) == 7
        scores, outcomes = [], []
        for in_turns in (False, True):
            turns = season(folder, in_turns=in_turns, keys=wanted)
            nothing = {"steps": [], "answers": []}
            abstaining = GivenPlans({key: GivenPlan(nothing) for key in wanted}, name="abstains")
            planner = bundled_planner(name="gold", suite=turns.suite) if plans == "gold" else abstaining
            records = {record.task: record for record in turns.run(planner=planner, tasks=wanted)}
            scores.append({key: record.score for key, record in records.items()})
            outcomes.append({record.outcome for record in records.values()})
        assert scores[0] == pytest.approx(scores[1], abs=1e-9, rel=0)
        assert [scores[1][key] for key in keys["impossible"]] == [1.0, 1.0]
        assert outcomes[1] == outcomes[0]

    def test_a_planner_that_stops_at_once_abstains(self, folder, keys):
        wanted = [*keys["impossible"], *keys["same type"]]
        records = run(season(folder, in_turns=True, keys=wanted), script(), *wanted)
        assert [record.score for record in records[:2]] == [1.0, 1.0]
        assert [record.score for record in records[2:]] == [0.0] * len(keys["same type"])

    def test_several_answers_are_the_results_that_nothing_took_or_those_that_are_named(self, folder, keys):
        (key, *_) = keys["several"]
        turns = season(folder, in_turns=True, keys=[key])
        gold = turns.suite.task(key).gold
        steps = [{"id": one.id, "tool": one.tool, "inputs": dict(one.inputs), "outputs": dict(one.outputs)}
                 for one in gold.steps]  # fmt: skip
        named, stopped, short = (
            run(turns, script({"steps": steps}, last), key)[0]
            for last in ({"answer": ", ".join(gold.answers)}, {"stop": True}, {"answer": gold.answers[0]})
        )
        assert named.score == stopped.score
        assert named.score
        assert [one.answer for one in named.samples] == [one.answer for one in stopped.samples]
        assert "The answer is 2 results" in short.transcripts[0].turns[1].error
