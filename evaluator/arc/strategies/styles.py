"""How agents are asked, and what they are told about their programs: in the paper's words, or compactly."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from evaluator.arc.candidates.running import Output
from evaluator.arc.demonstrations import Demonstration
from evaluator.arc.grids import Grid
from evaluator.arc.strategies import prompts
from evaluator.arc.strategies.agents import AGENTS, ONLY_GRID, Agent, agent_named
from evaluator.arc.strategies.compact import AGAIN, NO_PROGRAM, feedback_text, task_text
from evaluator.core.language_model import Message


class Style(Protocol):
    """A style of prompts."""

    name: ClassVar[str]
    prompt: ClassVar[str]
    """Name and version of its prompts, for the notes."""
    agents: ClassVar[Sequence[Agent]]
    """Those that are asked where none are named."""
    most_tokens: ClassVar[int]
    """Of a reply."""
    continues: ClassVar[bool]
    """Whether wrong outputs become the inputs of a further program; else the program is corrected."""

    def first(
        self, *, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid],
        before: Sequence[str],
    ) -> tuple[Message, ...]:  # fmt: skip
        """What an agent is asked first; see `prompts.first_messages`."""
        ...

    def correction(
        self, *, reply: str, problem: str, outputs: Sequence[Output], rights: Sequence[Grid]
    ) -> tuple[Message, ...]:
        """What follows on a reply that is no solution.

        Args:
            reply: what was written.
            problem: what is wrong, in sentences.
            outputs: what the program made of the demonstrations; none where there is no program.
            rights: the outputs of the demonstrations.
        """
        ...


class Paper:
    """The multi-expert paper's: thousands of tokens."""

    name: ClassVar[str] = "paper"
    prompt: ClassVar[str] = prompts.PROMPT
    agents: ClassVar[Sequence[Agent]] = AGENTS
    most_tokens: ClassVar[int] = 2048
    continues: ClassVar[bool] = True

    def first(
        self, *, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid],
        before: Sequence[str],
    ) -> tuple[Message, ...]:  # fmt: skip
        """See `Style`."""
        return prompts.first_messages(
            agent=agent, demonstrations=demonstrations, test_inputs=test_inputs, before=before
        )  # fmt: skip

    def correction(
        self, *, reply: str, problem: str, outputs: Sequence[Output], rights: Sequence[Grid]
    ) -> tuple[Message, ...]:
        """See `Style`."""
        del outputs, rights
        return prompts.correction(reply=reply, problem=problem)


class Compact:
    """Some hundred tokens, for networks that were trained on it: one view, and whole programs again after feedback."""

    name: ClassVar[str] = "compact"
    prompt: ClassVar[str] = "arc-compact/1"
    agents: ClassVar[Sequence[Agent]] = (
        ONLY_GRID, agent_named("objects"), agent_named("objects_multicolor"), agent_named("pixels"),
    )  # fmt: skip
    most_tokens: ClassVar[int] = 256
    continues: ClassVar[bool] = False

    def first(
        self, *, agent: Agent, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid],
        before: Sequence[str],
    ) -> tuple[Message, ...]:  # fmt: skip
        """See `Style`."""
        del before
        return (Message("user", task_text(agent=agent, demonstrations=demonstrations, test_inputs=test_inputs)),)

    def correction(
        self, *, reply: str, problem: str, outputs: Sequence[Output], rights: Sequence[Grid]
    ) -> tuple[Message, ...]:
        """See `Style`."""
        del problem
        words = feedback_text(outputs=outputs, rights=rights) if outputs else NO_PROGRAM + AGAIN
        return (Message("assistant", reply), Message("user", words))


PAPER, COMPACT = Paper(), Compact()
STYLES: Mapping[str, Style] = {style.name: style for style in (PAPER, COMPACT)}
