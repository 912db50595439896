"""The messages of the submit form while the user types, and the result of a test call.

Messages follow the rules of submitting, without side effects. An empty field is an error only after the user changed
it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.forms.boundfield import BoundWidget

from evaluator.planners.strategies.registry import StrategyEntry
from evaluator.planners.trials.trial import Exchange, Trial
from evaluator.scoring.readability import Label, split_notes
from leaderboard.catalog.library import library
from leaderboard.catalog.models import Suite
from leaderboard.people.models import User
from leaderboard.people.teams import teams_of
from leaderboard.planners import plans_files, secret_headers
from leaderboard.planners.data import ENDPOINT_URL, HEADER_NAME, HEADER_VALUE, NAME, REMOVE_HEADER, PlannerData
from leaderboard.planners.kinds import fields_of
from leaderboard.planners.kinds.language_models import STRATEGY, model_strategies
from leaderboard.planners.kinds.plans import PLANS_DIGEST, refusal_of_plans_files
from leaderboard.planners.models import Planner
from leaderboard.planners.plans_files import Content
from leaderboard.planners.services import check_name, find_planner
from leaderboard.platform.problems import FieldErrors
from leaderboard.quotas.services import quotas_of, quotas_of_teams
from leaderboard.submissions import services
from leaderboard.submissions.suite_facts import SuiteFacts, suite_facts
from leaderboard.submissions.web.forms import SubmitForm
from leaderboard.submissions.web.strategy_fields import form_name

_LONGEST_REQUEST = 6000


class ShownStep(NamedTuple):
    """A step of the plan as it was read."""

    tool: str
    inputs: str


class ShownTrial(NamedTuple):
    """A test call."""

    passed: bool
    verdict: str
    """A few words."""
    problem: str
    """The problem, or what the plan would score, as a sentence."""
    problems: tuple[str, ...]
    suite: str
    task: str
    request_text: str
    """What the task asks for."""
    request: str
    """The body that was sent, as JSON."""
    status: str
    seconds: str
    answer: str
    cut: str
    """How much of the answer is shown; empty: all of it."""
    steps: tuple[ShownStep, ...]
    exchanges: tuple["ShownExchange", ...]
    """What was sent to a language model, and what it answered."""
    adapted: tuple[str, ...]
    labels: tuple[Label, ...]
    tolerated: tuple[str, ...]
    """What was tolerated beside `labels`."""
    usage: str
    example: str
    """An example of a plan, as JSON, if the answer has none; else empty."""


class ShownExchange(NamedTuple):
    """One call of a language model."""

    status: str
    sent: str
    sent_cut: str
    """How much is shown; empty: all of it."""
    answer: str
    answer_cut: str


def shown_trial(trial: Trial) -> ShownTrial:
    labels, tolerated = split_notes(trial.tolerated)
    request = json.dumps(trial.request.model_dump(mode="json"), ensure_ascii=False, indent=1)
    plan = trial.plan if isinstance(trial.plan, dict) else {}
    steps = plan.get("steps")
    shown = len(trial.answer.encode())
    return ShownTrial(
        passed=trial.passed,
        verdict=trial.verdict.label,
        problem=trial.problem or trial.judgement,
        problems=trial.problems,
        suite=trial.suite,
        task=trial.task,
        request_text=trial.request.task.request,
        request=request if len(request) <= _LONGEST_REQUEST else request[:_LONGEST_REQUEST] + "\n… (cut)",
        status=_status(trial.status),
        seconds=f"{trial.seconds:.2f} s",
        answer=_pretty(trial.answer) if trial.answer_bytes == shown else trial.answer,
        cut=_cut(trial.answer, size=trial.answer_bytes),
        exchanges=tuple(map(_exchange, trial.exchanges)),
        adapted=trial.adapted,
        labels=labels,
        steps=tuple(_step(step) for step in steps if isinstance(step, dict)) if isinstance(steps, list) else (),
        tolerated=tolerated,
        usage=_usage(trial),
        example="" if trial.example is None else json.dumps(trial.example, ensure_ascii=False, indent=1),
    )


def _exchange(exchange: Exchange) -> ShownExchange:
    sent_cut, answer_cut = (
        _cut(exchange.sent, size=exchange.sent_bytes), _cut(exchange.answer, size=exchange.answer_bytes)
    )  # fmt: skip
    return ShownExchange(
        status=_status(exchange.status),
        sent=exchange.sent if sent_cut else _pretty(exchange.sent),
        sent_cut=sent_cut,
        answer=exchange.answer if answer_cut else _pretty(exchange.answer),
        answer_cut=answer_cut,
    )


def _status(status: int | None) -> str:
    return "no answer" if status is None else f"HTTP {status}"


def _cut(text: str, *, size: int) -> str:
    shown = len(text.encode())
    return f"{shown:,} of {size:,} bytes" if size > shown else ""


def _step(step: Mapping[str, object]) -> ShownStep:
    inputs = step.get("inputs")
    named = ", ".join(f"{name}: {value}" for name, value in inputs.items()) if isinstance(inputs, dict) else ""
    return ShownStep(tool=str(step.get("tool", "?")), inputs=named)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def _usage(trial: Trial) -> str:
    reported = [
        f"{count:,} {name} tokens"
        for name, count in (("prompt", trial.prompt_tokens), ("completion", trial.completion_tokens))
        if count is not None
    ]
    more = [f"{trial.alternatives} alternative{'' if trial.alternatives == 1 else 's'}"] if trial.alternatives else []
    return ", ".join([*reported, *more])


_READ_AT_MOST = 300
"""Limit of plans of a file that are parsed within the request."""
_SHOWN_BESIDE_ANOTHER = {PLANS_DIGEST.name: "plans_file"}
"""Hidden fields, and the visible fields that show their errors."""


class Found(NamedTuple):
    """The messages of a field."""

    field: str
    errors: Sequence[str] = ()
    good: str = ""
    caution: str = ""
    """A warning about a probable mistake, which may be submitted."""


def check(*, user: User, form: SubmitForm, changed: str, content: Content | None = None) -> list[Found]:
    """The messages of every field of the form.

    Args:
        form: bound.
        changed: name of the field that was just changed.
        content: the uploaded plans file.
    """
    form.is_valid()
    data = form.data_entered()
    errors = {**form.errors, **_problems(user=user, form=form, data=data, content=content)}
    errors = {_SHOWN_BESIDE_ANOTHER.get(name, name): texts for name, texts in errors.items()}
    for name, texts in _used_up(user=user, data=data).items():
        errors.setdefault(name, texts)
    good = dict(_good_news(user=user, data=data, content=content))
    shown = [name for name, field in form.fields.items() if not field.widget.is_hidden]
    return [
        Found(
            field=name,
            errors=[str(text) for text in errors.get(name, ())] if name == changed or _entered(form, name) else [],
            good="" if name in errors else good.get(name, ""),
            caution="" if name in errors or content is None or name != "plans_file" else _doubts(content, data=data),
        )
        for name in shown
    ]


def _entered(form: SubmitForm, name: str) -> bool:
    return bool(form.data.getlist(name) and any(form.data.getlist(name))) or name in form.files


def _problems(
    *, user: User, form: SubmitForm, data: services.SubmissionData, content: Content | None
) -> Mapping[str, Sequence[str]]:
    problems = services.problems(user=user, data=data)
    found: dict[str, Sequence[str]] = {form_name(field): texts for field, texts in problems.items()}
    if content is not None:
        # It gets its digest only when it is submitted.
        for name in ("plans_file", PLANS_DIGEST.name):
            found.pop(name, None)
        if content.imported is not None and found.get("suites") == [refusal_of_plans_files(data.suites)]:
            del found["suites"]
        try:
            for suite in data.suites:
                plans_files.check_tasks(content.plans, suite=suite)
        except FieldErrors as problems:
            found |= problems.errors
    if data.planner.kind and "name" not in found and form.cleaned_data.get("name"):
        found |= check_name(data=data.planner, planner=find_planner(owner=user, name=data.planner[NAME]))
    return found


def _used_up(*, user: User, data: services.SubmissionData) -> Mapping[str, Sequence[str]]:
    """Errors for quotas that this submission would exceed."""
    quotas = quotas_of(user=user, suites=data.suites)
    if data.team:
        quotas += quotas_of_teams(teams=list(teams_of(user).filter(slug=data.team)), suites=data.suites)
    for quota in quotas:
        if quota.left is None or quota.left >= (1 if quota.suite else len(data.suites)):
            continue
        whose = f"The team {quota.team} has" if quota.team else "You have"
        of = f" of {quota.suite}" if quota.suite else ""
        left = f"only {quota.left}" if quota.left else "none"
        again = f"more from {quota.free_at:%Y-%m-%d %H:%M} UTC"
        return {"suites": [f"{whose} {left} of {quota.limit} evaluations{of} left today; {again}."]}
    return {}


def _good_news(*, user: User, data: services.SubmissionData, content: Content | None) -> Iterator[tuple[str, str]]:
    planner = data.planner
    is_named = NAME.is_given(planner[NAME])
    there = find_planner(owner=user, name=planner[NAME]) if is_named else None
    if is_named:
        again = "You already have this planner: this adds an evaluation."
        yield NAME.name, again if there else "This name is available."
    if planner[ENDPOINT_URL]:
        yield ENDPOINT_URL.name, "Allowed; checked again at each call."
    if HEADER_NAME in fields_of(planner.kind):
        yield from _header_news(planner, there=there)
    if content is not None:
        yield "plans_file", plans_news(content, suites=data.suites)


def _header_news(planner: PlannerData, *, there: Planner | None) -> Iterator[tuple[str, str]]:
    kept = None if there is None else secret_headers.kept_header(there)
    if kept is None:
        return
    if planner[REMOVE_HEADER]:
        yield REMOVE_HEADER.name, f"{kept.name} will be removed when you submit."
    elif planner[HEADER_VALUE]:
        yield HEADER_VALUE.name, f"It replaces {kept.name} when you submit."
    else:
        yield HEADER_NAME.name, f"{kept.in_words()}: it stays as it is."


class SuiteChoice(NamedTuple):
    """A suite in the form."""

    choice: BoundWidget
    suite: Suite
    facts: SuiteFacts


def suite_choices(form: SubmitForm) -> list[SuiteChoice]:
    """The suites of the form, with what they ask of a planner; two queries."""
    suites = {suite.slug: suite for suite in form.fitting_suites}
    # A strategy may call its model several times for one plan.
    asks_once = ENDPOINT_URL in form.kind.fields and STRATEGY not in form.kind.fields
    facts = suite_facts(list(suites.values()), unit="call" if asks_once else "plan")
    return [
        SuiteChoice(choice, suites[slug], facts[slug])
        for choice in form["suites"]
        if (slug := str(choice.data["value"])) in suites
    ]


def strategies_offered(form: SubmitForm) -> list[StrategyEntry]:
    """The strategies of the form, each with its sentence; empty for kinds without one."""
    if STRATEGY.name not in form.fields:
        return []
    widget: Any = form.fields[STRATEGY.name].widget
    return [model_strategies()[name] for name, _ in widget.choices]


def plans_news(content: Content, *, suites: Sequence[str]) -> str:
    """How many tasks of the suite have a plan in the file."""
    count = len(content.plans.plans)
    if len(suites) != 1 or not Suite.objects.filter(slug=suites[0], current=True, conditions__experts=False).exists():
        return f"{count} plan{'' if count == 1 else 's'}."
    slug = suites[0]
    total = plans_files.tasks_of(slug).count()
    ended = "count as unanswered" if content.imported is None else "are not run, so that no board ranks it"
    left_out = f"; {total - count} are missing and {ended}" if total > count else ""
    return f"{count} of {total} tasks of {slug} have a plan{left_out}."


def _doubts(content: Content, *, data: services.SubmissionData) -> str:
    """A warning about unreadable plans and plans without steps, which may be submitted."""
    suite = Suite.objects.filter(slug__in=data.suites, current=True, conditions__experts=False).first()
    if suite is None:
        return ""
    tried = dict(list(content.plans.plans.items())[:_READ_AT_MOST])
    found = library().read_plans(suite=suite.slug, plans={task: given.plan for task, given in tried.items()})
    of = f" of the first {len(tried)}" if len(tried) < len(content.plans.plans) else ""
    said = []
    if found.unreadable:
        task, why = next(iter(found.unreadable.items()))
        said.append(f"{len(found.unreadable)}{of} cannot be read and will score 0. {task}: {why}.")
    if found.empty:
        said.append(
            f"{len(found.empty)}{of} {'has' if len(found.empty) == 1 else 'have'} no steps, such as {found.empty[0]}."
        )
    return " ".join(said)
