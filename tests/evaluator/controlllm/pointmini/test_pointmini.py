"""`pointmini`: its requests and pictures, its hidden siblings, and gold plans against plans that do not point."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from evaluator.controlllm.pointmini.requests import KINDS, RESULTS, hidden_requests, public_requests
from evaluator.controlllm.pointmini.suite import PointingTask, pointing_samples, pointing_task, pointmini_suite
from evaluator.core.marks import MARK_TYPES, MarkKind, given_mark
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import encode
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import load_profile
from evaluator.planners.attacks.base import PlansOf

SUITE = suite_of("pointmini")
SEED = "a seed of sixteen or more letters"
OFFERED = frozenset(load_profile("lilliput").experts)
PUBLIC = pointing_samples(profile="lilliput", split="public", hidden_seed=None)


def task(key: str) -> PointingTask:
    found = SUITE.task(key)
    assert isinstance(found, PointingTask)
    return found


def test_sixty_requests_have_distinct_texts_and_valid_gold_plans() -> None:
    assert len(SUITE.tasks) == len({one.text for one in SUITE.tasks}) == 60
    for one in SUITE.tasks:
        assert one.gold is not None
        assert not check_plan(plan=one.gold, context=SUITE.context(task=one, offered=OFFERED)), one.key


def test_every_kind_of_request_and_mark_occurs_and_pictures_are_named() -> None:
    counted = Counter(part.kind for request in public_requests() for part in request.parts)
    marks = {mark.kind for request in public_requests() for mark in request.marks.values()}

    assert set(counted) == set(KINDS)
    assert marks == set(MarkKind)
    for request in public_requests():
        assert all(part.image in request.text and part.image in request.other_words for part in request.parts)
        assert not re.search(r"[{}]", request.text + request.other_words)
        assert request.other_words != request.text


def test_hidden_requests_have_the_facts_of_public_ones_and_none_of_their_sentences() -> None:
    hidden = hidden_requests(seed=SEED)
    public = public_requests()

    assert [request.key for request in hidden] == [request.key for request in public]
    for own, other in zip(map(pointing_task, hidden), map(pointing_task, public), strict=True):
        assert (own.metric, own.structure, own.attributes) == (other.metric, other.structure, other.attributes)
        assert list(own.resources.values()) == list(other.resources.values())
    assert not {request.text for request in hidden} & {request.text for request in public}
    assert not any({*kind["public"]} & {*kind["hidden"]} for kind in KINDS.values())
    assert hidden_requests(seed=SEED + "!")[0].text != hidden[0].text


def test_planners_are_given_the_places_of_all_marks() -> None:
    for one in SUITE.tasks:
        marks = {name: given_mark(value) for name, value in one.values_given.items()}
        kinds = {name: MARK_TYPES[mark.kind] for name, mark in marks.items() if mark is not None}
        assert kinds.items() <= dict(one.resources).items()
        assert len(kinds) == len(marks) >= 1
        assert one.to_json()["given"] == one.values_given


@pytest.mark.parametrize("source", ["public", "hidden"])
def test_points_and_strokes_lie_on_their_thing_in_every_sample(source: str) -> None:
    requests = public_requests() if source == "public" else hidden_requests(seed=SEED)
    samples = pointing_samples(profile="lilliput", split=source, hidden_seed=SEED if source == "hidden" else None)
    for one in map(pointing_task, requests):
        for part in one.parts:
            picture = samples.picture(task=one, part=part, index=1)
            if part.want == "count":
                continue
            for place, mark in enumerate(part.marks.values()):
                mask = picture.painting.mask(picture.number(place))
                if mark.kind is MarkKind.POINT:
                    assert all(mask[y, x] for x, y in mark.at), one.key
                elif mark.kind is MarkKind.STROKE:
                    # People paint over edges, but not over other things.
                    assert np.mean([mask[y, x] for x, y in mark.at]) >= 0.25, one.key
                    owners = {int(picture.painting.owner[y, x]) for x, y in mark.at}
                    assert owners <= {-1, picture.number(place)}, one.key


def test_words_do_not_say_which_thing_is_meant() -> None:
    for one in SUITE.tasks:
        assert isinstance(one, PointingTask)
        for part in one.parts:
            picture = PUBLIC.picture(task=one, part=part, index=0)
            names = [thing.name for thing in picture.tableau.parts]
            assert len(names) >= 2
            if part.want == "name":
                assert len({*names}) == len(names) == 4
                assert not any(name in one.text for name in names)
            else:
                own = picture.things[part.target].name if part.want != "count" else picture.things[0].name
                assert names.count(own) >= (2 if part.want == "count" else 3)
                assert own not in one.text


def test_things_are_counted_inside_of_the_box_only() -> None:
    found = [PUBLIC.reference(task=task("count_box/0"), index=index) for index in range(24)]
    totals = [
        len(PUBLIC.picture(task=task("count_box/0"), part=task("count_box/0").parts[0], index=index).tableau.parts)
        for index in range(24)
    ]

    assert set(found) == {"1", "2", "3"}
    assert all(int(str(inside)) < total for inside, total in zip(found, totals, strict=True))


def test_samples_are_the_same_every_time_and_differ_between_samples_splits_and_seeds() -> None:
    validation = pointing_samples(profile="lilliput", split="validation", hidden_seed=None)
    hidden = pointing_samples(profile="lilliput", split="hidden", hidden_seed=SEED)
    digests = [
        encode(source.inputs(task=task("remove_point/0"), index=index)[task("remove_point/0").parts[0].image]).digest
        for source in (PUBLIC, PUBLIC, validation, hidden)
        for index in range(2)
    ]

    assert digests[:2] == digests[2:4]
    assert len(set(digests)) == 6
    with pytest.raises(ValueError, match="hidden split needs"):
        pointing_samples(profile="lilliput", split="hidden", hidden_seed=None)
    with pytest.raises(LookupError, match="no data under profile paper"):
        pointing_samples(profile="paper", split="public", hidden_seed=None)
    with pytest.raises(ValueError, match="there is no split 'train'"):
        pointing_samples(profile="lilliput", split="train", hidden_seed=None)


def _scores(plans: dict[str, Plan], *, samples: int = 2) -> dict[str, float]:
    setting = Setting(profile="lilliput", split="public", samples=samples, open_store=MemoryStore)
    evaluator = episode_of("pointmini").evaluator(suite=SUITE, setting=setting)
    planner = PlansOf("scripted", lambda request: plan_to_json(plans[request.task.id]))
    return {record.task: record.score or 0.0 for record in evaluator.run(planner=planner, tasks=list(plans))}


POINTED = ("segment_point/0", "keep_point/0", "remove_point/0", "segment_second/0", "remove_first/0")


def test_gold_plans_score_high_and_plans_without_the_mark_or_with_another_point_nearly_nothing() -> None:
    gold = {key: task(key).gold for key in (*POINTED, "crop_box/0", "several/0")}
    found = _scores(gold)  # type: ignore[arg-type]
    centre, named = (_scores({key: change(task(key)) for key in POINTED}) for change in (_at_the_centre, _by_name))

    assert all(score > 0.75 for score in found.values()), found
    assert sum(centre.values()) / len(centre) < 0.1, centre
    assert sum(named.values()) / len(named) < 0.1, named


def _at_the_centre(one: PointingTask) -> Plan:
    """The gold plan with the middle of the picture instead of the mark."""
    assert one.gold is not None
    first, *others = one.gold.steps
    return replace(one.gold, steps=(replace(first, inputs={**first.inputs, "prompt_points": "32,32"}), *others))


def _by_name(one: PointingTask) -> Plan:
    """The gold plan with the masks of all things that the request's word names."""
    assert one.gold is not None
    part = one.parts[0]
    found = Step(
        id="f", tool="image_instance_segmentation", inputs={"image": f"${part.image}"}, outputs={"mask": "f.mask"}
    )
    chosen = Step(
        id="c", tool="select_mask", inputs={"mask_list": "f.mask", "condition": str(part.shape)},
        outputs={"result": "s1.mask"},
    )  # fmt: skip
    return replace(one.gold, steps=(found, chosen, *one.gold.steps[1:]))


def test_results_have_the_types_of_their_kinds() -> None:
    assert {kind["want"] for kind in KINDS.values()} == set(RESULTS)
    assert pointmini_suite().digest == SUITE.digest
