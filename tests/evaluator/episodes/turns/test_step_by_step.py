"""Executed suites step by step: real experts between the turns, and the scores of the suites of whole plans."""

import base64
import io

import pytest
from PIL import Image

from evaluator.planners.bundled import bundled_planner
from evaluator.planners.turns.protocol import TurnRequest, TurnResponse
from evaluator.records import Outcome, ResultRecord
from evaluator.suites.registry import step_by_step_of, suite_of
from evaluator.transcripts import ActionProblem, StopReason
from tests.evaluator.episodes.turns.stepping import IMAGE, SLUG, TEXT, evaluator, run, script
from tests.rings import usual


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
        found: dict[str, dict[str, ResultRecord]] = {}
        for form in (slug, step_by_step_of(slug)):
            one = evaluator(folder, form, samples=samples)
            planner = bundled_planner(name="gold", suite=one.suite)
            found[form] = {record.task: record for record in one.run(planner=planner, tasks=keys)}
        whole, turns = found.values()
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

    def test_what_a_plan_made_is_free_in_turns(self, tmp_path):
        whole, turns = evaluator(tmp_path, "openagi"), evaluator(tmp_path)
        for one in (whole, turns):
            list(one.run(planner=bundled_planner(name="gold", suite=one.suite), tasks=[TEXT]))
        assert whole.facts()["expert_calls"]
        caption = {"Image Captioning"}
        assert set(turns.facts()["expert_calls"]) <= caption, "only what planners are shown is new"

    def test_one_action_at_a_time_is_the_same_as_the_whole_plan(self, folder):
        names = suite_of(SLUG).task(IMAGE).gold.tools()
        actions = [
            {"actions": f"R{place} = {name}({'$image' if place == 1 else f'R{place - 1}'})"}
            for place, name in enumerate(names, start=1)
        ]
        found = evaluator(folder, samples=2)
        (record,) = run(found, script(*actions), IMAGE)
        (whole,) = found.run(planner=bundled_planner(name="gold", suite=found.suite), tasks=[IMAGE])
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
