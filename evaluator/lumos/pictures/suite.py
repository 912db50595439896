"""The suites `a-okvqa` and `scienceqa`."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Conditions, Panel, Suite
from evaluator.core.suites.facets import Facet, Facets
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.episodes.base import Setting
from evaluator.lumos.answering import LOOK
from evaluator.lumos.mounted import Mounted, digest_of
from evaluator.lumos.pictures.environment import PICTURE, PictureEnvironment
from evaluator.lumos.pictures.source import (
    LETTERS,
    OKVQA,
    SCIENCE,
    ChoiceFileError,
    ChoiceQuestion,
    read_okvqa,
    read_science,
)
from evaluator.lumos.retrieval.environment import ANSWER, retrieval_tools
from evaluator.lumos.tasks import EPISODES, TurnTask, solved

VERSION = "1"
_VQA = Tool(
    name=LOOK, domain="pictures",
    description="Answers a question about a picture: VQA([IMG], Question: What is on the table?).",
    inputs=MappingProxyType({"image": ResourceType.IMAGE, "question": ResourceType.TEXT}),
    outputs=MappingProxyType({"answer": ResourceType.TEXT}),
)  # fmt: skip
_QA = next(tool for tool in retrieval_tools(paragraphs=1) if tool.name == ANSWER)
TOOLS = Catalogue(name="lumos-pictures", tools=MappingProxyType({LOOK: _VQA, ANSWER: _QA}))
COLUMNS = (solved("Share of questions answered with the letter, or the words, of the right choice."), *EPISODES)
_SUBJECT = Facet(name="subject", label="Subject", attribute="subject", heading="Subject")
_SCORING = (
    "Accuracy over the choices: the answer is a letter, or the words of a choice. VQA is LLaVA 1.5 7B, as in LUMOS; QA "
    "is a reader of extracts, not LLaMA 2 13B, so figures are not those of LUMOS. A planner sees of a picture only its "
    "name."
)
_Reader = Callable[[Path], Sequence[ChoiceQuestion]]


def okvqa_suite() -> Suite:
    """The questions of the validation split.

    Raises:
        LookupError: files are missing or have another form.
    """
    return _suite(
        mounted=OKVQA, read=read_okvqa, title="A-OKVQA", split="val",
        description="Questions about photographs that need knowledge of the world, with four choices.",
    )  # fmt: skip


def science_suite() -> Suite:
    """The questions of the test split that have a picture.

    Raises:
        LookupError: files are missing or have another form.
    """
    return _suite(
        mounted=SCIENCE, read=read_science, title="ScienceQA", split="test", facets=(_SUBJECT,),
        description="School questions on science with a picture and several choices.",
    )  # fmt: skip


def okvqa_environment(setting: Setting) -> PictureEnvironment:
    """The environment of COCO's photographs.

    Raises:
        LookupError: files are missing.
    """
    return _environment(setting, mounted=OKVQA, read=read_okvqa)


def science_environment(setting: Setting) -> PictureEnvironment:
    """The environment of ScienceQA's pictures.

    Raises:
        LookupError: files are missing.
    """
    return _environment(setting, mounted=SCIENCE, read=read_science)


def _environment(setting: Setting, *, mounted: Mounted, read: _Reader) -> PictureEnvironment:
    mounted.check()
    pictures = sorted({question.picture for question in _read(mounted, read=read)})
    data = canonical_json.digest({name: digest_of(mounted.path(name)) for name in (mounted.files[0], *pictures)})
    return PictureEnvironment(mounted=mounted, data=data, setting=setting)


def _suite(
    *, mounted: Mounted, read: _Reader, title: str, description: str, split: str, facets: tuple[Facet, ...] = ()
) -> Suite:
    names = tuple(facet.name for facet in facets)
    return Suite(
        slug=mounted.suite, version=VERSION, title=title, description=description, metrics=COLUMNS, catalogue=TOOLS,
        tasks=tuple(map(_task, _read(mounted, read=read))), panels=(Panel.TRANSCRIPT,), scoring=_SCORING,
        conditions=Conditions(experts=True, samples=False, splits=(split,)),
        facets=Facets(filters=facets, facts=names, breakdowns=names, plots=names, comparisons=names),
    )  # fmt: skip


def _read(mounted: Mounted, *, read: _Reader) -> Sequence[ChoiceQuestion]:
    mounted.check()
    path = mounted.path(mounted.files[0])
    return _read_file(path, digest_of(path), read)


@lru_cache(maxsize=4)
def _read_file(path: Path, digest: str, read: _Reader) -> Sequence[ChoiceQuestion]:
    del digest
    try:
        return read(path)
    except ChoiceFileError as error:
        raise LookupError(str(error)) from error


def _task(question: ChoiceQuestion) -> TurnTask:
    choices = "\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, question.choices, strict=False))
    hint = f"Context: {question.hint}\n" if question.hint else ""
    facts: dict[str, JsonValue] = {
        "choices": list(question.choices),
        **({"subject": question.subject} if question.subject else {}),
    }
    return TurnTask(
        key=question.key, text=f"{hint}{question.text}\n{choices}", structure="linear", metric="solved",
        resources=MappingProxyType({PICTURE: ResourceType.IMAGE}), expects=ResourceType.TEXT, gold=None,
        answer=LETTERS[question.right], facts=MappingProxyType(facts), scope=question.picture,
    )  # fmt: skip
