"""What failures, kills, hostile replies and long episodes cost an executed suite in turns; and its conditions."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.episodes.base import Setting, SettingError
from evaluator.planners.protocol import PlannerError
from evaluator.planners.turns.protocol import TurnReply, TurnRequest, TurnResponse
from evaluator.records import Outcome, PlannerCall, Reason, ResultRecord
from evaluator.suites.base import Panel
from evaluator.suites.registry import episode_of, step_by_step_of, suite_of, whole_plans_of
from evaluator.transcripts import MOST_BYTES, StopReason
from tests.evaluator.episodes.turns.stepping import IMAGE, SLUG, TEXT, evaluator, run, script
from tests.evaluator.episodes.turns.toy import Answers
from tests.rings import usual


class TestFailures:
    def test_a_planner_that_fails_on_some_samples_gets_nothing_for_those(self, folder):
        record = self._with_failures(folder, failing={1})
        assert (record.outcome, record.transcripts[1].stop) == (Outcome.SCORED, StopReason.CALL_FAILED)
        assert record.samples[1].score == 0.0

    def test_an_unreachable_one_has_no_score(self, folder):
        record = self._with_failures(folder, failing={1}, reason=Reason.ENDPOINT_UNAVAILABLE)
        assert (record.outcome, record.score) == (Outcome.INFRA_FAULT, None)

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
        hidden = replace(setting, split="hidden", hidden_seed="5eed" * 16, season="one")
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

        found = evaluator(folder, split="hidden", hidden_seed="secret", season="one")
        (record,) = run(found, answer, TEXT)
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
    assert {record.outcome for record in records} == {Outcome.SCORED}
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
