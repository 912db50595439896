"""`soundworld`: its requests, its hidden siblings, and gold plans against damaged ones."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from evaluator.controlllm.soundworld.requests import KINDS, RESULTS, hidden_requests, public_requests
from evaluator.controlllm.soundworld.suite import SoundTask, sound_samples, sound_task, soundworld_suite
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import Plan, plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import encode
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import load_profile
from evaluator.planners.attacks.base import PlansOf

SUITE = suite_of("soundworld")
SEED = "a seed of sixteen or more letters"
OFFERED = frozenset(load_profile("lilliput-sound").experts)


def test_sixty_requests_have_distinct_texts_and_valid_gold_plans() -> None:
    assert len(SUITE.tasks) == len({task.text for task in SUITE.tasks}) == 60
    for task in SUITE.tasks:
        assert task.gold is not None
        assert not check_plan(plan=task.gold, context=SUITE.context(task=task, offered=OFFERED)), task.key


def test_every_kind_of_request_occurs_and_names_its_files() -> None:
    counted = Counter(part.kind for request in public_requests() for part in request.parts)

    assert set(counted) == set(KINDS)
    for request in public_requests():
        assert all(name in request.text and name in request.other_words for name in request.resources)
        assert not re.search(r"[{}]", request.text + request.other_words)
        assert request.other_words != request.text


def test_hidden_requests_have_the_facts_of_public_ones_and_none_of_their_sentences() -> None:
    hidden = hidden_requests(seed=SEED)
    public = public_requests()

    assert [request.key for request in hidden] == [request.key for request in public]
    for own, other in zip(map(sound_task, hidden), map(sound_task, public), strict=True):
        assert (own.metric, own.structure, own.attributes) == (other.metric, other.structure, other.attributes)
        assert list(own.resources.values()) == list(other.resources.values())
    assert not {request.text for request in hidden} & {request.text for request in public}
    patterns = [{*kind["public"]} & {*kind["hidden"]} for kind in KINDS.values()]
    assert not any(patterns)
    assert hidden_requests(seed=SEED + "!")[0].text != hidden[0].text


def test_samples_are_the_same_every_time_and_differ_between_samples_splits_and_seeds() -> None:
    task = SUITE.task("dub/0")
    public, validation = (sound_samples(profile="lilliput", split=split, hidden_seed=None) for split in
                          ("public", "validation"))  # fmt: skip
    hidden = sound_samples(profile="lilliput", split="hidden", hidden_seed=SEED)
    digests = [
        tuple(encode(value).digest for value in source.inputs(task=task, index=index).values())
        for source in (public, public, validation, hidden)
        for index in range(2)
    ]

    assert digests[:2] == digests[2:4]
    assert len(set(digests)) == 6
    with pytest.raises(ValueError, match="hidden split needs"):
        sound_samples(profile="lilliput", split="hidden", hidden_seed=None)
    with pytest.raises(LookupError, match="no data under profile paper"):
        sound_samples(profile="paper", split="public", hidden_seed=None)


def test_selected_classes_are_there_in_some_samples_only() -> None:
    source = sound_samples(profile="lilliput", split="public", hidden_seed=None)
    references = [source.reference(task=SUITE.task("select/0"), index=index) for index in range(12)]

    assert {len(reference.items) for reference in references} == {0, 1}  # type: ignore[union-attr]


def test_tools_for_sound_are_offered_here_and_nowhere_else() -> None:
    own, other = (episode_of(slug).offered(suite=suite_of(slug), profile="lilliput") for slug in
                  ("soundworld", "toolworld"))  # fmt: skip

    assert own - other == {
        "text_to_speech", "text_to_music", "speech_to_text", "audio_classification", "dub_video",
        "image_audio_to_video",
    }  # fmt: skip
    assert not other - own


def _scores(plans: dict[str, Plan], *, samples: int = 1) -> dict[str, float]:
    setting = Setting(profile="lilliput", split="public", samples=samples, open_store=MemoryStore)
    evaluator = episode_of("soundworld").evaluator(suite=SUITE, setting=setting)
    planner = PlansOf("scripted", lambda request: plan_to_json(plans[request.task.id]))
    return {record.task: record.score or 0.0 for record in evaluator.run(planner=planner, tasks=list(plans))}


ONE_OF_EACH = [f"{kind}/0" for kind in KINDS if kind not in ("draw_said", "narrate_clip")] + ["several/0", "several/1"]
"""Without those whose experts for pictures and clips make mistakes."""


def test_gold_plans_score_one_where_experts_make_no_mistakes_and_damaged_plans_less() -> None:
    gold = {key: SUITE.task(key).gold for key in ONE_OF_EACH}
    found = _scores(gold)  # type: ignore[arg-type]
    damaged = {key: _damaged(SUITE.task(key)) for key in ONE_OF_EACH if key != "select/0"}  # type: ignore[arg-type]
    worse = _scores({key: plan for key, plan in damaged.items() if plan is not None})

    assert all(score > 0.9 for score in found.values()), found
    assert set(worse) == {"speak/0", "compose/0", "score_film/0", "spoken_film/0", "several/1"}
    assert all(score < found[key] - 0.05 for key, score in worse.items()), worse


def _damaged(task: SoundTask) -> Plan | None:
    """The gold plan with another text, or with the sound itself as a result; None if it has neither."""
    assert task.gold is not None
    steps = [
        replace(step, inputs={name: _other_text(value) for name, value in step.inputs.items()})
        for step in task.gold.steps
    ]
    plan = replace(task.gold, steps=tuple(steps))
    return plan if plan != task.gold else None


def _other_text(value: str) -> str:
    return value if value.startswith("$") or re.match(r"s\d\.", value) else "Twelve slow sad organ things in the park"


def test_results_have_the_types_of_their_kinds() -> None:
    assert {kind: RESULTS[str(row["want"])][1] for kind, row in KINDS.items()}["dub"] is ResourceType.VIDEO
    assert soundworld_suite().digest == SUITE.digest
