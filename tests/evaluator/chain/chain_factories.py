"""What the tests of chains share: subtasks with given solutions, experts by rules, and running one request."""

from collections.abc import Callable, Mapping, Sequence

from PIL import Image as PillowImage

from evaluator.chain import ChainRequest, ChainRunner
from evaluator.engine import Engine, MemoryStore
from evaluator.experts.protocol import InputError
from evaluator.naming import is_named
from evaluator.planners.strategies.controlllm import ControlLLM
from evaluator.planners.strategies.controlllm.binding import bind
from evaluator.planners.strategies.controlllm.decomposing import Decomposed
from evaluator.planners.strategies.controlllm.planning import Candidate, Planned, Toolbox, search_subtask
from evaluator.planners.strategies.controlllm.resources import fill
from evaluator.planners.strategies.controlllm.search import greedy
from evaluator.planners.strategies.controlllm.strategy import Staged
from evaluator.planners.strategies.controlllm.subtasks import TypedSubtask
from evaluator.values import Box, Boxes, Value
from tests.evaluator.planners.strategies.controlllm.tog_factories import TOOLBOX, request, tools
from tests.fakes.experts import FakeExpert, FakePool

PICTURE = PillowImage.new("RGB", (64, 64), (10, 20, 30))


class GivenSolutions(ControlLLM):
    """Decomposes and searches nothing: subtasks and their solutions are given."""

    name = "given"

    def __init__(self, planned: Sequence[Planned], *, with_model: bool = False) -> None:
        super().__init__(with_model=with_model)
        self._planned = tuple(planned)

    def stages(self, request):
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


def run(*planned: Planned, experts=(), model=None, correcting: bool = True, text: str = "Do it.", **files: Value):
    """Run a request with these files: `run(..., a_png=PICTURE)` gives `a.png`; gives its end and the engine."""
    given = {name.replace("_", "."): value for name, value in (files or {"a_png": PICTURE}).items()}
    pool = FakePool({name: FakeExpert(function) for name, function in {**EXPERTS, **dict(experts)}.items()})
    engine = Engine(pool=pool, store=MemoryStore())
    asked = request(text, **{name.replace(".", "_"): "image" for name in given})
    runner = ChainRunner(strategy=GivenSolutions(planned, with_model=model is not None), engine=engine, model=model)
    return runner.run(ChainRequest(request=asked, files=given), correcting=correcting), engine
