"""The state machine of one episode: next turn, next action, and end. It calls nothing and never blocks."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerError
from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.core.refusals import refuses
from evaluator.core.suites.base import Candidates
from evaluator.core.transcripts import ActionProblem, ActionRun, StopReason, Transcript, TurnRun
from evaluator.core.turns import PNG, Asked, Formulation, Limits, PastTurn, Role, TurnReply
from evaluator.episodes.turns.environment import (
    Bounds,
    Call,
    Made,
    Outcome,
    Refused,
    Shown,
    ToolFault,
    TypedTask,
    known_names,
)
from evaluator.episodes.turns.reading import (
    Abstained,
    Actions,
    Answered,
    FinishedAction,
    Intent,
    PlannedAction,
    Stopped,
    Subgoals,
    UnreadableError,
    read_response,
)
from evaluator.episodes.turns.work import OpenTurn, Work, past_turn

UNREADABLE_IN_A_ROW = 3
"""Consecutive unreadable answers that end an episode."""
REFUSAL = (
    'The answer cannot be read: it is a refusal in words. {"plan": null, "reason": "..."} says that nothing can meet '
    "the request."
)
LONGEST_NAME = 100
"""Characters of the name of a result."""


class Episode:
    """The state of one episode: it has ended, a call is `ready`, or it waits for the answer to `next_turn()`."""

    notes: Mapping[str, JsonValue] = MappingProxyType({})
    """Notes of a planner that gave a whole plan."""

    def __init__(
        self,
        *,
        key: str,
        sample: int,
        scope: str,
        context: PlanContext,
        statement_tool: str,
        formulation: Formulation,
        bounds: Bounds,
        typed: TypedTask | None = None,
        candidates: Candidates | None = None,
    ) -> None:
        """Args:
        key: identifies the run and the task; the start of all turn keys.
        sample: index of the data point.
        scope: the state that its tools act on.
        context: the context for parsing plans.
        statement_tool: the tool of actions without a name and parentheses; empty: there is no such form.
        formulation: the order of planning and acting.
        bounds: its limits.
        typed: inputs and answer types, if tools take named, typed inputs.
        candidates: the form of the answer, if it may consist of several results.
        """
        self.failure: PlannerError | None = None
        """The planner's failure that ended it, if any."""
        self.stop: StopReason | None = None
        """Why it ended; None while it runs."""
        self.fault: str = ""
        """The sentence on the tool failure that ended it, if any."""
        self.answer: str | None = None
        """The complete answer, if it ended with one."""
        self.abstention: JsonValue = None
        """What the planner said if it abstained (`evaluator.core.plans.abstaining`)."""
        self.refusal = False
        """Whether its answer is a refusal in words."""
        self.work = Work() if typed is None else Work.starting_with(typed)
        """The actions on typed results."""
        self.sample, self._key, self._scope = sample, key, scope
        self._context, self._statement_tool = context, statement_tool
        self._formulation, self._bounds = formulation, bounds
        self._role = self._first_role
        self._turn = OpenTurn()
        self._over, self._past = list[TurnRun](), list[PastTurn]()
        self._queue: list[PlannedAction] = []
        self._ends_after: StopReason | None = None
        self._typed, self._candidates = typed, candidates
        self._values: dict[str, str] = {} if typed is None else typed.values()
        self._inputs = frozenset(self._values)
        self._pictures = False
        self._result_names: set[str] = set()
        """Names that actions gave to their results, including failed actions."""
        self._last: str | None = None
        self._named = tuple[str, ...]()
        self._unreadable, self._actions, self._tries, self._seconds = 0, 0, 0, 0.0

    def next_turn(self) -> Asked:
        """The next turn to request from the planner."""
        bounds, number = self._bounds, len(self._over) + 1
        return Asked(
            key=f"{self._key}/{self.sample}/{number}/{self._role}", formulation=self._formulation, role=self._role,
            turns=tuple(self._past), subgoals=self._turn.subgoals,
            limits=Limits(
                turns=bounds.turns, turns_left=bounds.turns - len(self._over), actions=bounds.actions,
                actions_left=bounds.actions - self._actions, seconds=bounds.seconds,
                seconds_left=round(max(0.0, bounds.seconds - self._seconds), 3),
                feedback_characters=bounds.feedback_characters,
            ),
        )  # fmt: skip

    def receive(self, reply: TurnReply) -> None:
        """Process the planner's answer."""
        self._turn.add(reply)
        self._seconds += reply.call.seconds
        self.notes = reply.notes or self.notes
        self._pictures = self._pictures or PNG in reply.response.accepts
        if not self._over and self._role is Role.JOINT and reply.response.formulation is not None:
            self._formulation = reply.response.formulation
            self._role = self._first_role
        try:
            intent = read_response(
                response=reply.response, role=self._role, context=self._context, statement_tool=self._statement_tool,
                is_typed=self._typed is not None, candidates=self._candidates,
            )  # fmt: skip
        except (PlanSyntaxError, UnreadableError) as error:
            # A planner of whole plans would only repeat itself.
            self._refuse(f"The answer cannot be read: {error}.", is_last=reply.response.plan is not None)
            return
        if problem := self._conclude(intent):
            self._refuse(problem, is_last=False)
        elif self.stop is None:
            self._unreadable = 0
            self._follow(intent)

    @property
    def _first_role(self) -> Role:
        """The role at the start of a turn."""
        return Role.JOINT if self._formulation is Formulation.INTEGRATED else Role.PLAN

    def _refuse(self, problem: str, *, is_last: bool) -> None:
        """Use a sentence as the feedback to an answer, and end the episode if there were too many such answers."""
        self._unreadable += 1
        self._turn.error = problem
        is_last = is_last or self._unreadable >= UNREADABLE_IN_A_ROW
        self._ends_after = StopReason.UNREADABLE if is_last else None
        self._end_turn()

    def fail(self, error: PlannerError) -> None:
        """End the episode because the planner failed."""
        self.failure = error
        if error.received:
            self._turn.received.append(error.received)
        if self._turn.received:
            self._over.append(self._turn.to_record(is_cut=False))
        self.stop = StopReason.CALL_FAILED

    @property
    def ready(self) -> Call | None:
        """The next action with the values of its references; None if the episode waits for an answer or has ended."""
        while self._queue and self.stop is None:
            action = self._queue[0]
            refused = self._refused_at_once(action)
            if refused is None:
                return self._call(action)
            self.finish_action(refused, seconds=0.0)
        return None

    def _refused_at_once(self, action: PlannedAction) -> Refused | None:
        """The refusal of an action without calling its tool; None: the tool decides."""
        known, offered = self._context.known, self._context.catalogue.tools
        if self._typed is None and known is not None and action.tool in known.tools and action.tool not in offered:
            message = f"{action.tool} is not offered for this task; there are: {', '.join(offered)}."
            return Refused(ActionProblem.UNKNOWN_TOOL, message)
        problem = self._problem_of_names(action)
        if problem:
            return Refused(ActionProblem.BAD_REFERENCE, problem)
        candidates = self._candidates
        if candidates is not None and action.tool in candidates.tools and self._tries >= candidates.tries:
            message = f"All {candidates.tries} candidates were tried; name those that count in the answer."
            return Refused(ActionProblem.TOO_MUCH, message)
        return None

    def _problem_of_names(self, action: PlannedAction) -> str:
        """The problem with the names in an action, as a sentence; empty if there is none."""
        if self._typed is not None:
            reserved = next((name for name in action.outputs if name.startswith("$") or name in self._inputs), None)
            if reserved is not None:
                return f"{reserved} is the name of an input of the request; call the result otherwise."
            if any(len(name) > LONGEST_NAME for name in action.outputs):
                return f"The name of a result has at most {LONGEST_NAME} characters."
            # Otherwise the name of a failed result would be used as a text.
            inputs = action.named.inputs.values() if action.named is not None else ()
            failed = next((name for name in inputs if name in self._result_names and name not in self._values), None)
            return f"There is no result {failed}; {known_names(self._values)}." if failed else ""
        for reference in action.references:
            if reference.name not in self._values:
                return f"There is no result {reference.name}; there are: {', '.join(self._values) or 'none yet'}."
        return ""

    def _call(self, action: PlannedAction) -> Call:
        # Tools with named inputs resolve references themselves: a text may look like one.
        names = self._values if self._typed is not None else [reference.name for reference in action.references]
        return Call(
            scope=self._scope, tool=action.tool, arguments=action.arguments, references=action.references,
            values={name: self._values[name] for name in names}, outputs=len(action.outputs), action=action.action,
            named=action.named, sample=self.sample, pictures=self._pictures,
        )  # fmt: skip

    def finish_action(self, outcome: Outcome, *, seconds: float) -> None:
        """Process the outcome of the ready call."""
        action = self._queue.pop(0)
        self._seconds += seconds
        self._actions += 1
        self._tries += bool(self._candidates and action.tool in self._candidates.tools)
        if isinstance(outcome, ToolFault):
            self._break(outcome, action=action, seconds=seconds)
            return
        outcome = self._checked(outcome, action=action)
        self._turn.actions.append(self._finished(outcome, action=action, seconds=seconds))
        if self._queue and self._actions >= self._bounds.actions:
            self._queue.clear()
            self._end_turn()
            self.stop = StopReason.ACTION_LIMIT
        elif not self._queue:
            self._end_turn()

    def _finished(self, outcome: Made | Refused, *, action: PlannedAction, seconds: float) -> FinishedAction:
        """Keep the results of an action, or after a failure forget the results that it would have replaced."""
        self._result_names.update(action.outputs)
        tool, arguments, seconds = action.tool, action.arguments, round(seconds, 6)
        if isinstance(outcome, Refused):
            for name in set(action.outputs) - self._inputs:
                self._values.pop(name, None)
                self.work.forget(name)
            run = ActionRun(
                tool=tool, arguments=arguments, problem=outcome.problem, error=outcome.message, seconds=seconds
            )
            return FinishedAction(planned=action, run=run, values={})
        self._values |= zip(action.outputs, outcome.values, strict=True)
        self._last = outcome.values[-1]
        shown = dict(zip(action.outputs, outcome.shown or map(Shown, outcome.values), strict=True))
        if outcome.run is not None:
            self.work.add(outcome.run, outputs=action.outputs, shown=[result.text for result in shown.values()])
        texts = {name: result.text for name, result in shown.items()}
        pictures = {name: result.picture for name, result in shown.items() if result.picture}
        run = ActionRun(tool=tool, arguments=arguments, outputs=texts, seconds=seconds)
        return FinishedAction(planned=action, run=run, values=texts, pictures=pictures)

    def _break(self, fault: ToolFault, *, action: PlannedAction, seconds: float) -> None:
        """End without a score, because a later turn would depend on the missing result."""
        run = ActionRun(
            tool=action.tool, arguments=action.arguments, problem=ActionProblem.UNAVAILABLE, error=fault.message,
            seconds=round(seconds, 6),
        )  # fmt: skip
        self.fault = fault.message
        self._turn.actions.append(FinishedAction(planned=action, run=run, values={}))
        self._queue.clear()
        self._over.append(self._turn.to_record(is_cut=False))
        self.stop = StopReason.TOOL_FAILED

    def transcript(self) -> Transcript:
        """The transcript, without a score."""
        assert self.stop is not None
        return Transcript(
            sample=self.sample, formulation=self._formulation, turns=self._over, stop=self.stop, answer=self.answer,
            score=None,
        )  # fmt: skip

    def _conclude(self, intent: Intent) -> str:
        """End an episode with named results if the planner asks for it.

        Returns:
            Why it cannot end, as a sentence; empty if it ended, or the planner did not ask for it.
        """
        if self._candidates is not None and isinstance(intent, Answered):
            try:
                answer = self._candidates.named_in(intent.text, values=self._values)
            except ValueError as error:
                return str(error)
            self._finish(StopReason.ANSWERED, answer=answer)
            return ""
        if self._typed is None or not isinstance(intent, Stopped | Answered):
            return ""
        if isinstance(intent, Answered):
            stop, names = StopReason.ANSWERED, self._typed.names_in(intent.text)
        else:
            stop = StopReason.STOPPED
            names = self._default_names(self._typed)
        # A planner may stop without a result, which means that the request is infeasible.
        problem = self._typed.problem(names=names, values=self._values) if names else ""
        if isinstance(intent, Answered) and not names:
            problem = f"The answer names no result; {known_names(self._values)}."
        if not problem:
            self._finish(stop, answer=self._answer(names))
        return problem

    def _default_names(self, typed: TypedTask) -> tuple[str, ...]:
        return typed.default_answers(results=tuple(self.work.results), used=frozenset(self.work.used))

    def _answer(self, names: Sequence[str]) -> str | None:
        """Set the answers to these results and return their text."""
        self.work.answer(names, values=self._values)
        return ", ".join(map(self.work.text_of, names)) or None

    def _follow(self, intent: Intent) -> None:
        match intent:
            case Stopped():
                self._finish(StopReason.STOPPED, answer=self._default_answer())
            case Abstained(said=said):
                self.abstention = said
                self._finish(StopReason.ABSTAINED, answer=None)
            case Answered(text=text):
                value = self._values.get(text.strip())
                self.refusal = value is None and refuses(text)
                self._finish(StopReason.ANSWERED, answer=text if value is None else value)
            case Subgoals(texts=texts):
                self._turn.subgoals = texts
                if self._role is Role.PLAN:
                    self._role = Role.GROUND
                else:
                    self._turn.error = "No action was given for this subgoal."
                    self._end_turn()
            case Actions(actions=actions, subgoals=subgoals, is_whole=is_whole, error=error, answers=answers):
                self._named = answers
                self._turn.subgoals = subgoals or self._turn.subgoals
                self._turn.error = error
                self._queue = list(actions)
                ends = is_whole or self._formulation is Formulation.ONEPASS
                self._ends_after = StopReason.COMPLETED if ends else None
                if not actions:
                    self._end_turn()

    def _finish(self, stop: StopReason, *, answer: str | None) -> None:
        self.answer = answer
        self._over.append(self._turn.to_record(is_cut=False))
        self.stop = self._end_by_planner(stop)

    def _end_by_planner(self, stop: StopReason) -> StopReason:
        """The end that the planner chose. Like a plan with neither steps nor answers, an episode with neither an action
        nor an answer abstains."""
        does_nothing = not self._actions and not (self.answer or "").strip()
        return StopReason.ABSTAINED if does_nothing and stop is not StopReason.UNREADABLE else stop

    def _end_turn(self) -> None:
        """Close the turn, and end the episode if a limit is reached."""
        past, is_cut = past_turn(
            index=len(self._over) + 1, subgoals=self._turn.subgoals, actions=self._turn.actions,
            error=self._turn.error, characters=self._bounds.feedback_characters,
        )  # fmt: skip
        self._past.append(past)
        self._over.append(self._turn.to_record(is_cut=is_cut))
        self._turn = OpenTurn()
        self._role = self._first_role
        if self._ends_after is not None:
            self.answer = None if self._ends_after is StopReason.UNREADABLE else self._result()
            self.stop = self._end_by_planner(self._ends_after)
        elif len(self._over) >= self._bounds.turns:
            self.stop = StopReason.TURN_LIMIT
        elif self._actions >= self._bounds.actions:
            self.stop = StopReason.ACTION_LIMIT
        elif self._seconds >= self._bounds.seconds:
            self.stop = StopReason.TIME_LIMIT

    def _result(self) -> str | None:
        """The answer of a whole plan, if any."""
        if self._candidates is not None:
            results = [self._values[name] for name in self._named if name in self._values]
            return self._candidates.answer(results) if results else self._default_answer()
        if self._typed is None:
            return self._values.get(self._named[0]) if self._named else self._last
        names = self._named or self._default_names(self._typed)
        # There is no further turn to correct the names.
        return None if self._typed.problem(names=names, values=self._values) else self._answer(names)

    def _default_answer(self) -> str | None:
        """The answer of a planner that stops without one."""
        return self._last if self._candidates is None else self._candidates.newest(self._values)

    def _checked(self, outcome: Made | Refused, *, action: PlannedAction) -> Made | Refused:
        """The outcome, or a refusal if the number of results is wrong or their total length exceeds the limit."""
        if isinstance(outcome, Refused):
            return outcome
        if len(outcome.values) != len(action.outputs):
            message = f"{action.tool} gave {len(outcome.values)} results, and the action names {len(action.outputs)}."
            return Refused(ActionProblem.BAD_ARGUMENTS, message)
        size = sum(len(text) for name, text in self._values.items() if name not in action.outputs)
        limit = self._bounds.held_characters
        if size + sum(map(len, outcome.values)) > limit:
            message = f"With this result the episode would hold more than {limit} characters; ask for less."
            return Refused(ActionProblem.TOO_MUCH, message)
        return outcome
