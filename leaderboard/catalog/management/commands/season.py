"""`manage.py season`: announce, close and list the seasons of hidden data."""

from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from leaderboard.boards.signing.keys import public_keys, signing_key
from leaderboard.catalog import seasons
from leaderboard.catalog.hidden_data import NoSeedError, sign_announcement
from leaderboard.catalog.models import Season
from leaderboard.evaluations.states import FINAL


class Command(BaseCommand):
    """Announces, closes and lists seasons. Needs PLANARENA_HIDDEN_SEED."""

    help = (
        "Announce a season of hidden data with commitments to its seeds, close it by publishing the seeds, or list all "
        "seasons."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="what", required=True)
        announce = commands.add_parser("announce", help="publish the commitments; the season opens now or at --opens")
        announce.add_argument("name", help="letters, digits, hyphens and underscores")
        announce.add_argument("--opens", help="when it opens, as 2026-12-01T00:00Z; by default now")
        announce.add_argument(
            "--closes", help="when you mean to close it, which pages then say; nothing closes by itself"
        )
        announce.add_argument(
            "--sealed",
            action="append",
            default=[],
            metavar="SUITE=SHARE",
            help="the share of a suite's requests that come from the sealed pool, from 0 to 1",
        )
        close = commands.add_parser("close", help="publish the seeds; nothing can be submitted to it any more")
        close.add_argument("name")
        commands.add_parser("list", help="all seasons with their commitments and published seeds")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        try:
            if options["what"] == "announce":
                self._print(self._announced(options))
            elif options["what"] == "close":
                self._print(seasons.close(name=options["name"], unfinished=~Q(state__in=FINAL)))
            else:
                for season in Season.objects.order_by("opens", "name"):
                    self._print(season)
        except (seasons.SeasonError, NoSeedError) as error:
            raise CommandError(str(error)) from error

    def _announced(self, options: Mapping[str, Any]) -> Season:
        opens, closes = (_moment(options[name], option=f"--{name}") for name in ("opens", "closes"))
        with transaction.atomic():
            sealed = dict(map(_share, options["sealed"]))
            season = seasons.announce(name=options["name"], opens=opens, closes=closes, sealed=sealed)
            if (key := signing_key()) is not None:
                sign_announcement(season, key=key, known=public_keys)
        if not season.announcements.exists():
            self.stderr.write("The announcement is not signed: this process has no PLANARENA_SIGNING_KEY.")
        return season

    def _print(self, season: Season) -> None:
        until = f", closed {season.closed:%Y-%m-%d %H:%M} UTC" if season.closed else ""
        self.stdout.write(f"Season {season.name}: opens {season.opens:%Y-%m-%d %H:%M} UTC{until}")
        for data in season.suites.order_by("suite"):
            seed = f"  seed {data.seed}" if data.seed else ""
            sealed = f"  sealed requests {data.sealed}" if data.sealed else ""
            self.stdout.write(f"  {data.suite}  commitment {data.commitment}{sealed}{seed}")


def _moment(text: str | None, *, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise CommandError(f"{option} is a time such as 2026-12-01T00:00Z, not {text!r}.")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment, timezone.get_default_timezone())


def _share(text: str) -> tuple[str, float]:
    suite, _, share = text.partition("=")
    try:
        return suite, float(share)
    except ValueError:
        raise CommandError(f"--sealed is a suite and a share such as SUITE=0.2, not {text!r}.") from None
