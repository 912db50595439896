"""Contents of older snapshots are packed. The column keeps its name, which the release before reads and writes."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('boards', '0003_task_values'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    'ALTER TABLE boards_snapshot ALTER COLUMN content DROP NOT NULL',
                    'ALTER TABLE boards_snapshot ALTER COLUMN content SET NOT NULL',
                ),
            ],
            state_operations=[
                migrations.RenameField(model_name='snapshot', old_name='content', new_name='stored'),
                migrations.AlterField(
                    model_name='snapshot',
                    name='stored',
                    field=models.JSONField(db_column='content', null=True),
                ),
            ],
        ),
        migrations.AddField(
            model_name='snapshot',
            name='packed',
            field=models.BinaryField(null=True),
        ),
        migrations.AddField(
            model_name='snapshot',
            name='base',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='differences', to='boards.snapshot'),
        ),
        migrations.AddField(
            model_name='snapshot',
            name='links',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
