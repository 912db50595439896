"""Templates as source text."""

from pathlib import Path

from django.conf import settings
from django.template.loader import get_template

FOLDER = Path(settings.BASE_DIR) / "frontend" / "templates"


def test_every_template_can_be_read_and_shows_no_comment():
    """Comments and tags that go on in the next line are text to Django."""
    names = [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.rglob("*.*"))]
    for name in names:
        get_template(name)
    broken = [
        f"{name}:{number}"
        for name in names
        for number, line in enumerate((FOLDER / name).read_text().splitlines(), start=1)
        if line.count("{#") != line.count("#}")
        or line.count("{%") != line.count("%}")
        # Texts of JSON have the end without the beginning.
        or line.rfind("{{") > line.rfind("}}")
    ]
    assert not broken
