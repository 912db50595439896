"""A strategy with a language model behind OpenAI's chat API. The strategy runs on the worker, which calls it."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from gpu_jobs.contract.lease import ChatPlanner
from leaderboard.accounts.models import User
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds.base import Facts
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.local_models import chat_strategies, check_strategy, check_understanding
from leaderboard.planners.models import Planner, PlannerKind

_LONGEST_MODEL = 200


class ChatKind(CalledKind):
    """Only strategies that ask for free text: no chat endpoint tells the probabilities that the others need."""

    kind = PlannerKind.CHAT
    noun = "A chat endpoint"
    choice = "A chat endpoint (OpenAI-compatible) with a strategy"
    fields = {"endpoint_url": "address", "model_id": "model", "strategy": "strategy"}
    example = "https://example.org/v1"

    def check(self, data: PlannerData) -> Errors:
        errors = {**super().check(data), **_check_strategy(data.strategy)}
        if not data.model_id:
            errors["model_id"] = ["Give the name of the model, as used in requests to your endpoint."]
        elif len(data.model_id) > _LONGEST_MODEL or not data.model_id.isprintable():
            errors["model_id"] = [f"At most {_LONGEST_MODEL} characters, all of which can be shown."]
        return errors

    def problem_of_address(self, url: str) -> str:
        """Besides what holds for all: the path of the call is put behind it."""
        problem = super().problem_of_address(url)
        if not problem and (urlsplit(url).query or urlsplit(url).fragment):
            return f"Give the base of the API alone, without '?' and '#', such as {self.example}."
        return problem

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        return check_understanding(strategy=data.strategy, suites=suites)

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - nobody is asked
        """The model that is asked, unless its owner calls it otherwise on boards."""
        return Facts(model_name=data.model_name.strip() or data.model_id)

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> ChatPlanner:  # noqa: ARG002 - as the base class
        return ChatPlanner(**self.how_to_call(planner), model=planner.model_id, strategy=planner.strategy)


def _check_strategy(name: str) -> Errors:
    if (errors := check_strategy(name)) or name in chat_strategies():
        return errors
    told = f"{name} needs the probabilities of tokens, which a chat endpoint does not provide: choose one of"
    return {"strategy": [f"{told} {', '.join(chat_strategies())}."]}
