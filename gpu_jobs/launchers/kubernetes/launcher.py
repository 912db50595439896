"""Workers as pods of one Job per evaluation. The cluster, not the memory of a process, says what runs.

Whoever looks finds the same Jobs by their labels, also after a restart at any instruction: a Job's name follows from
its evaluation, so that creating it twice makes one Job. Ended Jobs stay for a while: the memory of failed launches.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from gpu_jobs.launchers.base import LaunchError, LaunchGivenUpError, Liveness
from gpu_jobs.launchers.enrolment import Enrolments
from gpu_jobs.launchers.kubernetes import model_servers, names
from gpu_jobs.launchers.kubernetes.client import JOBS, POLICIES, SECRETS, SERVICES, ClusterClient
from gpu_jobs.launchers.kubernetes.conditions import assess, ended_at, is_over, liveness_of
from gpu_jobs.launchers.kubernetes.enrolment import build_secret
from gpu_jobs.launchers.kubernetes.job import EvaluationFacts, build_job
from gpu_jobs.launchers.kubernetes.pods import assess_pod
from gpu_jobs.launchers.kubernetes.reasons import MEANINGS, Assessment, Patience, Reason, State
from gpu_jobs.launchers.kubernetes.responses import (
    AlreadyThereError,
    ClusterError,
    ClusterRefusedError,
    QuotaExceededError,
)
from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings
from gpu_jobs.launchers.kubernetes.words import public_words
from gpu_jobs.redaction import Redactor, secrets_of

logger = logging.getLogger(__name__)

Json = dict[str, Any]

_FIRST_WAIT_SECONDS = 30
_UNAUTHENTICATED = 401
_KEPT_CHARACTERS = 1000
_KINDS = {"Job": (JOBS, "jobs"), "Service": (SERVICES, "services"), "NetworkPolicy": (POLICIES, "networkpolicies")}


def _now() -> datetime:
    return datetime.now(tz=UTC)  # noqa: TID251 - with its time zone, as the ban asks


class KubernetesLauncher:
    """Creates, adopts, watches over and deletes the Jobs of evaluations."""

    def __init__(
        self,
        *,
        client: ClusterClient,
        settings: KubernetesSettings,
        enrolments: Enrolments,
        facts: Callable[[str], EvaluationFacts] = lambda evaluation: EvaluationFacts(evaluation_id=evaluation),
        now: Callable[[], datetime] = _now,
    ) -> None:
        """Args:
        client: the cluster.
        settings: the operator's.
        enrolments: where each Job's token comes from.
        facts: what a Job depends on, by the evaluation's id.
        now: the time; tests give their own.
        """
        self._client = client
        self._settings = settings
        self._enrolments = enrolments
        self._enrolled_again: set[str] = set()
        """Uids of Jobs that got a Secret because their pods waited for one; once for each, by this process."""
        self._facts = facts
        self._now = now
        self._secrets = (*secrets_of(), *settings.overrides.env.values())

    def ensure(self, *, evaluation_id: str) -> str:
        """See that the evaluation has a Job that may still do something, and return its name.

        Raises:
            LaunchError: it has none, or its Job waits for something; the sentence says for what.
            LaunchGivenUpError: a further Job would end as the last ones did, or the cluster refuses it.
        """
        if not names.is_evaluation_id(evaluation_id):
            raise LaunchGivenUpError(f"{evaluation_id!r} is no evaluation's id.")
        try:
            jobs = self._jobs_of(evaluation_id)
            if current := _current(jobs):
                self._accompany(current)
                return self._look_after(current)
            self._refuse_repetition(jobs)
            return self._create(evaluation_id=evaluation_id, generation=_next_generation(jobs))
        except ClusterRefusedError as error:
            # What runs already may go on running: only a Job that may not be created ends the launch.
            self._log(f"evaluation {evaluation_id}", error)
            raise LaunchError(
                f"The cluster refuses to tell about the workers ({error.status}): {self._words(error.message)}"
            ) from error
        except ClusterError as error:
            self._log(f"evaluation {evaluation_id}", error)
            raise LaunchError("The cluster could not be asked for a worker.") from error

    def alive(self, *, handle: str) -> Liveness:
        """How a Job or one of its pods is; unknown for all that was not started here, and while the cluster is away."""
        named = names.parse_handle(instance=self._settings.instance, handle=handle)
        if named is None:
            return Liveness(alive=None)
        try:
            found = self._pod(named.pod) if named.pod else self._assess(self._client.job(named.job))
        except ClusterError as error:
            logger.warning("%s: %s", handle, error)
            return Liveness(alive=None)
        return liveness_of(found)

    def stop(self, *, handle: str) -> None:
        """Delete the Jobs of the evaluation that the handle's Job belongs to: its pods give their tasks back.

        A single pod is not stopped: its Job would only replace it.

        Raises:
            LaunchError: the cluster could not be asked; `stop_orphans` finds the Job later.
        """
        named = names.parse_handle(instance=self._settings.instance, handle=handle)
        if named is None or named.pod:
            return
        evaluation = named.job.removeprefix(f"{self._settings.instance}-").rpartition("-g")[0]
        try:
            for job in self._jobs_of(evaluation):
                if not is_over(job):
                    self._delete(job)
        except ClusterError as error:
            raise LaunchError(f"The workers could not be stopped: {error}.") from error

    def stop_one(self, *, handle: str) -> None:
        """Delete one pod, which its Job replaces.

        Raises:
            LaunchError: the cluster could not be asked, or refused.
        """
        named = names.parse_handle(instance=self._settings.instance, handle=handle)
        if named is None or not named.pod:
            return
        try:
            self._client.delete_pod(name=named.pod)
        except ClusterError as error:
            raise LaunchError(f"The worker could not be stopped: {error}.") from error

    def status(self, *, evaluation_id: str) -> Assessment:
        """How the evaluation's last Job stands.

        Raises:
            LaunchError: the cluster could not be asked.
        """
        try:
            jobs = self._jobs_of(evaluation_id)
            return self._assess(max(jobs, key=names.generation_of, default=None))
        except ClusterError as error:
            raise LaunchError("The cluster could not be asked for the workers.") from error

    def stop_orphans(self, *, wanted: Callable[[Collection[str]], Collection[str]]) -> Sequence[str]:
        """Delete the Jobs of evaluations that want no workers any more, and return their names.

        Raises:
            LaunchError: the cluster could not be asked.
        """
        try:
            # Servers first: each was created after its worker's Job, which is then in the later list.
            servers, _ = self._client.jobs(
                names.selector(instance=self._settings.instance, component=names.MODEL_SERVER)
            )
            listed, _ = self._client.jobs(names.selector(instance=self._settings.instance))
            self._end_servers_of_nobody(servers, workers=listed)
            running = [job for job in listed if not is_over(job) and not job["metadata"].get("deletionTimestamp")]
            keep = set(wanted({names.evaluation_of(job) for job in running})) if running else set()
            orphans = [job for job in running if names.evaluation_of(job) not in keep]
            return [_name(job) for job in orphans if self._delete(job)]
        except ClusterError as error:
            raise LaunchError(f"The cluster could not be searched for orphans: {error}.") from error

    def _end_servers_of_nobody(self, servers: Sequence[Json], *, workers: Sequence[Json]) -> None:
        """Delete model servers whose workers have ended: they would hold their GPUs until the ended Job is deleted."""
        served = {names.model_servers_name(_name(job)) for job in workers if not is_over(job)}
        for server in servers:
            if _name(server) not in served and not server["metadata"].get("deletionTimestamp"):
                self._delete(server)

    def _accompany(self, job: Json) -> None:
        """See that a worker's Job has the model servers that it needs. Creates nothing twice.

        Raises:
            LaunchError: a quota is used up, or the cluster could not be asked.
            LaunchGivenUpError: the cluster refuses them.
        """
        name = names.model_servers_name(_name(job))
        if not model_servers.are_beside(job) or self._client.job(name) is not None:
            return
        with self._refusals(name, of="the model server"):
            for manifest in model_servers.build_model_servers(job=job, settings=self._settings):
                self._create_beside(manifest)
        logger.info("created %s", name)

    def _create_beside(self, manifest: Json) -> None:
        api, kind = _KINDS[manifest["kind"]]
        try:
            self._client.create(manifest, api=api, kind=kind)
        except AlreadyThereError:
            logger.info("%s %s is there", manifest["kind"], _name(manifest))

    def _jobs_of(self, evaluation_id: str) -> list[Json]:
        selector = names.selector(instance=self._settings.instance, evaluation_id=evaluation_id)
        return self._client.jobs(selector)[0]

    def _delete(self, job: Json) -> bool:
        logger.info("deleting %s", _name(job))
        return self._client.delete_job(name=_name(job), uid=str(job["metadata"].get("uid", "")))

    def _create(self, *, evaluation_id: str, generation: int) -> str:
        facts = self._facts(evaluation_id)
        manifest = build_job(facts=facts, generation=generation, settings=self._settings)
        name = _name(manifest)
        with self._refusals(name, of="the worker"):
            try:
                job = self._client.create_job(manifest)
                logger.info("created %s", name)
            except AlreadyThereError:
                job = self._adopt(name=name, evaluation_id=evaluation_id)
            # Afterwards, since the Job owns it: its pods wait until it is there.
            self._enrol(job)
        self._accompany(job)
        return name

    @contextmanager
    def _refusals(self, name: str, *, of: str) -> Iterator[None]:
        """Raise the cluster's refusals as errors of the launcher.

        Raises:
            LaunchError: a quota is used up, or the credentials have expired.
            LaunchGivenUpError: the cluster refuses the object.
        """
        try:
            yield
        except QuotaExceededError as error:
            self._log(name, error)
            raise LaunchError(
                f"{MEANINGS[Reason.QUOTA_EXCEEDED].sentence} The cluster says: {self._words(error.message)}"
            ) from error
        except ClusterRefusedError as error:
            self._log(name, error)
            said = f"The cluster refuses {of} ({error.status}): {self._words(error.message)}"
            # Credentials expire and are renewed; what is wrong with a Job stays wrong.
            raise (LaunchError if error.status == _UNAUTHENTICATED else LaunchGivenUpError)(said) from error

    def _enrol(self, job: Json) -> None:
        """Give a Job's pods their enrolment token, unless the Job has its Secret.

        Raises:
            ClusterError: the Secret could not be created, or nobody knows.
        """
        token = self._enrolments.mint(evaluation_id=names.evaluation_of(job), name=_name(job))
        try:
            self._client.create(build_secret(job=job, token=token), api=SECRETS, kind="secrets")
        except AlreadyThereError:
            # It may hold this very token, from a try whose answer was lost. If not, nobody has it, and it expires.
            logger.info("%s has its token", _name(job))
        except ClusterRefusedError:
            self._enrolments.withdraw(token)
            raise

    def _keep_enrolled(self, job: Json, *, found: Assessment) -> None:
        """See that pods which wait will find a valid token: whoever created the Job may have died before the Secret.

        Raises:
            ClusterError: the Secret could not be created, or nobody knows.
        """
        uid = str(job["metadata"].get("uid", ""))
        if found.reason is Reason.CONTAINER_NOT_CREATED and uid not in self._enrolled_again:
            self._enrol(job)
            self._enrolled_again.add(uid)
        self._enrolments.extend(evaluation_id=names.evaluation_of(job))

    def _words(self, text: str) -> str:
        """The cluster's words, for the evaluation's page."""
        return public_words(text, secrets=self._secrets, image=self._settings.image)

    def _log(self, what: str, error: ClusterError) -> None:
        logger.warning("%s: %s", what, Redactor(secrets=self._secrets)(str(error)))

    def _adopt(self, *, name: str, evaluation_id: str) -> Json:
        """Take what is there for ours if it is: another process, or an earlier try of this call, created it."""
        found = self._client.job(name)
        if found is None or is_over(found) or found["metadata"].get("deletionTimestamp"):
            raise LaunchError("The workers of an earlier try are just ending.")
        labels = found["metadata"].get("labels", {})
        expected = {names.EVALUATION: evaluation_id, names.INSTANCE: self._settings.instance}
        if any(labels.get(key) != value for key, value in expected.items()):
            logger.error("the Job %s exists and is not this installation's", name)
            raise LaunchGivenUpError("Something else in the cluster has the name that the workers should have.")
        logger.info("adopted %s", name)
        return found

    def _look_after(self, job: Json) -> str:
        """The name of a Job that may still do something; a sentence if it waits for something."""
        found = self._assess(job)
        if found.state in {State.RUNNING, State.SUCCEEDED}:
            return _name(job)
        self._keep_enrolled(job, found=found)
        if self._patience_is_over(found):
            self._end(job=job, because=found)
        elif found.reason is Reason.STARTING or self._is_fresh(found):
            return _name(job)
        logger.warning("%s: %s (%s)", _name(job), found.reason, found.detail)
        raise LaunchError(self._sentence(found))

    def _sentence(self, found: Assessment) -> str:
        """The reason for a person; where the cluster refused the pods, with its words."""
        if found.reason not in {Reason.NO_PODS, Reason.QUOTA_EXCEEDED} or not found.detail:
            return found.sentence
        return f"{found.sentence} The cluster says: {self._words(found.detail)}"

    def _patience_is_over(self, found: Assessment) -> bool:
        seconds = {
            Patience.START: self._settings.start_patience_seconds,
            Patience.PULL: self._settings.pull_patience_seconds,
            Patience.SCHEDULE: self._settings.schedule_patience_seconds,
        }.get(MEANINGS[found.reason].patience)
        if seconds is None or found.since is None:
            return False
        return self._now() - found.since > timedelta(seconds=seconds)

    def _is_fresh(self, found: Assessment) -> bool:
        """Whether the cluster has only just taken note of the Job, so that it is no wonder that there is no pod."""
        if found.reason is not Reason.NO_PODS:
            return False
        return found.since is None or self._now() - found.since < timedelta(seconds=_FIRST_WAIT_SECONDS)

    def _end(self, *, job: Json, because: Assessment) -> None:
        """Let the cluster fail the Job now. Deleting it would also delete the memory that this launch has failed."""
        logger.warning("ending %s: %s", _name(job), because.reason)
        annotations = {names.ENDED_BECAUSE: because.reason.value, names.ENDED_DETAIL: because.detail[:_KEPT_CHARACTERS]}
        patch = {
            "metadata": {"annotations": annotations},
            "spec": {"activeDeadlineSeconds": 1},
        }
        self._client.patch_job(name=_name(job), patch=patch)

    def _refuse_repetition(self, jobs: Sequence[Json]) -> None:
        """Do not create Jobs over and over again that all fail: wait longer each time, and then give up."""
        found = [(job, assess(job=job)) for job in jobs if is_over(job)]
        failed = [(job, one) for job, one in found if one.state is State.FAILED]
        if not failed:
            return
        last = max((job for job, _ in failed), key=names.generation_of)
        why = self._assess(last)
        if why.final:
            raise LaunchGivenUpError(self._sentence(why))
        # A full cluster is no failure, however long it is full.
        counted = [one for _, one in failed if MEANINGS[one.reason].patience is not Patience.SCHEDULE]
        if len(counted) >= self._settings.launches:
            raise LaunchGivenUpError(f"{self._sentence(why)} So it ended {len(counted)} times.")
        ended = ended_at(last)
        wait = timedelta(seconds=_FIRST_WAIT_SECONDS * 2 ** max(0, len(counted) - 1))
        if ended is not None and self._now() < ended + wait:
            raise LaunchError(self._sentence(why))

    def _assess(self, job: Json | None) -> Assessment:
        if job is None:
            return assess(job=None)
        if job["spec"].get("suspend") and not is_over(job):
            uid = str(job["metadata"].get("uid", ""))
            return assess(job=job, workload=self._client.workload(job_uid=uid))
        # Of this Job alone: an evaluation may have had others.
        pods, _ = self._client.pods(f"batch.kubernetes.io/job-name={_name(job)}")
        found = assess(job=job, pods=pods)
        if (found.state, found.reason) != (State.WAITING, Reason.NO_PODS):
            return found
        events = self._client.refused_pods(job_uid=str(job["metadata"].get("uid", "")))
        return assess(job=job, pods=pods, refused_pods=events)

    def _pod(self, name: str) -> Assessment:
        pod = self._client.pod(name)
        return Assessment(state=State.GONE, reason=Reason.DELETED) if pod is None else assess_pod(pod)


def _current(jobs: Sequence[Json]) -> Json | None:
    """The newest Job that has not ended and is not being deleted."""
    open_jobs = [job for job in jobs if not is_over(job) and not job["metadata"].get("deletionTimestamp")]
    return max(open_jobs, key=names.generation_of, default=None)


def _next_generation(jobs: Sequence[Json]) -> int:
    return max((names.generation_of(job) for job in jobs), default=0) + 1


def _name(job: Json) -> str:
    return str(job["metadata"]["name"])
