"""Apart, because Knox's tables refer to users and these to Knox's."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0001_initial'),
        ('knox', '0009_extend_authtoken_field'),
    ]

    operations = [
        migrations.CreateModel(
            name='TokenScopes',
            fields=[
                ('token', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='granted', serialize=False, to='knox.authtoken')),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read everything that you can see'), ('submit', 'Submit, resume, accept, cancel and re-run evaluations'), ('manage', 'Manage teams, webhooks, worker tokens and API tokens')], max_length=10), size=None)),
                ('name', models.CharField(blank=True, db_default='', default='', max_length=80)),
                ('last_used', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['read', 'submit', 'manage'])), name='a_token_has_known_scopes')],
            },
        ),
    ]
