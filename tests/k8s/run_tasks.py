"""Every task of Celery in this process, as a worker would run them: `python -m tests.k8s.run_tasks`.

Arguments are `TASK=ARGUMENT,ARGUMENT`, of tasks that take some. Prints each task and how it ended.
"""

import sys

from leaderboard.platform.celery import app


def main(arguments: list[str]) -> None:
    """Run them twice, as periodic tasks are."""
    import django

    django.setup()
    app.loader.import_default_modules()
    given = dict(argument.split("=") for argument in arguments)
    for name in sorted(app.tasks) * 2:
        if name.startswith("leaderboard."):
            result = app.tasks[name].apply(args=given.get(name, "").split(",") if given.get(name) else ())
            sys.stdout.write(f"{name} {result.state}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
