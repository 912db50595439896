"""The evaluation of an agent, in a thread beside the calls that answer it."""

import threading
from collections.abc import Callable, Sequence

from evaluator.core.records import ResultRecord
from evaluator.episodes.base import Evaluator
from evaluator.planners.agents.desk import end_of
from evaluator.planners.agents.mailbox import AgentLeft, AgentPlanner, Mailbox

_LAST_WORDS_SECONDS = 30.0
"""A running tool may take this long after the agent has disconnected."""


class AgentEvaluation:
    """Evaluates an agent on tasks one after the other, in its own thread."""

    def __init__(
        self, *, evaluator: Evaluator, mailbox: Mailbox, tasks: Sequence[str], run: str, done: Callable[[], None]
    ) -> None:
        """Args:
        evaluator: evaluator of the suite.
        mailbox: holds the agent's turns.
        tasks: keys of tasks.
        run: name of the run whose journal answers finished turns; empty: a new run.
        done: called when all tasks have records.
        """
        self.records: list[ResultRecord] = []
        """Records of finished tasks."""
        self.error: BaseException | None = None
        """Why the evaluation broke off, unless its agent disconnected."""
        self._evaluator, self._mailbox, self._tasks, self._run, self._done = evaluator, mailbox, tasks, run, done
        self._thread = threading.Thread(target=self._work, name="evaluation", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the evaluation of an agent that has disconnected."""
        self._mailbox.close()
        self._thread.join(_LAST_WORDS_SECONDS)

    def _work(self) -> None:
        planner = AgentPlanner(self._mailbox)
        try:
            for task in self._tasks:
                # One at a time: the time of a task that waits for the agent would count.
                for record in self._evaluator.run(planner=planner, tasks=[task], run=self._run):
                    self.records.append(record)
                    self._mailbox.ended(end_of(record))
            self._done()
        except AgentLeft:
            return
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            self.error = error
        finally:
            if self.error is None:
                self._mailbox.finish(f"All {len(self._tasks)} tasks are done. There is nothing left to do.")
            else:
                self._mailbox.finish(f"The evaluation broke off: {type(self.error).__name__}.")
