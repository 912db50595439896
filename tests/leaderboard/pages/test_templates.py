"""Templates as source text."""

import re
from pathlib import Path

from django.conf import settings
from django.template.loader import get_template

LONGEST_LINE = 160
FOLDER = Path(settings.BASE_DIR) / "frontend" / "templates"


def test_no_template_has_lines_that_nobody_can_review():
    long = [
        f"{path.relative_to(FOLDER)}:{number}"
        for path in sorted(FOLDER.rglob("*.*"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > LONGEST_LINE
    ]
    assert not long


def test_no_template_is_unused():
    """Each is named by another template or by code, or overrides one of a package."""
    import allauth
    import django

    overridden = [Path(package.__file__).parent for package in (django, allauth)]
    sources = [*FOLDER.rglob("*.*"), *(Path(settings.BASE_DIR) / "leaderboard").rglob("*.py")]
    text = {path: path.read_text() for path in sources}
    names = [str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.*")]
    unused = [
        name
        for name in names
        if not re.fullmatch(r"\d{3}(_csrf)?\.html", name)
        and not any(name in source for path, source in text.items() if path != FOLDER / name)
        and not any(next(folder.rglob(f"templates/{name}"), None) for folder in overridden)
    ]
    assert not unused


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


def test_every_shape_of_a_plot_has_a_style():
    """Without one the browser fills a line in black."""
    styles = "\n".join(path.read_text() for path in (FOLDER.parent / "src" / "styles").glob("*.css"))
    drawn = {"components/line_plot.html"}
    shapes = {
        name: set(re.findall(r'<(?:path|line|circle) class="([\w-]+)"', (FOLDER / name).read_text())) for name in drawn
    }
    assert all(shapes.values())
    missing = {
        name: [one for one in classes if not re.search(rf"^\.plot \w*\.{one}\s*[,{{]", styles, re.MULTILINE)]
        for name, classes in shapes.items()
    }
    assert not any(missing.values()), missing
