"""What a suite's kind stood for, field by field; and what each column counts."""

from django.db import migrations, models

_SHARES = frozenset({"SE", "IR", "NR", "HR", "CR", "SE_best", "valid"})
_SIZES = frozenset({"length", "depth"})
_WORDS = {
    "SE": ("Solution", "solves the request", "does not solve it"),
    "IR": ("Irrelevant tools", "none irrelevant", "irrelevant tool"),
    "NR": ("Necessary tools", "holds them all", "lacks a tool"),
    "HR": ("False resources", "none false", "false resource"),
    "CR": ("Types of arguments", "types agree", "wrong type"),
    "SE_best": ("Solved by one of up to five plans", "", ""),
    "valid": ("Could run as written", "", ""),
}


def _column(metric, *, judged):
    key = metric["key"]
    title, good, bad = _WORDS.get(key, ("", "", "")) if judged else ("", "", "")
    lower = judged and not metric.get("higher_is_better", True)
    size = judged and key in _SIZES
    return {
        "key": key,
        "label": metric["label"],
        "description": metric["description"],
        "higher_is_better": metric.get("higher_is_better", True),
        "primary": metric.get("primary", False),
        "metric": "" if judged or key == "overall" else key,
        "indicator": judged,
        "fault": None if size else (1.0 if lower else 0.0),
        "low": 0.0,
        "high": None if size else 1.0,
        "ordered": not size,
        "title": title,
        "good": good,
        "bad": bad,
        "interval": "wilson" if judged and key in _SHARES else "bootstrap",
    }


def _fill(apps, schema_editor):
    for suite in apps.get_model("catalog", "Suite").objects.all():
        judged = suite.kind == "planning"
        splits = (["all", "hidden"] if suite.slug == "toolmini" else ["all"]) if judged else ["public", "validation", "hidden"]
        suite.conditions = {"experts": not judged, "samples": not judged, "splits": splits}
        suite.panels = ["goal", "indicators"] if judged else ["scores", "artefacts"]
        suite.metrics = [_column(metric, judged=judged) for metric in suite.metrics]
        suite.save(update_fields=["conditions", "panels", "metrics"])


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_suite_kind")]

    operations = [
        migrations.AddField("suite", "conditions", models.JSONField(default=dict)),
        migrations.AddField("suite", "panels", models.JSONField(default=list)),
        migrations.AddField("suite", "scoring", models.TextField(blank=True, default="")),
        migrations.RunPython(_fill, migrations.RunPython.noop),
        migrations.RemoveField("suite", "kind"),
    ]
