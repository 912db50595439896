"""Why an evaluation is where it is: a closed list, each with the sentence that its owner reads."""

from django.db import models


class EvaluationReason(models.TextChoices):
    """Machine-readable reason; its label is the sentence, with `{}` fields that `sentence` fills."""

    WAITING = "waiting", "Waiting for its turn."
    STARTING_WORKER = "starting_worker", "A worker is being started."
    WAITING_FOR_WORKER = "waiting_for_worker", "Waiting for a worker to take the first tasks."
    WAITING_FOR_OWN_WORKER = (
        "waiting_for_own_worker",
        "Waiting for its owner's own worker: `./planarena worker --url` with this site's address, and a worker token.",
    )
    LAUNCH_FAILED = "launch_failed", "No worker could be started: {detail} This is tried again."
    LAUNCH_GIVEN_UP = "launch_given_up", "Failed: no worker could be started. {detail}"
    PROFILE_MISMATCH = (
        "profile_mismatch",
        "A worker refused the tasks: {detail} The operator has to start a worker of the same release.",
    )
    RUNNING = "running", "Workers are running the tasks."
    CANARY = "canary", "One task runs first, alone; the others follow as soon as the planner has answered it."
    SECOND_CANARY = (
        "second_canary",
        "The first task ended without an answer that can be judged: {detail} A second one is tried before the others.",
    )
    CANARY_RETRY = (
        "canary_retry",
        "The first task failed for reasons that are not the planner's: {detail} It is tried again before the others.",
    )
    WORKER_LOST = "worker_lost", "A worker was lost ({detail}); its unfinished tasks go to another one."
    WORKER_FAILED = "worker_failed", "A worker gave up its tasks ({detail}); they are tried again."
    SET_ASIDE = (
        "set_aside",
        "Its worker went to other users' tasks, after the planner had kept it for {seconds} seconds. Its remaining "
        "tasks run when a worker is free for planners that take long.",
    )
    AGGREGATING = "aggregating", "All tasks have ended; the scores are being computed."
    AGGREGATE_RETRY = "aggregate_retry", "The scores could not be computed ({detail}); this is tried again."
    INFRA_FAULTS = (
        "infra_faults",
        "{count} of {total} tasks failed for reasons that are not the planner's. Resume them, or accept them as faults "
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
    RESUMED = "resumed", "{count} tasks are run again, as {who} wanted."
    ACCEPTED = "accepted", "{count} tasks were accepted as faults of the planner by {who}."
    PUBLISHED = "published", "Completed and published."
    NOT_PUBLIC = "not_public", "Completed. It is not public, so that no board shows it."
    NOT_VERIFIED = (
        "not_verified",
        "Completed on its owner's own worker. It is not ranked, since no worker of this site has verified the results.",
    )
    AWAITING_VERIFICATION = (
        "awaiting_verification",
        "Completed on its owner's own worker. A worker of this site runs {count} of its tasks again; the evaluation is "
        "ranked if the results agree.",
    )
    VERIFIED = ("verified", "Completed on its owner's own worker, and verified: {detail}")
    VERIFICATION_FAILED = (
        "verification_failed",
        "Completed on its owner's own worker and not ranked, since the verification did not confirm it: {detail}",
    )
    NOT_VERIFIABLE = (
        "not_verifiable",
        "Completed on its owner's own worker and not ranked: it could not be verified because {detail} Its owner can "
        "ask for it again.",
    )
    RUN_AGAIN = "run_again", "The sampled tasks were run again."
    NOT_RUN_AGAIN = (
        "not_run_again",
        "{count} of {total} tasks could not be run again, for reasons that are not the planner's: {detail}",
    )
    CANCELLED_BY_OWNER = "cancelled_by_owner", "Cancelled by {who}."
    ABANDONED = "abandoned", "Cancelled: its owner did not resume or accept its failed tasks within {days} days."
    NO_WORKER = "no_worker", "Failed: no worker took its tasks within {hours} hours. Please submit again."
    STALLED = "stalled", "Failed: no task ended within {hours} hours. Please submit again."
    CANARY_FAILED = (
        "canary_failed",
        "Failed: the planner answered neither of its first tasks, so the others were not run. {detail} Correct the "
        "planner and submit again.",
    )
    CANARY_ENDED_WORKERS = (
        "canary_ended_workers",
        "Failed: the planner ended or hung its worker on both of its first tasks, so the others were not run. {detail} "
        "Correct the planner and submit again.",
    )
    AGGREGATE_FAILED = "aggregate_failed", "Failed: its scores could not be computed. The operators have been notified."


def sentence(reason: EvaluationReason, **facts: object) -> str:
    """The reason as a sentence for the submitter.

    Raises:
        KeyError: a fact that the sentence needs is missing.
    """
    return str(reason.label).format(**facts)
