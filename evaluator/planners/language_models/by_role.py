"""Several language models as one: the calls of a strategy's roles go to models of their own."""

import asyncio
from collections.abc import Mapping, Sequence

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Call, ConcurrentLanguageModel, Failure, LanguageModel


class ModelsByRole:
    """A `LanguageModel` whose calls are answered by the model of their role."""

    def __init__(self, *, main: LanguageModel, roles: Mapping[str, LanguageModel]) -> None:
        """Args:
        main: answers the calls of all other roles.
        roles: models by role.
        """
        self.main = main
        self.roles = dict(roles)
        self.name = ",".join([main.name, *(f"{role}={model.name}" for role, model in self.roles.items())])
        self.abilities = frozenset.intersection(*(model.abilities for model in (main, *self.roles.values())))

    def model_of(self, call: Call) -> LanguageModel:
        """The model that answers a call."""
        return self.roles.get(call.role, self.main)

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        """See `LanguageModel.answer`; one batch for each model."""
        answers: dict[int, Answer | Failure] = {}
        for model in (self.main, *self.roles.values()):
            own = [place for place, call in enumerate(calls) if self.model_of(call) is model and place not in answers]
            if own:
                answers |= zip(own, model.answer([calls[place] for place in own]), strict=True)
        return [answers[place] for place in range(len(calls))]

    def count_tokens(self, text: str) -> int:
        return self.main.count_tokens(text)

    def identity(self) -> Mapping[str, JsonValue]:
        """See `LanguageModel.identity`: that of the main model, and `roles`."""
        return {**self.main.identity(), "roles": {role: dict(model.identity()) for role, model in self.roles.items()}}


class ConcurrentModelsByRole(ModelsByRole):
    """The same for models that all answer concurrently (`ConcurrentLanguageModel`)."""

    async def answer_one(self, call: Call) -> Answer | Failure:
        model = self.model_of(call)
        assert isinstance(model, ConcurrentLanguageModel)
        return await model.answer_one(call)

    async def close(self) -> None:
        """Close the connections of all models."""
        models = dict.fromkeys((self.main, *self.roles.values()))
        await asyncio.gather(*(model.close() for model in models if isinstance(model, ConcurrentLanguageModel)))


def models_by_role(*, main: LanguageModel, roles: Mapping[str, LanguageModel]) -> LanguageModel:
    """The model of a planner whose roles have models of their own."""
    if not roles:
        return main
    if all(isinstance(model, ConcurrentLanguageModel) for model in (main, *roles.values())):
        return ConcurrentModelsByRole(main=main, roles=roles)
    return ModelsByRole(main=main, roles=roles)


def models_in(model: LanguageModel) -> tuple[LanguageModel, ...]:
    """The models that answer a planner's calls: of each role and of the rest, or the only one."""
    return (model.main, *model.roles.values()) if isinstance(model, ModelsByRole) else (model,)
