"""Why an evaluation is where it is: a closed list, each with the sentence that its owner reads."""

from django.db import models


class EvaluationReason(models.TextChoices):
    """Machine-readable reason; its label is the sentence, with `{}` fields that `sentence` fills."""

    WAITING = "waiting", "Waiting in the queue."
    STARTING_WORKER = "starting_worker", "A worker is being started."
    WAITING_FOR_WORKER = "waiting_for_worker", "Waiting for a worker to take the first tasks."
    WAITING_FOR_OWN_WORKER = (
        "waiting_for_own_worker",
        "Waiting for the owner's self-hosted worker: run `./planarena worker --url` with this site's address "
        "and a worker token.",
    )
    WAITING_FOR_AGENT = (
        "waiting_for_agent",
        "Waiting for its agent, which takes the tasks at this site's /mcp/ with a token of its owner's.",
    )
    LAUNCH_FAILED = "launch_failed", "No worker could be started: {detail} Retrying."
    PROFILE_MISMATCH = (
        "profile_mismatch",
        "A worker refused the tasks: {detail} The operator has to start a worker of the same release.",
    )
    RUNNING = "running", "Workers are running the tasks."
    CANARY = "canary", "The canary task is running; the other tasks follow when the planner has answered it."
    SECOND_CANARY = (
        "second_canary",
        "The canary task ended without a valid response: {detail} A second canary task runs before the others.",
    )
    CANARY_RETRY = (
        "canary_retry",
        "The canary task failed with an infrastructure fault: {detail} It is retried before the others.",
    )
    WORKER_LOST = "worker_lost", "A worker was lost ({detail}); its unfinished tasks go to another worker."
    WORKER_FAILED = "worker_failed", "A worker gave up its tasks ({detail}); they are retried."
    SET_ASIDE = (
        "set_aside",
        "Its time slice ended after {seconds} seconds, and its worker went to other users' tasks. Its remaining "
        "tasks run when a worker is free for slow planners.",
    )
    AGGREGATING = "aggregating", "All tasks have finished; the scores are being computed."
    AGGREGATE_RETRY = "aggregate_retry", "The scores could not be computed ({detail}). Retrying."
    INFRA_FAULTS = (
        "infra_faults",
        "{count} of {total} tasks failed with infrastructure faults. Resume them, or accept them as faults "
        "of the planner; until then the evaluation is not ranked.",
    )
    PLANNER_UNAVAILABLE = (
        "planner_unavailable",
        "The planner is not available: {detail} {count} of {total} tasks have no score. Resume them when it answers "
        "again; one task is asked first. Or accept them as faults of the planner; until then the evaluation is "
        "not ranked.",
    )
    WORKERS_LOST = (
        "workers_lost",
        "{count} of {total} tasks have no score, because their workers were lost: {detail} Resume them, or accept them "
        "as faults of the planner; until then the evaluation is not ranked.",
    )
    RESUMED = "resumed", "{count} tasks were resumed by {who}."
    ACCEPTED = "accepted", "{count} tasks were accepted as faults of the planner by {who}."
    PUBLISHED = "published", "Completed and published."
    NOT_PUBLIC = "not_public", "Completed. It is not public, so no board shows it."
    NOT_VERIFIED = (
        "not_verified",
        "Completed on the owner's self-hosted worker. Not ranked, because this site has not verified the results.",
    )
    AWAITING_VERIFICATION = (
        "awaiting_verification",
        "Completed on the owner's self-hosted worker. A worker of this site repeats {count} tasks; the evaluation is "
        "ranked if the results agree.",
    )
    VERIFIED = ("verified", "Completed on the owner's self-hosted worker and verified: {detail}")
    VERIFICATION_FAILED = (
        "verification_failed",
        "Completed on the owner's self-hosted worker. Not ranked, because the verification contradicts it: {detail}",
    )
    NOT_VERIFIABLE = (
        "not_verifiable",
        "Completed on the owner's self-hosted worker. Not ranked, because it could not be verified: {detail} The "
        "owner can request verification again.",
    )
    RUN_AGAIN = "run_again", "The sampled tasks were repeated."
    NOT_RUN_AGAIN = (
        "not_run_again",
        "{count} of {total} tasks could not be repeated because of infrastructure faults: {detail}",
    )
    MEMBER_MEASURED = "member_measured", "Completed as part of a reliability profile. No board shows it."
    CANCELLED_BY_OWNER = "cancelled_by_owner", "Cancelled by {who}."
    ABANDONED = "abandoned", "Cancelled: its owner did not resume or accept its failed tasks within {days} days."
    NO_WORKER = "no_worker", "Failed: no worker took its tasks within {hours} hours. Please submit again."
    STALLED = "stalled", "Failed: no task ended within {hours} hours. Please submit again."
    CANARY_FAILED = (
        "canary_failed",
        "Failed: the planner answered neither canary task, so the others were not run. {detail} Correct the "
        "planner and submit again.",
    )
    CANARY_ENDED_WORKERS = (
        "canary_ended_workers",
        "Failed: the planner crashed or hung its worker on both canary tasks, so the others were not run. {detail} "
        "Correct the planner and submit again.",
    )
    AGGREGATE_FAILED = "aggregate_failed", "Failed: its scores could not be computed. The operators have been notified."


def sentence(reason: EvaluationReason, **facts: object) -> str:
    """The reason as a sentence for the submitter.

    Raises:
        KeyError: a fact that the sentence needs is missing.
    """
    return str(reason.label).format(**facts)
