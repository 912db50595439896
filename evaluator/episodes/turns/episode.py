"""One episode: what to ask next, what to run next, and when it is over. It waits for nothing and calls nobody."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerError
from evaluator.core.plans.model import PlanContext, PlanSyntaxError
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
    Actions,
    Answered,
    Done,
    Intent,
    Stopped,
    Subgoals,
    UnreadableError,
    Wanted,
    read_response,
)
from evaluator.episodes.turns.work import OpenTurn, Work, past_turn

UNREADABLE_IN_A_ROW = 3
"""Answers that cannot be read before an episode ends."""
LONGEST_NAME = 100
"""Characters of the name of a result."""


class Episode:
    """The state of one episode. Either it is over, or a call is `ready`, or an answer to `asked()` is awaited."""

    notes: Mapping[str, JsonValue] = MappingProxyType({})
    """Of a planner that gave a whole plan."""

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
        key: of the task, and of this run of it: the beginning of the keys of its turns.
        sample: index of the data point.
        scope: what its tools act on.
        context: what plans are read against.
        statement_tool: the tool of actions without a name and parentheses; empty if there is no such form.
        formulation: how planning and acting take turns.
        bounds: what it may use.
        typed: what it starts with, where tools take named inputs of declared types.
        candidates: how its answer is several results, if it is.
        """
        self.failure: PlannerError | None = None
        """Why the planner gave no answer, if that is how it ended."""
        self.stop: StopReason | None = None
        """Why it ended; None as long as it goes on."""
        self.fault: str = ""
        """The sentence of a tool's failure that ended it."""
        self.answer: str | None = None
        """In full, once it ended with one."""
        self.work = Work() if typed is None else Work.begun(typed)
        """What was done with typed results, and what they are called."""
        self.sample, self._key, self._scope = sample, key, scope
        self._context, self._statement_tool = context, statement_tool
        self._formulation, self._bounds = formulation, bounds
        self._role = self._first_role
        self._turn = OpenTurn()
        self._over, self._past = list[TurnRun](), list[PastTurn]()
        self._queue: list[Wanted] = []
        self._ends_after: StopReason | None = None
        self._typed, self._candidates = typed, candidates
        self._values: dict[str, str] = {} if typed is None else typed.held()
        self._given = frozenset(self._values)
        self._pictures = False
        self._tried: set[str] = set()
        """Names that actions gave to their results, also to those that failed."""
        self._last: str | None = None
        self._named = tuple[str, ...]()
        self._unreadable, self._actions, self._tries, self._seconds = 0, 0, 0, 0.0

    def asked(self) -> Asked:
        """What to ask the planner next."""
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

    def take(self, reply: TurnReply) -> None:
        """Take the planner's answer."""
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
            # A planner that knows only whole plans would repeat itself.
            self._refuse(f"The answer cannot be read: {error}.", is_last=reply.response.plan is not None)
            return
        if problem := self._conclude(intent):
            self._refuse(problem, is_last=False)
        elif self.stop is None:
            self._unreadable = 0
            self._follow(intent)

    @property
    def _first_role(self) -> Role:
        """Of a turn."""
        return Role.JOINT if self._formulation is Formulation.INTEGRATED else Role.PLAN

    def _refuse(self, problem: str, *, is_last: bool) -> None:
        """Give a sentence as the feedback to an answer, unless there were too many such answers."""
        self._unreadable += 1
        self._turn.error = problem
        is_last = is_last or self._unreadable >= UNREADABLE_IN_A_ROW
        self._ends_after = StopReason.UNREADABLE if is_last else None
        self._end_turn()

    def fail(self, error: PlannerError) -> None:
        """The planner gave no answer."""
        self.failure = error
        if error.received:
            self._turn.received.append(error.received)
        if self._turn.received:
            self._over.append(self._turn.kept(is_cut=False))
        self.stop = StopReason.CALL_FAILED

    @property
    def ready(self) -> Call | None:
        """The next action, with the values that it names; None if an answer is awaited or the episode is over."""
        while self._queue and self.stop is None:
            wanted = self._queue[0]
            refused = self._refused_at_once(wanted)
            if refused is None:
                return self._call(wanted)
            self.done(refused, seconds=0.0)
        return None

    def _refused_at_once(self, wanted: Wanted) -> Refused | None:
        """The outcome of an action that is refused before its tool is called; None: the tool decides."""
        known, offered = self._context.known, self._context.catalogue.tools
        if self._typed is None and known is not None and wanted.tool in known.tools and wanted.tool not in offered:
            message = f"{wanted.tool} is not offered for this task; there are: {', '.join(offered)}."
            return Refused(ActionProblem.UNKNOWN_TOOL, message)
        problem = self._problem_of_names(wanted)
        if problem:
            return Refused(ActionProblem.BAD_REFERENCE, problem)
        candidates = self._candidates
        if candidates is not None and wanted.tool in candidates.tools and self._tries >= candidates.tries:
            message = f"All {candidates.tries} candidates were tried; name those that count in the answer."
            return Refused(ActionProblem.TOO_MUCH, message)
        return None

    def _problem_of_names(self, wanted: Wanted) -> str:
        """What is wrong with the names that an action takes or gives, as a sentence; empty if nothing is."""
        if self._typed is not None:
            taken = next((name for name in wanted.outputs if name.startswith("$") or name in self._given), None)
            if taken is not None:
                return f"{taken} is the name of an input of the request; call the result otherwise."
            if any(len(name) > LONGEST_NAME for name in wanted.outputs):
                return f"The name of a result has at most {LONGEST_NAME} characters."
            # Otherwise the name of a result that failed would be taken as a text.
            inputs = wanted.named.inputs.values() if wanted.named is not None else ()
            failed = next((name for name in inputs if name in self._tried and name not in self._values), None)
            return f"There is no result {failed}; {known_names(self._values)}." if failed else ""
        for reference in wanted.references:
            if reference.name not in self._values:
                return f"There is no result {reference.name}; there are: {', '.join(self._values) or 'none yet'}."
        return ""

    def _call(self, wanted: Wanted) -> Call:
        # Tools with named inputs find their references themselves: a text may contain what looks like one.
        names = self._values if self._typed is not None else [reference.name for reference in wanted.references]
        return Call(
            scope=self._scope, tool=wanted.tool, arguments=wanted.arguments, references=wanted.references,
            values={name: self._values[name] for name in names}, outputs=len(wanted.outputs), action=wanted.action,
            named=wanted.named, sample=self.sample, pictures=self._pictures,
        )  # fmt: skip

    def done(self, outcome: Outcome, *, seconds: float) -> None:
        """Take the outcome of the call that was ready."""
        wanted = self._queue.pop(0)
        self._seconds += seconds
        self._actions += 1
        self._tries += bool(self._candidates and wanted.tool in self._candidates.tools)
        if isinstance(outcome, ToolFault):
            self._break(outcome, wanted=wanted, seconds=seconds)
            return
        outcome = self._checked(outcome, wanted=wanted)
        self._turn.actions.append(self._taken(outcome, wanted=wanted, seconds=seconds))
        if self._queue and self._actions >= self._bounds.actions:
            self._queue.clear()
            self._end_turn()
            self.stop = StopReason.ACTION_LIMIT
        elif not self._queue:
            self._end_turn()

    def _taken(self, outcome: Made | Refused, *, wanted: Wanted, seconds: float) -> Done:
        """Hold the results of an action, or forget those that it would have replaced."""
        self._tried.update(wanted.outputs)
        tool, arguments, seconds = wanted.tool, wanted.arguments, round(seconds, 6)
        if isinstance(outcome, Refused):
            for name in set(wanted.outputs) - self._given:
                self._values.pop(name, None)
                self.work.forget(name)
            run = ActionRun(
                tool=tool, arguments=arguments, problem=outcome.problem, error=outcome.message, seconds=seconds
            )
            return Done(wanted=wanted, run=run, values={})
        self._values |= zip(wanted.outputs, outcome.values, strict=True)
        self._last = outcome.values[-1]
        shown = dict(zip(wanted.outputs, outcome.shown or map(Shown, outcome.values), strict=True))
        if outcome.run is not None:
            self.work.add(outcome.run, outputs=wanted.outputs, shown=[result.text for result in shown.values()])
        texts = {name: result.text for name, result in shown.items()}
        pictures = {name: result.picture for name, result in shown.items() if result.picture}
        run = ActionRun(tool=tool, arguments=arguments, outputs=texts, seconds=seconds)
        return Done(wanted=wanted, run=run, values=texts, pictures=pictures)

    def _break(self, fault: ToolFault, *, wanted: Wanted, seconds: float) -> None:
        """End without a score: the next turn would depend on a result that could not be made."""
        run = ActionRun(
            tool=wanted.tool, arguments=wanted.arguments, problem=ActionProblem.UNAVAILABLE, error=fault.message,
            seconds=round(seconds, 6),
        )  # fmt: skip
        self.fault = fault.message
        self._turn.actions.append(Done(wanted=wanted, run=run, values={}))
        self._queue.clear()
        self._over.append(self._turn.kept(is_cut=False))
        self.stop = StopReason.TOOL_FAILED

    def transcript(self) -> Transcript:
        """What happened; without a score."""
        assert self.stop is not None
        return Transcript(
            sample=self.sample, formulation=self._formulation, turns=self._over, stop=self.stop, answer=self.answer,
            score=None,
        )  # fmt: skip

    def _conclude(self, intent: Intent) -> str:
        """End an episode with typed results if the planner wants that.

        Returns:
            Why it cannot end so, as a sentence; empty if it ended, or the planner wants something else.
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
            names = self._typed.last(made=tuple(self.work.made), taken=frozenset(self.work.taken))
        # A planner may stop without any result: it says that nothing can be done.
        problem = self._typed.problem(names=names, values=self._values) if names else ""
        if isinstance(intent, Answered) and not names:
            problem = f"The answer names no result; {known_names(self._values)}."
        if not problem:
            self._finish(stop, answer=self._answer(names))
        return problem

    def _answer(self, names: Sequence[str]) -> str | None:
        """Take these results as the answers."""
        self.work.answer(names, values=self._values)
        return ", ".join(map(self.work.shown_as, names)) or None

    def _follow(self, intent: Intent) -> None:
        match intent:
            case Stopped():
                self._finish(StopReason.STOPPED, answer=self._default_answer())
            case Answered(text=text):
                self._finish(StopReason.ANSWERED, answer=self._values.get(text.strip(), text))
            case Subgoals(texts=texts):
                self._turn.subgoals = texts
                if self._role is Role.PLAN:
                    self._role = Role.GROUND
                else:
                    self._turn.error = "No action was given for this subgoal."
                    self._end_turn()
            case Actions(wanted=wanted, subgoals=subgoals, is_whole=is_whole, error=error, answers=answers):
                self._named = answers
                self._turn.subgoals = subgoals or self._turn.subgoals
                self._turn.error = error
                self._queue = list(wanted)
                ends = is_whole or self._formulation is Formulation.ONEPASS
                self._ends_after = StopReason.COMPLETED if ends else None
                if not wanted:
                    self._end_turn()

    def _finish(self, stop: StopReason, *, answer: str | None) -> None:
        self.answer = answer
        self._over.append(self._turn.kept(is_cut=False))
        self.stop = stop

    def _end_turn(self) -> None:
        """Close the turn, and find out whether there is another."""
        past, is_cut = past_turn(
            index=len(self._over) + 1, subgoals=self._turn.subgoals, actions=self._turn.actions,
            error=self._turn.error, characters=self._bounds.feedback_characters,
        )  # fmt: skip
        self._past.append(past)
        self._over.append(self._turn.kept(is_cut=is_cut))
        self._turn = OpenTurn()
        self._role = self._first_role
        if self._ends_after is not None:
            self.answer = None if self._ends_after is StopReason.UNREADABLE else self._result()
            self.stop = self._ends_after
        elif len(self._over) >= self._bounds.turns:
            self.stop = StopReason.TURN_LIMIT
        elif self._actions >= self._bounds.actions:
            self.stop = StopReason.ACTION_LIMIT
        elif self._seconds >= self._bounds.seconds:
            self.stop = StopReason.TIME_LIMIT

    def _result(self) -> str | None:
        """The answer of a whole plan."""
        if self._candidates is not None:
            results = [self._values[name] for name in self._named if name in self._values]
            return self._candidates.answer(results) if results else self._default_answer()
        if self._typed is None:
            return self._values.get(self._named[0]) if self._named else self._last
        names = self._named or self._typed.last(made=tuple(self.work.made), taken=frozenset(self.work.taken))
        # Nobody can be asked to name others.
        return None if self._typed.problem(names=names, values=self._values) else self._answer(names)

    def _default_answer(self) -> str | None:
        """The answer of a planner that stops without giving one."""
        return self._last if self._candidates is None else self._candidates.newest(self._values)

    def _checked(self, outcome: Made | Refused, *, wanted: Wanted) -> Made | Refused:
        """The outcome, unless it has another number of results than the action names, or the episode would hold too
        much with it: planners are hostile, and many episodes open."""
        if isinstance(outcome, Refused):
            return outcome
        if len(outcome.values) != len(wanted.outputs):
            message = f"{wanted.tool} gave {len(outcome.values)} results, and the action names {len(wanted.outputs)}."
            return Refused(ActionProblem.BAD_ARGUMENTS, message)
        held = sum(len(text) for name, text in self._values.items() if name not in wanted.outputs)
        limit = self._bounds.held_characters
        if held + sum(map(len, outcome.values)) > limit:
            message = f"With this result the episode would hold more than {limit} characters; ask for less."
            return Refused(ActionProblem.TOO_MUCH, message)
        return outcome
