"""What the site asks of suites, planners and endpoints, behind one object that tests replace by a fake, and the
conditions under which this installation evaluates a suite. `boards.services` compares evaluations by them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from evaluator.core.records import Reason
from evaluator.core.suites.hidden import HIDDEN, HiddenSeed
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from leaderboard.catalog.hidden_data import (
    REHEARSAL,
    USUAL_DATA,
    DataChoice,
    NoSeedError,
    checked_hidden_seed,
    chosen_season,
)
from leaderboard.catalog.models import Season, Suite
from leaderboard.people.models import User
from leaderboard.platform.database import give_connection_back
from leaderboard.platform.problems import ProblemError

if TYPE_CHECKING:
    from evaluator.core.suites.base import Suite as LibrarySuite
    from evaluator.episodes.base import Episode
    from evaluator.planners.trials.process import TrialSettings
    from evaluator.planners.trials.trial import Trial
    from evaluator.rewards.function import Proposal


class AddressRefusedError(Exception):
    """An endpoint address that may not be called; the message is a sentence for its owner."""


class RewardsRefusedError(Exception):
    """Plans that cannot be rewarded; the message is a sentence for the user."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field
        """What is wrong: `suite` or `plans`."""


class PlansRead(NamedTuple):
    """Plans of a file that will probably not score."""

    unreadable: Mapping[str, str]
    """Why no parser reads them, by task."""
    empty: Sequence[str]
    """Tasks whose plan has no steps; abstentions are left out."""


NOT_READY = "This site cannot evaluate this suite at present. Its operators have been notified. Try again later."
"""What users read about a `NotReadyError`; its own message is for operators."""


class TryLaterError(ProblemError):
    """Something that a submission needs is unavailable at present."""

    status = 503
    code = "not_ready"
    for_people: str
    """What users read."""

    @property
    def sentence(self) -> str:
        return self.for_people


class NotReadyError(TryLaterError):
    """This installation cannot evaluate a suite. `submissions.readiness` notifies the operators."""

    for_people = NOT_READY

    def __init__(self, *, suite: str, why: str) -> None:
        self.suite, self.why = suite, why
        super().__init__(f"This site cannot evaluate suite {suite} at present: {why}.")


class EvaluatorLibrary(Protocol):
    """What the site needs of the `evaluator` package."""

    def rules_digest(self, *, suite: str, profile: str) -> str:
        """Digest of everything besides suite, data and samples that a score depends on: the profile's, or that of the
        rules by which plans are judged.

        Raises:
            NotReadyError: suite or profile cannot be read.
        """
        ...

    def tolerances(self, *, profile: str) -> Mapping[str, float]:
        """By tool, the largest difference of outputs between classes of devices, where a profile declares one. Empty if
        it cannot be read."""
        ...

    def profiles_of_hubs(self) -> frozenset[str]:
        """Names of the profiles whose experts load checkpoints that somebody else releases."""
        ...

    def lock_problem(self, profile: str) -> str:
        """Why no key of `LOCK_KEYS` vouches for the checkpoints of such a profile, as a phrase; empty: one does."""
        ...

    def data_digest(self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None) -> str:
        """Digest of the data (`Episode.data_digest`).

        Args:
            hidden: seed of the hidden split.

        Raises:
            NotReadyError: there are no data for the suite.
        """
        ...

    def not_run_reasons(
        self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None
    ) -> Mapping[str, tuple[Reason, str]]:
        """Why tasks cannot run in this profile and split, by task key; tasks that can run are left out.

        Args:
            hidden: seed of the hidden split.

        Raises:
            NotReadyError: the profile cannot be read, or there are no data for the suite.
        """
        ...

    def perturbed_tasks(self, *, suite: str, profile: str) -> Mapping[str, Sequence[str]]:
        """By perturbation, in the order of reports, the keys of the tasks whose requests it changes, at least one.

        Raises:
            NotReadyError: suite or profile cannot be read.
        """
        ...

    def summarise(
        self, *, suite: str, results: Sequence[TaskScore], samples: int, is_deterministic: bool = False
    ) -> dict[str, Any]:
        """The metrics of an evaluation with intervals, as `Evaluation.summary` documents it. `is_deterministic`:
        whether the planner answers equal requests alike."""
        ...

    def check_endpoint(self, *, url: str, allow_private: bool, caller: str | None) -> None:
        """Refuse an address that may not be called.

        Args:
            caller: on whose behalf name servers are asked, which takes at most 2 seconds; None: none is asked.

        Raises:
            AddressRefusedError: it is refused.
        """
        ...

    def read_plans(self, *, suite: str, plans: Mapping[str, Any]) -> PlansRead:
        """Read plans of a suite that judges plans. Tasks that the suite does not have are left out."""
        ...

    def try_endpoint(self, *, suite: str, profile: str, settings: "TrialSettings") -> "Trial":
        """Send one request of a suite to an endpoint, once, as a worker would, from a process of its own; or have a
        strategy ask a chat endpoint about it.

        Raises:
            NotReadyError: suite or profile cannot be read.
        """
        ...

    def check_rewards(self, *, suite: str, profile: str, tasks: Sequence[str]) -> str:
        """The training split of a suite, whose tasks can be rewarded there.

        Raises:
            RewardsRefusedError: the suite has no such split, or a key names no task.
            NotReadyError: the suite, its data or the models cannot be used here.
        """
        ...

    def rewards(self, *, suite: str, profile: str, samples: int, proposals: "Sequence[Proposal]") -> list[float | None]:
        """The score of each plan on the training split, executed in a process of its own.

        Raises:
            LimitExceededError: that took too much time or memory.
        """
        ...


class Library:
    """The real thing. Nothing here imports torch."""

    def rules_digest(self, *, suite: str, profile: str) -> str:
        with _ready(suite):
            return _episode(suite).rules_digest(profile, arbiter=settings.ARBITER)

    def tolerances(self, *, profile: str) -> Mapping[str, float]:
        from evaluator.execution.experts.profile import ProfileError, load_profile

        try:
            experts = load_profile(profile).experts
        except ProfileError:
            return {}
        return {tool: spec.tolerance for tool, spec in experts.items() if spec.tolerance is not None}

    def profiles_of_hubs(self) -> frozenset[str]:
        return _profiles_of_hubs()

    def lock_problem(self, profile: str) -> str:
        from evaluator.execution.experts.checkpoints import FetchError, weights_folder
        from evaluator.execution.experts.profile import ProfileError, load_profile
        from evaluator.execution.experts.signed_locks import lock_problem

        try:
            loaded = load_profile(profile)
            owner = loaded.owner_of_weights
            return lock_problem(
                profile=owner, checkpoints=loaded.checkpoints, folder=weights_folder(owner), keys=settings.LOCK_KEYS
            )
        except (FetchError, ProfileError) as error:
            return str(error)

    def data_digest(self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None) -> str:
        from evaluator.episodes.base import Setting

        setting = Setting(profile=profile, split=split, hidden=hidden)
        with _ready(suite):
            return _episode(suite).data_digest(suite=_suite(suite), setting=setting)

    def not_run_reasons(
        self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None
    ) -> Mapping[str, tuple[Reason, str]]:
        from evaluator.episodes.base import Setting

        found = _suite(suite)
        with _ready(suite):
            return _episode(suite).not_run(suite=found, setting=Setting(profile=profile, split=split, hidden=hidden))

    def perturbed_tasks(self, *, suite: str, profile: str) -> Mapping[str, Sequence[str]]:
        from evaluator.reliability.perturbations import perturbations_of
        from evaluator.reliability.perturbed_evaluation import not_perturbed

        found, episode = _suite(suite), _episode(suite)
        with _ready(suite):
            offered = episode.offered(suite=found, profile=profile)
        changed = {}
        for one in perturbations_of(suite=found, in_turns=episode.in_turns):
            left_out = not_perturbed(perturbation=one.name, suite=found, offered=offered)
            changed[one.name] = [task.key for task in found.tasks if task.key not in left_out]
        return {name: tasks for name, tasks in changed.items() if tasks}

    def summarise(
        self, *, suite: str, results: Sequence[TaskScore], samples: int, is_deterministic: bool = False
    ) -> dict[str, Any]:
        return summarise(suite=_suite(suite), results=results, samples=samples, is_deterministic=is_deterministic)

    def check_endpoint(self, *, url: str, allow_private: bool, caller: str | None) -> None:
        from evaluator.network.guarded_connections import EgressRefusedError
        from evaluator.network.ssrf_guard import check_url  # noqa: TID251 - waits in the caller's share

        try:
            check_url(url=url, allow_private=allow_private, look_up=caller is not None, caller=caller or "")
        except EgressRefusedError as error:
            raise AddressRefusedError(str(error)) from error

    def read_plans(self, *, suite: str, plans: Mapping[str, Any]) -> PlansRead:
        from evaluator.core.plans.abstaining import FORM as ABSTENTION
        from evaluator.core.plans.model import PlanSyntaxError
        from evaluator.episodes.judgement import all_tools
        from evaluator.replies.read import read_plan

        found = _suite(suite)
        tasks = {task.key: task for task in found.tasks if task.key in plans}
        wrong: dict[str, str] = {}
        empty: list[str] = []
        for key, task in tasks.items():
            try:
                parsed = read_plan(value=plans[key], context=all_tools(suite=found, task=task))
            except PlanSyntaxError as error:
                wrong[key] = str(error)
            else:
                if not parsed.plan.steps and parsed.form != ABSTENTION:
                    empty.append(key)
        return PlansRead(unreadable=wrong, empty=empty)

    def try_endpoint(self, *, suite: str, profile: str, settings: "TrialSettings") -> "Trial":
        from evaluator.planners.trials.process import try_confined

        found = _suite(suite)
        with _ready(suite):
            offered = _episode(suite).offered(suite=found, profile=profile)
        return try_confined(suite=found, settings=settings, offered=offered)

    def check_rewards(self, *, suite: str, profile: str, tasks: Sequence[str]) -> str:
        from evaluator.episodes.base import Setting
        from evaluator.rewards import SplitRefusedError, training_split

        found = _suite(suite)
        try:
            split = training_split(suite=found)
        except SplitRefusedError as error:
            raise RewardsRefusedError(f"{str(error)[:1].upper()}{str(error)[1:]}.", field="suite") from None
        if unknown := [key for key in tasks if key not in {task.key for task in found.tasks}]:
            raise RewardsRefusedError(f"The suite {suite} has no task {unknown[0]!r}.", field="plans")
        with _ready(suite):
            not_run = _episode(suite).not_run(suite=found, setting=Setting(profile=profile, split=split))
        if lacking := [key for key in tasks if key in not_run]:
            raise RewardsRefusedError(f"Task {lacking[0]}: {not_run[lacking[0]][1]}", field="plans")
        if find_spec("torch") is None:
            raise NotReadyError(suite=suite, why="torch is not installed here, which executing plans needs")
        return split

    def rewards(self, *, suite: str, profile: str, samples: int, proposals: "Sequence[Proposal]") -> list[float | None]:
        from evaluator.rewards.process import rewards_confined

        return rewards_confined(suite=suite, profile=profile, samples=samples, proposals=proposals)


def problem_of_address(*, url: str, owner: User | None) -> str:
    """Why an address may not be called, as a sentence; empty: it may, or its name does not resolve at present.

    Args:
        owner: who entered it, and whose share of the resolver it takes: waits at most 2 seconds for name servers, and
            holds no connection of the database meanwhile. None: asks nobody.
    """
    if owner is not None:
        give_connection_back()
    try:
        caller = None if owner is None else f"user-{owner.pk}"
        library().check_endpoint(url=url, allow_private=settings.DEMO, caller=caller)
    except AddressRefusedError as error:
        return str(error)
    return ""


def _suite(slug: str) -> "LibrarySuite":
    from evaluator.core.suites.registry import suite_of

    try:
        return suite_of(slug)
    except LookupError as error:
        raise NotReadyError(suite=slug, why=str(error)) from error


def _episode(slug: str) -> "Episode":
    from evaluator.episodes.base import episode_of

    return episode_of(slug)


@contextmanager
def _ready(suite: str) -> Iterator[None]:
    """Report a suite that cannot be evaluated in these settings as an installation that is not ready.

    Raises:
        NotReadyError: it is not.
    """
    from evaluator.episodes.base import SettingError

    try:
        yield
    except (LookupError, SettingError) as error:
        raise NotReadyError(suite=suite, why=str(error)) from error


def library() -> EvaluatorLibrary:
    """The library that the settings name."""
    return _instance(settings.EVALUATOR)


@cache
def _instance(path: str) -> EvaluatorLibrary:
    made: EvaluatorLibrary = import_string(path)()
    return made


@cache
def _profiles_of_hubs() -> frozenset[str]:
    from evaluator.execution.experts.profile import ProfileError, load_profile, profile_names

    def may_need_hub(name: str) -> bool:
        try:
            return bool(load_profile(name).checkpoints)
        except ProfileError:
            # An operator's profile with an error must not stop the site; until a restart its weights are unknown.
            return True

    return frozenset(filter(may_need_hub, profile_names()))


NO_PROFILE = "none"
"""The profile of suites whose plans are judged: no expert runs."""


class RunConditions(NamedTuple):
    """The conditions of an evaluation, named as the fields of `MeasuringConditions`."""

    profile: str
    profile_digest: str
    split: str
    samples: int
    data_digest: str
    season: Season | None
    """None on open data."""
    device_class: str = ""
    """Of a completed evaluation."""

    @property
    def season_id(self) -> str | None:
        """As rows have it."""
        return None if self.season is None else self.season.pk

    @classmethod
    def of(cls, row: Any) -> "RunConditions":
        """Those of an evaluation or a snapshot."""
        return cls(**{name: getattr(row, name) for name in cls._fields})

    @classmethod
    def to_json(cls, row: Any) -> dict[str, str | int | None]:
        """Those of an evaluation or a snapshot as a JSON object, the season by its name."""
        return {name: getattr(row, "season_id" if name == "season" else name) for name in cls._fields}


def split_of(suite: Suite) -> str:
    """The split that this installation evaluates a suite on: that of the settings, or the suite's first."""
    splits: list[str] = suite.conditions["splits"]
    return str(settings.SPLIT) if settings.SPLIT in splits else splits[0]


def profile_of(suite: Suite) -> str:
    """The profile that this installation evaluates a suite under."""
    return str(settings.PROFILE) if suite.runs_experts else NO_PROFILE


def samples_of(suite: Suite) -> int:
    """How many data points each task has on this installation."""
    return int(settings.SAMPLES) if suite.conditions["samples"] else 1


def device_class_of_site(suite: Suite) -> str:
    """The class of the devices on which this installation's workers run experts of a suite, as rows have it."""
    return device_class([settings.DEVICE]) if suite.runs_experts else ""


def device_class(devices: Iterable[str]) -> str:
    """The class of torch devices, such as `cuda:0`, as `MeasuringConditions` has it."""
    types = {device.partition(":")[0] for device in devices}
    if types <= {_USUAL_DEVICE}:
        return ""
    (first, *others) = sorted(types)
    # The names come from workers, and self-hosted ones may send anything.
    return "mixed" if others else first if re.fullmatch("[a-z]{1,20}", first) else "unknown"


_USUAL_DEVICE = "cpu"


def judges_otherwise(*, suite: Suite, profile: str, rules: str) -> bool:
    """Whether this release has other rules, network, arbiter or experts than `rules`, by which plans were judged. False
    for suites that are not judged and for suites or profiles that cannot be read."""
    if not any(column.undecided for column in suite.columns):
        return False
    try:
        return library().rules_digest(suite=suite.slug, profile=profile) != rules
    except NotReadyError:
        return False


def conditions_of(suite: Suite, *, choice: DataChoice = USUAL_DATA) -> RunConditions:
    """The conditions of a new evaluation of a suite.

    Raises:
        NotReadyError: profile or data cannot be read, or the season's seed is not the announced one.
        DataRefusedError: the suite has hidden data here, and the season is not open.
    """
    profile = profile_of(suite)
    split = open_split(suite) if choice.season == REHEARSAL else split_of(suite)
    chosen = chosen_season(choice.season) if split == HIDDEN else None
    digest = data_digest(suite=suite, profile=profile, split=split, season=chosen.name if chosen else None)
    return RunConditions(
        profile=profile,
        profile_digest=library().rules_digest(suite=suite.slug, profile=profile),
        split=split,
        samples=samples_of(suite),
        data_digest=digest,
        season=chosen,
    )


def digests_today(row: Any) -> tuple[str, str]:
    """The digests of rules and data under which this release measures an evaluation that may have those of another.

    Raises:
        NotReadyError: profile or data cannot be read, or the season's seed is not the announced one.
    """
    rules = library().rules_digest(suite=row.suite.slug, profile=row.profile)
    return rules, data_digest(suite=row.suite, profile=row.profile, split=row.split, season=row.season_id)


def open_split(suite: Suite) -> str:
    """The suite's first split, whose data are open."""
    return str(suite.conditions["splits"][0])


def data_digest(*, suite: Suite, profile: str, split: str, season: str | None = None) -> str:
    """Digest of the data of an evaluation.

    Args:
        season: name of the season of hidden data, whose commitment is part of the digest; None: open data.

    Raises:
        NotReadyError: there are no data, or the season's seed is not the announced one.
    """
    hidden = _hidden_seed(suite=suite, season=season)
    return library().data_digest(suite=suite.slug, profile=profile, split=split, hidden=hidden)


def not_run_reasons(*, suite: Suite, conditions: RunConditions) -> Mapping[str, tuple[Reason, str]]:
    """Why tasks of a suite cannot run under these conditions, by task key; tasks that can run are left out.

    Raises:
        NotReadyError: profile, data or seed are not available.
    """
    hidden = _hidden_seed(suite=suite, season=conditions.season_id)
    return library().not_run_reasons(
        suite=suite.slug, profile=conditions.profile, split=conditions.split, hidden=hidden
    )


def data_of_rerun(*, suite: Suite, before: str) -> DataChoice:
    """The data of a re-run: a rehearsal where the first run, on the split `before`, was one."""
    is_rehearsal = split_of(suite) == HIDDEN and before != HIDDEN
    return DataChoice(season=REHEARSAL if is_rehearsal else "")


def _hidden_seed(*, suite: Suite, season: str | None) -> HiddenSeed | None:
    """The seed of a suite's data in a season; None for open data.

    Raises:
        NotReadyError: it is not the announced one, or there is none.
    """
    if season is None:
        return None
    try:
        return checked_hidden_seed(season=season, suite=suite.slug)
    except NoSeedError as error:
        raise NotReadyError(suite=suite.slug, why=str(error).rstrip(".")) from error


def tasks_per_shard(suite: Suite) -> int:
    """How many tasks a worker leases at once."""
    return int(settings.TASKS_PER_SHARD if suite.runs_experts else settings.PLANNING_TASKS_PER_SHARD)
