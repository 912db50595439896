"""GPT4Tools: one instruction, answered with all calls as `Action` and `Action Input` lines (Yang et al., 2023).

The paper's model writes one call at a time and observes its result. Here plans precede execution, so one answer has all
calls, and later ones name the results of earlier ones. Invented observations are recorded and ignored.
"""

from typing import ClassVar

from evaluator.core.language_model import Ability, Completion, Message
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import ParsedPlan, PlanSyntaxError
from evaluator.core.strategy import Conversation
from evaluator.planners.strategies.acting import Calls
from evaluator.planners.strategies.prompting import (
    Prompt,
    answer_sentence,
    ask,
    context_of,
    read_draft,
    refuse_too_long,
    resource_lines,
    tool_lines,
)
from evaluator.replies.dialects.action_lines import OBSERVATION, final_of, first_line, pairs_of, place, sections_of
from evaluator.replies.envelope import opened

PROMPT = "gpt4tools/2"
FORM = "action lines"
_INSTRUCTION = """### Instruction
You work with the tools below. Each takes and gives values of certain types. Write the calls that fulfil the user's
request, in the order in which they are to be made, each as two lines:

Action: the tool's name
Action Input: its inputs in the order of its signature, separated by commas

An input is something that is given, by its name; the result of the k-th call, written result-k; or words. Write no
observations. After the last call write one more line:

Final Answer: the results that the user asked for, by their names

Tools:
"""


class GPT4Tools:
    """One instruction, all calls as lines."""

    name: ClassVar[str] = "gpt4tools"
    description: ClassVar[str] = "GPT4Tools' call lines: one instruction, answered with all calls, two lines for each."
    catalogue: ClassVar[str] = ""
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GENERATE})

    def converse(self, request: PlannerRequest) -> Conversation:
        """Ask once and parse all calls."""
        task = f"### Request\n{request.task.request}\n\nGiven:\n{resource_lines(request)}\n{answer_sentence(request)}"
        text = f"{_INSTRUCTION}{tool_lines(request)}\n\n{task}\n\n### Response\n"
        (answer,) = yield [ask(Prompt(name=PROMPT, messages=(Message(role="user", content=text),)))]
        assert isinstance(answer, Completion)
        parsed = read_calls(text=answer.text, request=request)
        return read_draft(parsed=parsed, completions=[answer], prompt=PROMPT)


def read_calls(*, text: str, request: PlannerRequest) -> ParsedPlan | PlanSyntaxError:
    """The plan of a completion, or the error in it."""
    calls = Calls(request=request, context=context_of(request))
    try:
        refuse_too_long(text)
        text, left_out = opened(text)
        calls.tolerated += left_out
        sections = sections_of(text)
        pairs = pairs_of(sections)
        final = final_of(sections)
        if not pairs and not final:
            raise PlanSyntaxError("there is neither a line 'Action:' nor a line 'Final Answer:' in the completion")
        for action, given in pairs:
            if given is None:
                raise PlanSyntaxError("no 'Action Input:' follows this action", where=place(action))
            calls.add(tool=first_line(action.text), written=given.text, where=place(action))
        made_up = sum(section.label == OBSERVATION for section in sections)
        if made_up:
            calls.tolerated.append(f"left out {made_up} observations: nothing was executed")
        return calls.plan(final=final, form=FORM)
    except PlanSyntaxError as error:
        return error


STRATEGIES = (GPT4Tools,)
