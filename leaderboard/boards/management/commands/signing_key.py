"""`manage.py signing_key new|show|sign`: the key that signs what this site publishes."""

import secrets
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from leaderboard.boards.models import SigningKey
from leaderboard.boards.signing.keys import signing_key
from leaderboard.boards.signing.services import sign_unsigned


class Command(BaseCommand):
    """Generates a secret, lists the public keys, or signs what was published before there was a key."""

    help = "Make a signing key, show the site's public keys, or sign everything that is unsigned."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action",
            choices=["new", "show", "sign"],
            help="new: print a secret for PLANARENA_SIGNING_KEY; show: list the public keys; sign: sign what was "
            "published without a signature, with the current time",
        )

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - the base class's
        if options["action"] == "new":
            self.stdout.write(secrets.token_urlsafe(48))
        elif options["action"] == "show":
            self._show()
        else:
            self._sign()

    def _show(self) -> None:
        if settings.SIGNING_KEYS:
            with transaction.atomic():
                signing_key()
        for key in SigningKey.objects.order_by("-created"):
            until = "" if key.retired is None else f" to {key.retired:%Y-%m-%d %H:%M} UTC"
            introduced = "" if key.introduction is None else ", introduced by the previous key"
            self.stdout.write(f"{key.pk}  {key.public_key}  from {key.created:%Y-%m-%d %H:%M} UTC{until}{introduced}")
        if not settings.SIGNING_KEYS:
            self.stderr.write("This process signs nothing: PLANARENA_SIGNING_KEY is not set.")

    def _sign(self) -> None:
        with transaction.atomic():
            if signing_key() is None:
                raise CommandError("Set PLANARENA_SIGNING_KEY to the current signing key first.")
        snapshots, evaluations = sign_unsigned(everything=True)
        self.stdout.write(f"{snapshots} snapshots and {evaluations} further evaluations signed.")
