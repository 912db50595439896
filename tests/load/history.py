"""Evaluations that had ended before a load test began: a queue that has worked for a while. Needs Django set up.

They are copies, in SQL, of one evaluation of each user; nothing measured their scores.
"""

from collections.abc import Sequence

from django.db import connection, models, transaction
from django.db.models import Q

from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, Submission

VERSION = "before the test"
"""Version of the planners of such evaluations, and their worker, by which the report leaves them out."""
MEASURED = ~Q(submission__version=VERSION)
"""A condition on evaluations: they are of the test itself."""

_COPY = """
CREATE TEMPORARY TABLE copied ON COMMIT DROP AS
SELECT e.id AS of_evaluation, e.submission_id AS of_submission, number,
       gen_random_uuid() AS evaluation, gen_random_uuid() AS submission
  FROM evaluations_evaluation e JOIN evaluations_submission s ON s.id = e.submission_id,
       generate_series(2, %(each)s) number
 WHERE s.version = %(version)s;
INSERT INTO evaluations_submission (id, {of_submission})
SELECT c.submission, {of_submission} FROM copied c JOIN evaluations_submission o ON o.id = c.of_submission;
INSERT INTO evaluations_evaluation (id, submission_id, {of_evaluation})
SELECT c.evaluation, c.submission, {of_evaluation}
  FROM copied c JOIN evaluations_evaluation o ON o.id = c.of_evaluation;
CREATE TEMPORARY TABLE ended ON COMMIT DROP AS
SELECT e.id, e.suite_id, s.submitted_by_id, random() AS score, now() - random() * interval '30 days' AS at
  FROM evaluations_evaluation e JOIN evaluations_submission s ON s.id = e.submission_id WHERE s.version = %(version)s;
UPDATE evaluations_evaluation e SET state = 'completed', reason = 'published', state_deadline = NULL,
       state_since = at, created = at, finished = at, summary = jsonb_build_object(
           'metrics', jsonb_build_object('overall', jsonb_build_object('mean', score, 'tasks', tasks_total)),
           'outcomes', jsonb_build_object('scored', tasks_total))
  FROM ended WHERE ended.id = e.id;
DELETE FROM evaluations_shard WHERE evaluation_id IN (SELECT id FROM ended);
INSERT INTO evaluations_shard (evaluation_id, number, task_keys, state, tries, available_at)
SELECT ended.id, position, jsonb_build_array(key), 'done', 1, at FROM ended JOIN catalog_task USING (suite_id);
INSERT INTO evaluations_attempt
       (id, shard_id, user_id, number, state, worker, token_hash, leased_at, expires_at, ended_at, reason)
SELECT gen_random_uuid(), s.id, submitted_by_id, 1, 'completed', %(version)s, md5(s.id::text), at, at, at, ''
  FROM evaluations_shard s JOIN ended ON ended.id = s.evaluation_id;
INSERT INTO evaluations_taskresult
       (evaluation_id, task_id, outcome, reason, reason_text, score, indicators, causes, seconds, plan_summary,
        record_digest, attempt_id, accepted, updated)
SELECT ended.id, task.id, 'scored', '', '', score, '{{}}', '[]', 1, '', '', attempt.id, false, at
  FROM ended JOIN catalog_task task USING (suite_id)
  JOIN evaluations_shard shard ON shard.evaluation_id = ended.id AND shard.number = task.position
  JOIN evaluations_attempt attempt ON attempt.shard_id = shard.id;
"""


def add(*, each: int) -> None:
    """Complete one evaluation of each user, copy it until there are `each`, and publish their board.

    Before: each user has one evaluation of a planner of this `VERSION`, in any state that is not final.
    """
    sql = _COPY.format(
        of_submission=_columns(Submission, without=["id"]),
        of_evaluation=_columns(Evaluation, without=["id", "submission_id"]),
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql % {"each": int(each), "version": f"'{VERSION}'"})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    publish(Evaluation.objects.filter(~MEASURED).select_related("suite").earliest("finished"))


def _columns(model: type[models.Model], *, without: Sequence[str]) -> str:
    return ", ".join(f"{field.column}" for field in model._meta.concrete_fields if field.column not in without)
