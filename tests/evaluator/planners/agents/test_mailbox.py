"""Open turns in one process: they wait for an agent, each takes one answer, and silence has an end."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from evaluator.core.planner import PlannerError
from evaluator.core.records import Reason
from evaluator.core.turns import TurnReply, TurnRequest, TurnResponse
from evaluator.planners.agents.desk import Ended, Nothing, call
from evaluator.planners.agents.mailbox import AgentLeft, AgentPlanner, Mailbox, MailboxDesk
from tests.evaluator.planners.agents.test_calls import TOOLS, past, request


def asking(mailbox: Mailbox, *requests: TurnRequest) -> "list[TurnReply | BaseException]":
    """Asks in a thread, one after the other, until the first is open; the list grows with the ends."""
    ends: list[TurnReply | BaseException] = []

    def work() -> None:
        for one in requests:
            try:
                ends.append(mailbox.ask(one))
            except BaseException as error:
                ends.append(error)

    threading.Thread(target=work, daemon=True).start()
    until(lambda: mailbox._open is not None)
    return ends


def until(condition: Callable[[], object]) -> None:
    for _ in range(500):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen")


def keyed(key: str, base: TurnRequest | None = None) -> TurnRequest:
    return (base or request()).model_copy(update={"key": key})


def test_a_turn_starts_when_the_agent_gets_it_and_takes_one_answer() -> None:
    now = [0.0]
    mailbox = Mailbox(tasks=1, clock=lambda: now[0])
    ends = asking(mailbox, keyed("a"))
    now[0] = 1000.0
    taken = mailbox.take()
    assert isinstance(taken, TurnRequest)
    now[0] = 1007.0
    assert mailbox.answer(request=taken, response=TurnResponse(answer="2"))
    until(lambda: ends)
    assert isinstance(ends[0], TurnReply)
    assert ends[0].call.seconds == 7.0
    assert ends[0].response.answer == "2"
    assert not mailbox.answer(request=taken, response=TurnResponse(answer="3"))


def test_a_silent_agent_gives_no_answer_in_time_but_only_once_it_has_the_task() -> None:
    now = [0.0]
    mailbox = Mailbox(tasks=1, silence_seconds=60, clock=lambda: now[0])
    ends = asking(mailbox, keyed("a"))
    now[0] = 100_000.0
    mailbox.take()
    assert not ends
    now[0] += 61
    mailbox.progress()
    with mailbox._changed:
        mailbox._changed.notify_all()
    until(lambda: ends)
    assert isinstance(ends[0], PlannerError)
    assert ends[0].reason is Reason.PLANNER_TIMEOUT
    assert str(ends[0]) == "No answer in time: the agent was silent for 60 seconds."


def test_an_agent_that_leaves_ends_the_evaluation_and_no_episode() -> None:
    mailbox = Mailbox(tasks=1)
    ends = asking(mailbox, keyed("a"))
    mailbox.close()
    until(lambda: ends)
    assert isinstance(ends[0], AgentLeft)
    with pytest.raises(AgentLeft):
        AgentPlanner(mailbox).turn_all([keyed("b")])


def test_parallel_calls_of_one_agent_are_answered_one_after_the_other() -> None:
    mailbox = Mailbox(tasks=1)
    ends = asking(
        mailbox, keyed("e/1/joint"), keyed("e/2/joint", request(past("R1 = Add(1, 1)", outputs={"R1": "2"}))),
        keyed(
            "e/3/joint",
            request(past("R1 = Add(1, 1)", outputs={"R1": "2"}), past("R2 = Add(2, 2)", outputs={"R2": "4"})),
        ),
    )  # fmt: skip
    mailbox.take()

    def add(number: int) -> str:
        arguments = {"one": str(number), "other": str(number)}
        made = anyio.run(lambda: call(desk=MailboxDesk(mailbox), tools=TOOLS, name="Add", arguments=arguments))
        return made.text

    with ThreadPoolExecutor(2) as pool:
        results = sorted(pool.map(add, [1, 2]))
    assert results == ["R1 = 2", "R2 = 4"]
    names = [end.response.steps[0]["outputs"] for end in ends if isinstance(end, TurnReply) and end.response.steps]
    assert names == [{"sum": "R1"}, {"sum": "R2"}]


def test_calls_without_a_task_and_of_tools_that_do_not_exist_get_sentences() -> None:
    mailbox = Mailbox(tasks=2, hand_out_seconds=0.01)
    desk = MailboxDesk(mailbox)

    def made(name: str, **arguments: str) -> tuple[str, bool]:
        result = anyio.run(lambda: call(desk=desk, tools=TOOLS, name=name, arguments=arguments))
        return result.text, result.is_error

    assert made("Add", one="1", other="1") == ("No task is open. Call next_task first.", True)
    assert made("Steal")[0].startswith('There is no tool "Steal"; there are: next_task')
    assert made("next_task") == ("The next task is being prepared: call next_task again.", False)
    assert made("progress") == ("0 of 2 tasks are done.", False)
    mailbox.ended(Ended("Done."))
    mailbox.finish("All done.")
    assert mailbox.take() == Nothing("All done.")
    assert made("progress") == ("1 of 2 tasks are done. All done.", False)
