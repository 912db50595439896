"""Holding a strategy's conversations with the policy that is trained, and remembering what it chose.

A plan is what comes out of the conversation; its probability is the product over the calls of it. So a plan of several
searches, such as a tree of `openagi/nonlinear`, is one action of the policy like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluator.planners.language_models.protocol import Answer, Beam, Call, Completion, GenerateCall
from evaluator.planners.protocol import PlannerRequest
from evaluator.planners.strategies.protocol import Conversation, Strategy
from evaluator.planners.training.policy import Policy, Question


@dataclass(slots=True)
class Episode:
    """One request, what the policy was asked about it and chose, and the plan that came of it."""

    task: str
    plan: object = None
    choices: list[tuple[Question, tuple[str, ...]]] = field(default_factory=list)


def hold_episodes(
    *, policy: Policy, strategy: Strategy, requests: Sequence[PlannerRequest], seed: int | None
) -> list[Episode]:
    """An episode for each request; their calls are answered together, in rounds.

    Args:
        seed: of what is drawn; None: the most probable token each time.

    Raises:
        ValueError: the strategy asks for anything but constrained completions.
    """
    episodes = [Episode(task=request.task.id) for request in requests]
    waiting: dict[int, tuple[Conversation, list[Question]]] = {}
    for index, request in enumerate(requests):
        conversation = strategy.converse(request)
        _advance(index=index, conversation=conversation, answers=None, waiting=waiting, episode=episodes[index])
    turn = 0
    while waiting:
        round_, waiting = waiting, {}
        questions = [question for _, asked in round_.values() for question in asked]
        chosen = iter(policy.draw(questions, seed=None if seed is None else seed + turn))
        turn += 1
        for index, (conversation, asked) in round_.items():
            names = [next(chosen) for _ in asked]
            episodes[index].choices += zip(asked, names, strict=True)
            answers = [_completion(question, found) for question, found in zip(asked, names, strict=True)]
            _advance(index=index, conversation=conversation, answers=answers, waiting=waiting, episode=episodes[index])
    return episodes


def _advance(
    *,
    index: int,
    conversation: Conversation,
    answers: Sequence[Answer] | None,
    waiting: dict[int, tuple[Conversation, list[Question]]],
    episode: Episode,
) -> None:
    try:
        calls = next(conversation) if answers is None else conversation.send(answers)
    except StopIteration as end:
        episode.plan = end.value.plan
    else:
        waiting[index] = (conversation, [_question(call) for call in calls])


def _question(call: Call) -> Question:
    if not isinstance(call, GenerateCall) or call.constraint is None:
        raise ValueError("task feedback trains strategies that ask for constrained completions and nothing else")
    return Question(prompt="\n".join(message.content for message in call.messages), constraint=call.constraint)


def _completion(question: Question, names: tuple[str, ...]) -> Completion:
    text = question.constraint.separator.join(names)
    return Completion(text=text, beams=(Beam(text=text, log_probability=0.0, names=names),))
