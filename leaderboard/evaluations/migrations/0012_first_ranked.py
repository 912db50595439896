"""Note of every evaluation that a snapshot holds when the first one did."""

from django.db import migrations

NOTE = """
UPDATE evaluations_evaluation e SET first_ranked = ranked.first
FROM (
    SELECT (line ->> 'evaluation')::uuid AS evaluation, min(s.created) AS first
    FROM boards_snapshot s CROSS JOIN LATERAL jsonb_array_elements(s.content -> 'rows') AS line
    GROUP BY 1
) ranked
WHERE e.id = ranked.evaluation AND e.first_ranked IS NULL;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('boards', '0001_initial'),
        ('evaluations', '0011_visibility'),
    ]

    operations = [migrations.RunSQL(NOTE, migrations.RunSQL.noop)]
