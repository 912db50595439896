from django.db import migrations

# Tasks that failed evaluations left without a result read as if they were still to come.
CLOSE = """
INSERT INTO evaluations_taskresult (evaluation_id, task_id, outcome, reason, reason_text, indicators, seconds,
                                    plan_summary, record_digest, accepted, updated)
SELECT e.id, t.id, 'not_run', 'evaluation_failed', e.reason_text, '{}', 0, '', '', false,
       coalesce(e.finished, e.state_since)
FROM evaluations_evaluation e JOIN catalog_task t ON t.suite_id = e.suite_id
WHERE e.state = 'failed' AND e.verifies_id IS NULL
ON CONFLICT (evaluation_id, task_id) DO NOTHING;
"""
REOPEN = "DELETE FROM evaluations_taskresult WHERE outcome = 'not_run' AND reason = 'evaluation_failed';"


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0002_suite_kind'),
        ('evaluations', '0015_workers_lost'),
    ]

    operations = [migrations.RunSQL(CLOSE, REOPEN)]
