"""Chain requests: from a plain request with its files or from a task of a suite; and the planner that serves them."""

from collections.abc import Sequence

from evaluator.controlllm.chain.files import GivenFile, files_named_in
from evaluator.controlllm.chain.running import ChainRequest
from evaluator.controlllm.strategies import STRATEGIES
from evaluator.controlllm.strategies.strategy import ControlLLM
from evaluator.core.language_model import LanguageModel
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask, offered_tools, request_for
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.episodes.executed import Prepared
from evaluator.execution.experts.profile import Profile
from evaluator.planners.language_models.choosing import ModelNameError, language_model
from evaluator.planners.language_models.scripted import ScriptError
from evaluator.planners.strategies.registry import PlannerNameError, named_strategy, split_name


def request_in_words(*, text: str, files: Sequence[GivenFile], profile: Profile) -> ChainRequest:
    """A plain request, which offers the tools that the profile has experts for.

    Raises:
        ValueError: the request is empty, two files have the same name, or it names a file that is not given.
    """
    if not text.strip():
        raise ValueError("the request has no words")
    names = [file.name for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two files are called {twice!r}; name one NAME=PATH")
    lacking = [name for name in files_named_in(text) if name not in names]
    if lacking:
        raise ValueError(f"the request names {', '.join(lacking)}; give it with --file {lacking[0]}=PATH")
    request = PlannerRequest(
        suite="",
        task=RequestedTask(id="request", request=text, resources={file.name: str(file.type) for file in files}),
        expects=Expected(type=None),
        tools=list(offered_tools(CONTROLLLM.restricted_to(frozenset(profile.experts)))),
    )
    return ChainRequest(request=request, files={file.name: file.value for file in files})


def request_of_task(*, prepared: Prepared, key: str, sample: int) -> ChainRequest:
    """A task of a suite, on one of its data points.

    Raises:
        LookupError: the suite has no such task, or other tools than ControlLLM's.
    """
    suite = prepared.suite
    if suite.catalogue.name != CONTROLLLM.name:
        raise LookupError(f"the tools of {suite.slug} are not ControlLLM's")
    task = suite.task(key)
    context = suite.context(task=task, offered=frozenset(prepared.profile.experts))
    files = prepared.samples.inputs(task=task, index=sample)
    return ChainRequest(request=request_for(suite=suite, task=task, context=context), files=files, sample=sample)


def chain_planner(name: str) -> tuple[ControlLLM, LanguageModel | None]:
    """The strategy of a name such as `controlllm/adaptive` or `controlllm/beam:MODEL`, and its language model.

    Raises:
        PlannerNameError: there is no such strategy or model, or the strategy is not one of ControlLLM's.
    """
    _, model_name = split_name(name)
    strategy = named_strategy(name).strategy(with_model=model_name is not None)
    if not isinstance(strategy, ControlLLM):
        known = ", ".join(one.name for one in STRATEGIES)
        raise PlannerNameError(f"{name} has no chain of stages to run; those that have are {known}")
    try:
        return strategy, None if model_name is None else language_model(model_name)
    except (ModelNameError, ScriptError) as error:
        raise PlannerNameError(str(error).rstrip(".")) from error
