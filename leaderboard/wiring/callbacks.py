"""Registration of the rooms' callbacks with hooks of rooms below them."""

from leaderboard.boards.services import publish_changed
from leaderboard.causes.finding import renew_causes
from leaderboard.evaluations import states
from leaderboard.evaluations.results import results
from leaderboard.messages import notices
from leaderboard.operations.backups import services as backups
from leaderboard.operations.monitoring.facts import note_backup, note_task, site_facts
from leaderboard.operations.monitoring.figures import count_steps
from leaderboard.people import credentials, teams
from leaderboard.platform import celery, health, problems
from leaderboard.queue import beside, pools, publishing
from leaderboard.queue import jobs as jobs
from leaderboard.queue.agents import turns
from leaderboard.queue.further_runs import follow_further_runs
from leaderboard.queue.stopping import enqueue_reconcile
from leaderboard.queue.workers.tokens import WorkerTokens
from leaderboard.quotas.services import refund_if_due
from leaderboard.reliability.measuring import measure_when_ended
from leaderboard.rewards.services import REWARDS
from leaderboard.submissions.endpoint_tests import ENDPOINT_TEST
from leaderboard.submissions.pending import SUBMISSION
from leaderboard.submissions.readiness import report_unavailable
from leaderboard.workbench import leasing as runs


def register() -> None:
    """Register all callbacks; called once per process."""
    states.entered.register(refund_if_due)
    states.entered.register(notices.notify_owner)
    states.entered.register(turns.forget_turns)
    states.entered.register(renew_causes)
    states.entered.register(measure_when_ended)
    states.entered.register(follow_further_runs)
    turns.arrived.register(enqueue_reconcile)
    publishing.changed.register(publish_changed)
    problems.refused.register(report_unavailable)
    results.taken_in.register(count_steps)
    backups.backed_up.register(note_backup)
    celery.task_succeeded.register(note_task)
    credentials.password_set.register(notices.notify_of_password)
    teams.invited.register(notices.notify_of_invitation)
    jobs.KINDS.update({kind.name: kind for kind in (ENDPOINT_TEST, REWARDS, SUBMISSION)})
    credentials.SOURCES.append(WorkerTokens())
    health.SOURCES.append(site_facts)
    beside.WAITING.append(runs.is_waiting)
    beside.OVERDUE.append(runs.is_overdue)
    pools.WORK_BESIDE.append(runs.unfinished)
