"""Calls that a prompt limit keeps from the language model."""

from collections.abc import Sequence

from evaluator.core.language_model import Call, Failure, FailureKind, GenerateCall, LanguageModel, PromptLimit
from evaluator.planners.language_models.by_role import ModelsByRole


def over_limit(calls: Sequence[Call], *, model: LanguageModel) -> dict[int, Failure]:
    """Failures of calls whose `PromptLimit` is exceeded or whose tokens cannot be counted, by the place of the call.

    Args:
        calls: the calls, which often share a limit: its prompt is counted once for each model.
        model: the model that answers them; with models by role, each call's own one counts.
    """
    found: dict[tuple[int, PromptLimit], Failure | None] = {}
    failures: dict[int, Failure] = {}
    for place, call in enumerate(calls):
        if not isinstance(call, GenerateCall) or call.limit is None:
            continue
        own = model.model_of(call) if isinstance(model, ModelsByRole) else model
        key = (id(own), call.limit)
        if key not in found:
            found[key] = _failure(call.limit, model=own)
        if (failure := found[key]) is not None:
            failures[place] = failure
    return failures


def _failure(limit: PromptLimit, *, model: LanguageModel) -> Failure | None:
    try:
        tokens = sum(model.count_tokens(message.content) for message in limit.messages)
    except Exception as error:  # noqa: BLE001 - a text that breaks a tokenizer costs its own task
        message = f"The model cannot count the tokens of the prompt: {type(error).__name__}: {error}."
        return Failure(kind=FailureKind.BROKEN, message=message)
    if tokens <= limit.most_tokens:
        return None
    message = f"The prompt has {tokens} tokens; the planner allows {limit.most_tokens}."
    return Failure(kind=FailureKind.PROMPT_TOO_LONG, message=message)
