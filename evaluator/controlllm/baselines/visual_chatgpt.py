"""Visual ChatGPT: a loop of thought, action and observation until a final answer (Wu et al., 2023).

The system executes each action and observes the name of the new file. Here plans precede execution, so the observation
is symbolic: the name and type of the result, without its content. Errors that only execution would reveal, such as a
missing file, are not observed and remain in the plan. A call of an unknown tool, or with an input that cannot be
parsed, results in an observation with the error and is not part of the plan.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Ability, Answer, Call, Completion, GenerateCall, Message
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.literals import short
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.core.strategy import Conversation
from evaluator.planners.strategies.acting import Calls, names_of_results
from evaluator.planners.strategies.prompting import (
    MAX_COMPLETION,
    answer_sentence,
    context_of,
    read_draft,
    resource_lines,
    shortened,
    tool_lines,
)
from evaluator.replies.actions import tool_name
from evaluator.replies.dialects.action_lines import (
    ACTION,
    FINAL,
    OBSERVATION,
    Section,
    first_line,
    pairs_of,
    place,
    sections_of,
)

PROMPT = "visual_chatgpt/2"
FORM = "thought and action"
MAX_TURNS = 12
"""Completions of one conversation; no gold plan has as many steps."""
_STOP = ("\nObservation:",)
_SYSTEM = """You help with pictures, sounds, videos and texts. You cannot look at them yourself: you work with tools,
one call at a time, and after each call you are told what it gave.

For a call write three lines and stop:

Thought: whether you need a tool, and which
Action: the tool's name
Action Input: its inputs in the order of its signature, separated by commas

An input is something that is given, by its name; the result of an earlier call, by the name that the observation told;
or words. When everything is there, write instead:

Thought: no further tool is needed
Final Answer: the results that the user asked for, by their names

Tools:
"""


class VisualChatGPT:
    """One call at a time, with symbolic observations."""

    name: ClassVar[str] = "visual-chatgpt"
    description: ClassVar[str] = (
        "Visual ChatGPT's loop: thought, action, observation; here the observation is symbolic."
    )
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        """Ask until there is a final answer, at most `MAX_TURNS` times."""
        loop = _Loop(request=request, context=context_of(request))
        yield from loop.run()
        notes: dict[str, JsonValue] = {"observations": list(loop.observations)}
        return read_draft(parsed=loop.parsed(), completions=loop.completions, prompt=PROMPT, notes=notes)


@dataclass(slots=True)
class _Loop:
    """The state of one conversation."""

    request: PlannerRequest
    context: PlanContext
    completions: list[Completion] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    final: str | None = None
    read_to: int = 0
    """The end of the call in the last completion. The model must not see the text that it invented after it."""
    calls: Calls = field(init=False)

    def __post_init__(self) -> None:
        self.calls = Calls(request=self.request, context=self.context)

    def run(self) -> Generator[Sequence[Call], Sequence[Answer], None]:
        """Take turns until there is a final answer."""
        task = f"{self.request.task.request}\n\nGiven:\n{resource_lines(self.request)}\n{answer_sentence(self.request)}"
        messages = [
            Message(role="system", content=_SYSTEM + tool_lines(self.request)),
            Message(role="user", content=task),
        ]
        for turn in range(1, MAX_TURNS + 1):
            (answer,) = yield [GenerateCall(messages=tuple(messages), stop=_STOP)]
            assert isinstance(answer, Completion)
            self.completions.append(answer)
            text = shortened(answer.text)
            observation = self._turn(text=text, turn=turn)
            if observation is None:
                return
            messages += [
                Message(role="assistant", content=text[: self.read_to]),
                Message(role="user", content=f"{OBSERVATION}: {observation}"),
            ]
        self.calls.tolerated.append(f"stopped after {MAX_TURNS} turns without a final answer")

    def parsed(self) -> ParsedPlan | PlanSyntaxError:
        """The plan of all calls, or the error in them."""
        try:
            return self.calls.plan(final=self.final or "", form=FORM)
        except PlanSyntaxError as error:
            return error

    def _turn(self, *, text: str, turn: int) -> str | None:
        """Parse a completion and return the observation, or None for the last one."""
        sections, left_out = _first_call(sections_of(text[:MAX_COMPLETION]))
        self.read_to = sections[-1].end if sections else 0
        if left_out:
            self.calls.tolerated.append(f"turn {turn}: left out what follows the first call")
        pairs = pairs_of(sections)
        if not pairs:
            self.final = sections[-1].text if sections else ""
            if not sections or sections[-1].label not in FINAL:
                self.calls.tolerated.append(f"turn {turn}: neither an action nor a final answer ends the conversation")
            return None
        observation = self._observation(*pairs[0], turn=turn)
        self.observations.append(observation)
        return observation

    def _observation(self, action: Section, given: Section | None, *, turn: int) -> str:
        where = f"turn {turn}, {place(action)}"
        if given is None:
            return "there is no Action Input. Write one line Action and one line Action Input."
        written = first_line(action.text)
        if tool_name(written=written, context=self.context, where=where, tolerated=[]) not in self.context.catalogue:
            return f"there is no tool {short(written)}. The tools are {', '.join(self.context.catalogue.tools)}."
        try:
            results = self.calls.add(tool=written, written=given.text, where=where)
        except PlanSyntaxError as error:
            return f"the Action Input cannot be read: {error}."
        return names_of_results(results)


def _first_call(sections: tuple[Section, ...]) -> tuple[tuple[Section, ...], bool]:
    """The sections up to the first call or final answer, and whether anything follows them."""
    for index, section in enumerate(sections):
        if section.label in FINAL:
            return sections[: index + 1], False
        if section.label == ACTION:
            end = index + 2
            return sections[:end], len(sections) > end
    return sections, False


STRATEGIES = (VisualChatGPT,)
