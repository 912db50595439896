"""LUMOS's formulations and the baselines of its comparison (paper, sections 2 and 3.2) as strategies in turns."""

import re
from collections.abc import Generator, Sequence
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Completion, GenerateCall, Message
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.strategy_options import Options, WholeOption
from evaluator.core.strategy_options import Role as ModelRole
from evaluator.core.turns import Formulation, Role, TurnRequest
from evaluator.lumos.strategies.examples import MOST, Example, examples_for
from evaluator.lumos.strategies.templates import (
    ACTIONS,
    ANSWER_IS,
    KEEP,
    STOP,
    direct_prompt,
    ground_examples,
    ground_prompt,
    integrated_examples,
    integrated_prompt,
    plan_examples,
    plan_prompt,
    reasoning_prompt,
    task_text,
)

MAX_COMPLETION = 512
"""Maximum number of tokens of a reply, as in the released evaluators."""
EXACT = frozenset({"Calculator", "SetEquation", "SolveEquation", "SolveInequality", "Define", "Count", "Code", "SQL"})
"""Tools whose actions need only references to earlier results. With other tools, prompts for grounding include them."""
_HEAD = re.compile(r"Subgoal[ \t]{0,9}[0-9]{1,9}[ \t]{0,9}:[ \t]{0,9}", re.IGNORECASE | re.ASCII)


class LumosStrategy:
    """Base class: one call of a language model per turn, without sampling."""

    name: ClassVar[str]
    description: ClassVar[str]
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})
    in_turns: ClassVar[bool] = True
    roles: ClassVar[tuple[ModelRole, ...]] = ()
    """Roles that may have a separate model."""
    formulation: ClassVar[Formulation] = Formulation.INTEGRATED

    def converse(self, request: PlannerRequest) -> Conversation:
        """See `Strategy`. The draft's plan is the answer to the turn, with the fields of a `TurnResponse`."""
        if not isinstance(request, TurnRequest):
            raise TypeError(f"{self.name} answers requests of single turns")
        return self._turn(request)

    def prompt(self, request: TurnRequest) -> str:
        """The prompt of a turn."""
        raise NotImplementedError

    def response(self, *, text: str, request: TurnRequest) -> dict[str, JsonValue]:
        """Parse the model's reply."""
        raise NotImplementedError

    def _turn(self, request: TurnRequest) -> Generator[Sequence[Call], Sequence[Answer], Draft]:
        message = Message("user", self.prompt(request))
        call = GenerateCall(messages=(message,), max_tokens=MAX_COMPLETION, stop=("\n",), role=str(request.role))
        (answer,) = yield (call,)
        assert isinstance(answer, Completion)
        return Draft(plan=self.response(text=answer.text.strip(), request=request))


SHOTS = WholeOption(
    name="shots", label="Examples", default=0, least=0, most=MOST,
    sentence="Solved tasks with the same tools that prompts show first, for tools that the model was not trained on.",
)  # fmt: skip


class _WithExamples(LumosStrategy):
    """Shows solved tasks before the task, if there are any with the offered tools."""

    options: ClassVar[Options] = Options((SHOTS,))

    def __init__(self, *, option: str = "") -> None:
        """Args:
        option: options as in the planner's name.

        Raises:
            OptionError: invalid options.
        """
        self._shots = int(self.options.read_text(option)[SHOTS.name])

    def examples(self, request: TurnRequest) -> Sequence[Example]:
        """The examples of a request's prompt."""
        return examples_for([tool.name for tool in request.tools], count=self._shots)


class _Modules(_WithExamples):
    """Planning and grounding by two modules, which may be one model."""

    all_in_roles: ClassVar[bool] = True
    roles: ClassVar[tuple[ModelRole, ...]] = (
        ModelRole(name=str(Role.PLAN), label="Planning module", sentence="Names the subgoals."),
        ModelRole(
            name=str(Role.GROUND), label="Grounding module", sentence="Turns subgoals into actions with the tools."
        ),
    )

    def prompt(self, request: TurnRequest) -> str:
        examples, at_once = self.examples(request), self.formulation is Formulation.ONEPASS
        if request.role is Role.PLAN:
            shown = plan_examples(examples, at_once=at_once)
            return shown + plan_prompt(task=task_text(request.task), past=request.past)
        with_results = results_matter(request.tools)
        shown = ground_examples(examples, tools=request.tools, at_once=at_once, with_results=with_results)
        return shown + ground_prompt(
            task=task_text(request.task), tools=request.tools, past=request.past, subgoals=request.subgoals,
            with_results=with_results,
        )  # fmt: skip

    def response(self, *, text: str, request: TurnRequest) -> dict[str, JsonValue]:
        del request
        return {"text": text}


class Iterative(_Modules):
    """`LUMOS-Iterative`: one subgoal at a time, grounded and run before the next is planned."""

    name = "lumos/iterative"
    description = (
        "LUMOS: a planning module names the next subgoal, a grounding module its actions, until planning stops."
    )
    formulation: ClassVar[Formulation] = Formulation.ITERATIVE


class OnePass(_Modules):
    """`LUMOS-OnePass`: all subgoals at once, then all actions."""

    name = "lumos/onepass"
    description = "LUMOS: a planning module names all subgoals at once, a grounding module all actions."
    formulation: ClassVar[Formulation] = Formulation.ONEPASS


class Integrated(_WithExamples):
    """The paper's integrated baseline: one module gives each subgoal with its actions."""

    name = "lumos/integrated"
    description = "LUMOS's integrated baseline: one module gives each subgoal with its actions."

    def prompt(self, request: TurnRequest) -> str:
        shown = integrated_examples(self.examples(request), tools=request.tools)
        return shown + integrated_prompt(task=task_text(request.task), tools=request.tools, past=request.past)

    def response(self, *, text: str, request: TurnRequest) -> dict[str, JsonValue]:
        del request
        if text.lower().startswith(STOP.lower().rstrip(".")):
            return {"stop": True}
        subgoal, marker, actions = text.removeprefix(KEEP).partition(ACTIONS)
        head = _HEAD.match(subgoal)
        named = subgoal[head.end() :].strip() if head else ""
        if not marker:
            # Parsing it as actions reports an error with the expected form.
            return {"actions": text}
        return {"actions": actions.strip(), **({"subgoal": named} if named else {})}


class ChainOfThought(LumosStrategy):
    """The paper's chain-of-thought baseline: reasons in words and answers without a tool."""

    name = "lumos/chain-of-thought"
    description = "LUMOS's chain-of-thought baseline: reasons in words and answers without a tool."

    def prompt(self, request: TurnRequest) -> str:
        return reasoning_prompt(task_text(request.task))

    def response(self, *, text: str, request: TurnRequest) -> dict[str, JsonValue]:
        del request
        _, marker, answer = text.rpartition(ANSWER_IS)
        return {"answer": (answer if marker else text).strip().rstrip(".")}


class Direct(LumosStrategy):
    """The paper's direct baseline: answers immediately."""

    name = "lumos/direct"
    description = "LUMOS's direct baseline: answers at once, without reasoning or tools."

    def prompt(self, request: TurnRequest) -> str:
        return direct_prompt(task_text(request.task))

    def response(self, *, text: str, request: TurnRequest) -> dict[str, JsonValue]:
        del request
        return {"answer": text}


def results_matter(tools: Sequence[OfferedTool]) -> bool:
    """Whether prompts for grounding include the results of earlier subgoals."""
    return any(tool.name not in EXACT for tool in tools)


STRATEGIES = (Iterative, OnePass, Integrated, ChainOfThought, Direct)
