"""One request with real experts: the events, in the order in which things happen."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.core.marks import mark_of, placed
from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import ArtefactReference, PlannerCall, Reason
from evaluator.core.sounds import sound_of, wav_of
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Boxes, Value
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import LocalStore
from evaluator.execution.experts.profile import load_profile
from evaluator.workbench import events
from evaluator.workbench.events import artefacts_of
from evaluator.workbench.files import FileRefusedError, UploadedFile, read_upload
from evaluator.workbench.running import RunRequest, load_experts, run

PREPARED = Path(__file__).resolve().parents[3] / "leaderboard" / "workbench" / "prepared"


class Scripted:
    """Gives one plan, or fails."""

    name = "scripted"

    def __init__(
        self, plan: object = None, *, error: PlannerError | None = None, alternatives: tuple[object, ...] = ()
    ) -> None:
        self._plan, self._error, self._alternatives = plan, error, alternatives
        self.received: PlannerRequest | None = None

    def plan(self, request: PlannerRequest) -> PlannerReply:
        self.received = request
        if self._error is not None:
            raise self._error
        return PlannerReply(plan=self._plan, call=PlannerCall(seconds=0.25), alternatives=self._alternatives)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    profile = load_profile("lilliput")
    return Engine(pool=ExpertPool(profile=profile, device="cpu"), store=LocalStore(tmp_path), salt="toolworld")


def png(size: tuple[int, int] = (64, 64)) -> bytes:
    out = io.BytesIO()
    PillowImage.new("RGB", size, (200, 40, 40)).save(out, "PNG")
    return out.getvalue()


def picture() -> dict[str, tuple[ResourceType, Value]]:
    read = read_upload(UploadedFile(name="a.png", data=png()))
    return {"a.png": (read.type, read.value)}


def told(
    planner: Scripted | None,
    *,
    engine: Engine,
    plan: object = None,
    files: dict[str, tuple[ResourceType, Value]] | None = None,
) -> list[dict[str, object]]:
    request = RunRequest(text="Trace the edges of a.png and describe them", files=files or picture(), plan=plan)  # type: ignore[arg-type]
    profile = load_profile("lilliput")
    suite = suite_of("toolworld")
    offered = frozenset(profile.experts)
    return [event.to_json() for event in run(request, planner=planner, suite=suite, offered=offered, engine=engine)]


EDGES = {
    "steps": [
        {"id": "s1", "tool": "image_to_edge", "inputs": {"image": "$a.png"}, "outputs": {"edge": "s1.edge"}},
        {"id": "s2", "tool": "image_captioning", "inputs": {"image": "$a.png"}, "outputs": {"text": "s2.text"}},
    ],
    "answers": ["s1.edge", "s2.text"],
}


def test_every_step_is_told_when_it_ran_and_what_it_names_is_in_the_store(engine: Engine, tmp_path: Path) -> None:
    planner = Scripted(EDGES)
    request = RunRequest(text="Trace the edges", files=picture())
    offered = frozenset(load_profile("lilliput").experts)
    found = []
    for event in run(request, planner=planner, suite=suite_of("toolworld"), offered=offered, engine=engine):
        found.append(event.to_json())
        # At once: a worker sends it before the run goes on.
        assert all(LocalStore(tmp_path).has(digest) for digest, _ in artefacts_of(found[-1]))

    assert [event["kind"] for event in found] == ["given", "asked", "plan", "step", "step", "ended"]
    assert found[2]["seconds"] == 0.25
    assert [event["step"] for event in found[3:5]] == ["s1", "s2"]
    assert all(event["error"] is None for event in found[3:5])
    assert found[-1]["ending"] == "made"
    assert "I called image_to_edge and then image_captioning." in str(found[-1]["text"])
    assert planner.received is not None
    assert planner.received.task.resources == {"a.png": "image"}


def test_a_plan_that_comes_with_the_request_asks_nobody_and_finds_what_ran_before(engine: Engine) -> None:
    told(Scripted(EDGES), engine=engine)
    found = told(None, engine=engine, plan=EDGES)

    assert [event["kind"] for event in found] == ["given", "plan", "step", "step", "ended"]
    assert found[1]["edited"] is True
    assert [event["cached"] for event in found[2:4]] == [True, True]


def test_an_abstention_is_declined_with_its_reason(engine: Engine) -> None:
    found = told(Scripted({"plan": None, "reason": "No tool makes music."}), engine=engine)

    assert found[-1]["ending"] == "declined"
    assert found[-1]["text"] == "No tool makes music."


def test_a_reply_without_a_plan_is_shown_and_nothing_runs(engine: Engine) -> None:
    found = told(Scripted("I would rather not say."), engine=engine)

    assert [event["kind"] for event in found] == ["given", "asked", "ended"]
    assert found[-1]["ending"] == "no_plan"
    assert found[-1]["received"] == "I would rather not say."


def test_a_plan_with_faults_names_them(engine: Engine) -> None:
    plan = {
        "steps": [{"id": "s1", "tool": "image_to_gold", "inputs": {"image": "$a.png"}, "outputs": {"x": "s1.x"}}],
        "answers": ["s1.x"],
    }
    found = told(Scripted(plan), engine=engine)

    assert found[-1]["ending"] == "no_plan"
    assert "image_to_gold" in str(found[-1]["problems"])


@pytest.mark.parametrize(
    ("reason", "ending"), [(Reason.ENDPOINT_UNAVAILABLE, "failed"), (Reason.UNPARSABLE_PLAN, "no_plan")]
)
def test_a_planner_that_fails_says_who_is_at_fault(engine: Engine, reason: Reason, ending: str) -> None:
    error = PlannerError(reason=reason, message="Nobody answers.", call=PlannerCall(seconds=1.0))
    found = told(Scripted(error=error), engine=engine)

    assert found[-1]["ending"] == ending
    assert found[-1]["text"] == "Nobody answers."


def test_a_step_after_a_failed_one_is_skipped_with_the_reason(engine: Engine) -> None:
    plan = {
        "steps": [
            {
                "id": "s1",
                "tool": "image_cropping",
                "inputs": {"image": "$a.png", "object": "$far.json"},
                "outputs": {"image": "s1.image"},
            },
            {"id": "s2", "tool": "image_captioning", "inputs": {"image": "s1.image"}, "outputs": {"text": "s2.text"}},
            {"id": "s3", "tool": "image_to_edge", "inputs": {"image": "$a.png"}, "outputs": {"edge": "s3.edge"}},
        ],
        "answers": ["s2.text", "s3.edge"],
    }
    files = picture() | {"far.json": (ResourceType.BBOX, Boxes((32, 32), ()))}
    found = told(Scripted(plan), engine=engine, files=files)

    by_step = {event["step"]: event for event in found if "step" in event}
    assert by_step["s1"]["error"]
    assert by_step["s2"]["kind"] == "skipped"
    assert by_step["s2"]["why"] == "It needs a result of s1, which failed."
    assert by_step["s3"]["error"] is None
    assert found[-1]["ending"] == "partly"
    assert len(found[-1]["answers"]) == 1  # type: ignore[arg-type]


def test_a_large_picture_is_scaled_down() -> None:
    read = read_upload(UploadedFile(name="large.png", data=png((1500, 600))))

    assert read.type is ResourceType.IMAGE
    assert read.value.size == (512, 205)  # type: ignore[union-attr]
    assert read.size == (1500, 600)


def test_the_given_size_of_a_picture_is_told() -> None:
    files = {"a.png": ("image", ArtefactReference(digest="d" * 64, media_type="image/png"))}
    (shown,) = events.given(files, sizes={"a.png": (1500, 600)}).to_json()["files"].values()  # type: ignore[union-attr]
    assert shown["size"] == [1500, 600]  # type: ignore[index,call-overload]


def test_a_sound_is_heard() -> None:
    sound = sound_of(0.1 * np.sin(np.arange(4000) / 10))
    kind, value, _ = read_upload(UploadedFile(name="tone.wav", data=wav_of(sound)))

    assert kind is ResourceType.AUDIO
    assert value == sound


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.exe", b"MZ", "unknown type"),
        ("a.png", b"no picture", "damaged"),
        ("a.png", png()[:60], "damaged"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"0" * (4 * 1024 * 1024), "at most"),
        ("a.txt", b"\xff\xfe\xfa", "UTF-8"),
        ("a.txt", b"a" * 30_000, "characters"),
        ("bomb.png", png((7000, 7000)), "pixels"),
        ("a.wav", b"RIFF\xff\xff\xff\x7fWAVE", "no PCM wav"),
        ("a.wav", png(), "no PCM wav"),
    ],
)
def test_a_hostile_file_is_refused_by_name(name: str, data: bytes, words: str) -> None:
    with pytest.raises(FileRefusedError, match=words) as refused:
        read_upload(UploadedFile(name=name, data=data))

    assert name in str(refused.value)


SEGMENT = {
    "steps": [
        {
            "id": "s1",
            "tool": "image_segmentation_by_points",
            "inputs": {"image": "$garden.png", "prompt_points": "$point-1"},
            "outputs": {"mask": "s1.mask"},
        }
    ],
    "answers": ["s1.mask"],
}


def test_a_point_reaches_the_planner_and_the_tool_that_takes_points(engine: Engine) -> None:
    read = read_upload(UploadedFile(name="garden.png", data=(PREPARED / "garden.png").read_bytes()))
    files = {"garden.png": (read.type, read.value)}
    marked = placed([mark_of("point", picture="garden.png", at=[(20, 30)])], files=files, sizes={})
    planner = Scripted(SEGMENT)
    request = RunRequest(
        text="Segment what point-1 is on in garden.png", files={**files, **marked.resources}, marks=marked.given
    )
    suite = suite_of("toolworld")
    offered = frozenset(load_profile("lilliput").experts)
    found = [event.to_json() for event in run(request, planner=planner, suite=suite, offered=offered, engine=engine)]

    assert planner.received is not None
    assert planner.received.task.resources == {"garden.png": "image", "point-1": "point"}
    assert planner.received.task.given == marked.given
    assert found[0]["marks"] == marked.given
    assert (found[-1]["ending"], found[-2]["error"]) == ("made", None)


def test_alternatives_that_can_run_are_listed_once_and_others_left_out(engine: Engine) -> None:
    other = {"steps": EDGES["steps"][:1], "answers": ["s1.edge"]}
    wrong = {"steps": [{**EDGES["steps"][0], "tool": "image_to_gold"}], "answers": ["s1.edge"]}
    planner = Scripted(EDGES, alternatives=(EDGES, other, wrong, "no plan", other))
    planned = next(event for event in told(planner, engine=engine) if event["kind"] == "plan")

    assert [[step["tool"] for step in plan["steps"]] for plan in planned["alternatives"]] == [["image_to_edge"]]  # type: ignore[attr-defined,index]


def test_experts_are_loaded_before_a_request_as_long_as_they_fit():
    profile = load_profile("lilliput")
    tools = sorted(profile.experts)[:4]
    pool = ExpertPool(profile=profile, device="cpu")
    load_experts(tools=tools, pool=pool)
    assert set(pool.resident) == set(tools)
    two = ExpertPool(profile=profile, device="cpu", budget=sum(pool._sizes[tool] for tool in tools[:2]))
    load_experts(tools=tools, pool=two)
    # The third one unloads another, and so is the last.
    assert list(two.loads) == tools[:3]
