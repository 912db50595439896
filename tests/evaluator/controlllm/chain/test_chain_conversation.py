"""Runs and corrections of one request, with experts by rules."""

import json
from collections.abc import Callable, Mapping, Sequence

import pytest
from PIL import Image as PillowImage

from evaluator.controlllm.chain.conversation import MOST_CHANGES, ChainOutcome, CorrectionKind
from evaluator.controlllm.chain.running import ChainRequest, ChainRunner
from evaluator.controlllm.chain.state import Outcome
from evaluator.controlllm.strategies.binding import bind, fill
from evaluator.controlllm.strategies.decomposing import Decomposed
from evaluator.controlllm.strategies.planning import Candidate, Planned, Toolbox, search_subtask
from evaluator.controlllm.strategies.search import greedy
from evaluator.controlllm.strategies.strategy import ControlLLM, Staged
from evaluator.controlllm.strategies.subtasks import TypedSubtask
from evaluator.core.expert import ExpertError, InputError
from evaluator.core.language_model import Failure, FailureKind, LanguageModelError
from evaluator.core.naming import is_named
from evaluator.core.values import Box, Boxes, Value
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import MemoryStore
from evaluator.planners.language_models.scripted import ScriptedModel
from tests.evaluator.controlllm.strategies.tog_factories import TOOLBOX, request, subtask, tools
from tests.fakes.experts import FakeExpert, FakePool

PICTURE = PillowImage.new("RGB", (64, 64), (10, 20, 30))


class GivenSolutions(ControlLLM):
    """Decomposes and searches nothing: subtasks and their solutions are given."""

    name = "given"

    def __init__(self, planned: Sequence[Planned], *, with_model: bool = False) -> None:
        super().__init__(with_model=with_model)
        self._planned = tuple(planned)

    def stages(self, request, *, by_demand=False):
        del by_demand
        decomposed = Decomposed(subtasks=tuple(one.searching.subtask for one in self._planned), text="", tries=0)
        yield from ()
        return Staged(toolbox=TOOLBOX, decomposed=decomposed, planned=self._planned)


def solved(subtask: TypedSubtask, *paths: Sequence[str], **inputs: str) -> Planned:
    """A subtask with solutions of these tools, and with other values of inputs, by `tool__input`, in the first one."""
    searching = search_subtask(subtask=subtask, toolbox=Toolbox.of(tools()), choose=greedy, assessed={})
    candidates = []
    for number, path in enumerate(paths):
        solution = fill(subtask=subtask, solution=bind(path=tools(*path), subtask=subtask)).solution
        if number == 0:
            for key, value in inputs.items():
                tool, name = key.split("__")
                for action in solution:
                    if action.tool.name == tool:
                        action.inputs[name] = value
        candidates.append(Candidate(path=tuple(path), score=5 - number, solution=solution))
    return Planned(searching=searching, candidates=tuple(candidates))


def boxes(*labels: str, size: tuple[int, int] = (64, 64)) -> Boxes:
    return Boxes(size, tuple(Box(label, 1, 1, 9, 9) for label in labels))


def detect(*labels: str) -> Callable[[Mapping[str, Value]], Mapping[str, Value]]:
    return lambda item: {"object": boxes(*labels, size=item["image"].size)}


def ground(*labels: str) -> Callable[[Mapping[str, Value]], Mapping[str, Value]]:
    return lambda item: {"bbox": boxes(*labels, size=item["image"].size)}


def choose(item):
    found = item["bbox_list"]
    kept = tuple(one for one in found.items if is_named(one.label, condition=item["condition"]))
    return {"result": Boxes(found.size, kept)}


def frame(item):
    if item["bbox"].size != item["image"].size:
        raise InputError('"bbox" is of a picture of another size than "image"')
    return {"result": item["image"]}


def crop(item):
    return {"image": item["image"].resize((16, 16))}


def count(item):
    return {"length": str(len(item["bbox_list"].items))}


EXPERTS = {
    "object_detection": detect("red star", "blue ring"),
    "visual_grounding": ground(),
    "select_bbox": choose,
    "count_objects": count,
    "highlight_object_on_image": frame,
    "image_cropping": crop,
    "image_captioning": lambda item: {"text": "a red star"},
    "image_question_answering": lambda item: {"response": f"answer to {item['text']}"},
}


def run(
    *planned: Planned,
    experts=(),
    model=None,
    correcting: bool = True,
    declining: bool = True,
    text: str = "Do it.",
    **files: Value,
):
    """Run a request with these files: `run(..., a_png=PICTURE)` gives `a.png`; gives its end and the engine."""
    given = {name.replace("_", "."): value for name, value in (files or {"a_png": PICTURE}).items()}
    pool = FakePool({name: FakeExpert(function) for name, function in {**EXPERTS, **dict(experts)}.items()})
    engine = Engine(pool=pool, store=MemoryStore())
    asked = request(text, **{name.replace(".", "_"): "image" for name in given})
    runner = ChainRunner(strategy=GivenSolutions(planned, with_model=model is not None), engine=engine, model=model)
    return runner.run(ChainRequest(request=asked, files=given), correcting=correcting, declining=declining), engine


HIGHLIGHT = ("object_detection", "select_bbox", "highlight_object_on_image")
COUNT = ("object_detection", "select_bbox", "count_objects")


def highlight(*, number=0, thing="red star", image="a.png"):
    return subtask("Highlight it.", number=number, returns="image", image=image, text=thing)


def outcomes(end):
    return [str(one.outcome) for one in end.progress]


def refuse(message):
    def function(item):
        raise InputError(message)

    return function


def broken(item):
    raise ExpertError("it does not work")


def test_a_plan_that_runs_is_run_once_and_its_state_holds_every_result():
    end, _ = run(solved(highlight(), HIGHLIGHT))
    assert end.is_complete
    assert len(end.rounds) == 1
    assert end.corrections == ()
    assert [(entry.maker, str(entry.type)) for entry in end.state.entries()] == [
        ("", "image"),
        ("object_detection", "bbox"),
        ("select_bbox", "bbox"),
        ("highlight_object_on_image", "image"),
    ]
    assert [*end.results] == ["result-1-image.png"]
    assert "result-1-image.png" in end.response


def test_a_missing_resource_becomes_the_next_one_of_its_type():
    end, _ = run(solved(highlight(), HIGHLIGHT, highlight_object_on_image__bbox="<GENERATED>-7"))
    (correction,) = end.corrections
    assert (correction.problem, correction.kind, correction.helped) == (
        "missing resource",
        CorrectionKind.ARGUMENTS,
        True,
    )
    assert correction.what == "bbox: <GENERATED>-7 -> <TOOL-GENERATED>-select_bbox-bbox-0"
    assert end.is_complete


def test_a_resource_of_the_wrong_type_is_replaced_before_anything_is_run_with_it():
    end, _ = run(solved(highlight(), HIGHLIGHT, highlight_object_on_image__bbox="a.png"))
    assert [one.problem for one in end.corrections] == ["wrong type"]
    assert "is image; it takes bbox" in end.corrections[0].message
    assert end.is_complete


def test_where_sizes_differ_a_resource_of_the_right_size_is_taken_first():
    path = ("object_detection", "image_cropping", "highlight_object_on_image")
    crop = "<TOOL-GENERATED>-image_cropping-image-0"
    end, _ = run(solved(highlight(), path, highlight_object_on_image__image=crop))
    assert [one.problem for one in end.corrections] == ["unfit input"]
    assert end.corrections[0].what == f"image: {crop} -> a.png"
    assert end.is_complete


def test_a_condition_is_spelled_as_the_labels_spell_it():
    end, _ = run(solved(subtask("Count.", returns="text", image="a.png", text="red stars visible"), COUNT))
    assert [one.what for one in end.corrections] == ["condition: red stars visible -> red star"]
    assert next(iter(end.results.values())).text == "1"


@pytest.mark.parametrize("thing", ["green star", "star of gold"])
def test_a_count_of_what_is_not_there_stays_0(thing):
    asked = subtask("Count.", returns="text", image="a.png", text=thing)
    end, _ = run(solved(asked, COUNT, ("object_detection", "count_objects")))
    assert end.corrections == ()
    assert end.is_complete
    assert next(iter(end.results.values())).text == "0"


def test_where_nothing_is_found_the_next_solution_is_tried():
    grounding = ("visual_grounding", "highlight_object_on_image")
    end, _ = run(
        solved(highlight(thing="green cross"), HIGHLIGHT, grounding), experts={"visual_grounding": ground("it")}
    )
    (correction,) = end.corrections
    assert (correction.kind, correction.helped) == (CorrectionKind.SOLUTION, True)
    assert correction.what == "solution 2: visual_grounding, highlight_object_on_image"
    assert end.progress[0].choice == 1


def test_where_no_solution_finds_more_the_first_one_stands():
    grounding = ("visual_grounding", "highlight_object_on_image")
    asked = solved(highlight(thing="green cross"), HIGHLIGHT, grounding)
    end, _ = run(asked, declining=False)
    assert [one.kind for one in end.corrections] == [CorrectionKind.SOLUTION, CorrectionKind.BACK]
    assert end.progress[0].choice == 0
    assert end.is_complete
    end, _ = run(solved(highlight(thing="green cross"), HIGHLIGHT, grounding))
    assert (end.outcome, end.results) == (ChainOutcome.FAILED, {})
    assert "found nothing called 'green cross'" in end.response


def test_an_expert_that_fails_is_no_matter_of_arguments():
    asked = subtask("Describe.", returns="text", image="a.png", text="What is it?")
    end, _ = run(
        solved(asked, ("image_captioning",), ("image_question_answering",)), experts={"image_captioning": broken}
    )
    assert [one.kind for one in end.corrections] == [CorrectionKind.SOLUTION]
    assert next(iter(end.results.values())).text == "answer to What is it?"


def test_a_failed_subtask_stops_those_that_need_it_and_no_others():
    lost = highlight()
    needs_it = subtask("Crop.", number=1, returns="bbox", image="<GENERATED>-0")
    alone = subtask("Describe.", number=2, returns="text", image="a.png")
    end, _ = run(
        solved(lost, HIGHLIGHT),
        solved(needs_it, ("object_detection",)),
        solved(alone, ("image_captioning",)),
        experts={"highlight_object_on_image": broken},
    )
    assert outcomes(end) == ["failed", "blocked", "made"]
    assert "it does not work" in end.progress[0].why
    assert end.progress[1].why == "it needs <GENERATED>-0, which was not made"
    assert [entry.text for entry in end.results.values()] == ["a red star"]
    assert "I could not do" in end.response
    assert not end.is_complete


def test_a_subtask_for_which_nothing_was_found_has_failed():
    end, _ = run(solved(highlight()), solved(subtask("Describe.", number=1, returns="text", image="a.png"),
                                             ("image_captioning",)))  # fmt: skip
    assert outcomes(end) == ["failed", "made"]
    assert "found no chain of tools" in end.progress[0].why


def test_without_any_subtask_the_response_says_that_nothing_could_be_done():
    end, engine = run()
    assert not end.is_complete
    assert end.results == {}
    assert end.response.startswith("I did nothing")
    assert end.outcome is ChainOutcome.DECLINED
    assert engine.calls.total() == 0


def test_a_file_that_is_not_there_is_replaced_and_the_correction_recorded():
    end, _ = run(solved(subtask("Describe.", returns="text", image="b.png"), ("image_captioning",)))
    assert [one.what for one in end.corrections] == ["image: b.png -> a.png"]
    assert end.corrections[0].message == 'image_captioning: "image" is b.png, which is not there'


def test_a_result_that_is_made_later_is_not_there_yet():
    early = subtask("Frame.", returns="image", image="a.png", bbox="<GENERATED>-1")
    late = subtask("Find.", number=1, returns="bbox", image="a.png")
    end, _ = run(solved(early, ("highlight_object_on_image",)), solved(late, ("object_detection",)))
    assert outcomes(end) == ["failed", "made"]
    assert end.progress[0].why == 'highlight_object_on_image: "bbox" is <GENERATED>-1, which is not there'


def test_corrections_are_bounded():
    files = {f"{name}_png": PICTURE.copy() for name in "abcdefgh"}
    end, _ = run(
        solved(highlight(), HIGHLIGHT),
        experts={"highlight_object_on_image": refuse('"image" is never right')},
        **files,
    )
    assert outcomes(end) == ["failed"]
    assert len(end.corrections) == MOST_CHANGES
    assert not any(one.helped for one in end.corrections)


def test_no_value_is_tried_twice():
    end, _ = run(solved(highlight(), HIGHLIGHT), experts={"highlight_object_on_image": refuse("it is never right")})
    tried = [one.what for one in end.corrections]
    assert len(tried) == len(set(tried))
    assert outcomes(end) == ["failed"]


def test_as_planned_nothing_is_corrected():
    wrong = solved(highlight(), HIGHLIGHT, highlight_object_on_image__bbox="<GENERATED>-7")
    needs_it = solved(subtask("Find.", number=1, returns="bbox", image="<GENERATED>-0"), ("object_detection",))
    end, _ = run(wrong, needs_it, correcting=False)
    assert len(end.rounds) == 1
    assert end.corrections == ()
    assert outcomes(end) == [Outcome.FAILED, Outcome.BLOCKED]


def test_only_what_changed_runs_again():
    end, engine = run(solved(highlight(), HIGHLIGHT, highlight_object_on_image__bbox="<GENERATED>-7"))
    assert len(end.rounds) == 2
    assert engine.calls["object_detection"] == 1


def model(correction, response="Done: result-1-image.png."):
    def script(call):
        if call.messages[0].content.startswith("A tool call failed"):
            return correction if isinstance(correction, str) else json.dumps(correction)
        return response

    return ScriptedModel(script)


def test_a_language_model_corrects_and_responds():
    asked = model({"condition": "blue ring"})
    end, _ = run(solved(highlight(thing="azure ring"), HIGHLIGHT), model=asked)
    (correction,) = end.corrections
    assert (correction.by, correction.helped) == ("language model", True)
    assert end.response == "Done: result-1-image.png."
    prompt = asked.calls[0].messages[-1].content
    assert "found nothing called 'azure ring'" in prompt
    assert "- bbox: <TOOL-GENERATED>-object_detection-bbox-0 (1 x red star, 1 x blue ring)" in prompt


@pytest.mark.parametrize("answer", [{"bbox": "<GENERATED>-9"}, {"bbox": "a.png"}, {"nothing": "x"}, {}, "not JSON"])
def test_what_a_model_must_not_choose_is_left_to_the_rules(answer):
    end, _ = run(solved(highlight(), HIGHLIGHT, highlight_object_on_image__bbox="<GENERATED>-7"), model=model(answer))
    assert [one.by for one in end.corrections] == ["rules"]
    assert end.is_complete


def test_files_that_a_model_does_not_name_are_added_to_its_response():
    end, _ = run(solved(highlight(), HIGHLIGHT), model=model({}, response="There you are."))
    assert end.response == "There you are.\n\nFiles: result-1-image.png."


def test_a_model_that_fails_ends_its_request():
    def script(call):
        return Failure(kind=FailureKind.UNAVAILABLE, message="It is closed.")

    with pytest.raises(LanguageModelError, match="It is closed"):
        run(solved(highlight(), HIGHLIGHT), model=ScriptedModel(script))
