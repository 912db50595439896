"""Uploads that are admitted."""

import uuid

from django.conf import settings
from django.db import models


class UploadTicket(models.Model):
    """Room for one upload, until it has come in or its time is over.

    Large bodies that come without a ticket occupy one while they are read, so that the same limits hold for them.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="upload_tickets")
    address = models.CharField(max_length=100, help_text="Who asked for it; an IPv6 address counts as its /64 network.")
    bytes = models.BigIntegerField(help_text="Of the upload.")
    room = models.BigIntegerField(help_text="Bytes that it takes on the volume of uploads; may be more than once.")
    secret_hash = models.CharField(max_length=64, blank=True, help_text="SHA-256. Empty: of a body without a ticket.")
    created = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True, help_text="By the database's clock.")
    claimed_at = models.DateTimeField(null=True, help_text="Since when an upload with it comes in.")

    class Meta:
        indexes = [models.Index(fields=["owner", "expires_at"]), models.Index(fields=["address", "expires_at"])]

    def __str__(self) -> str:
        return f"{self.bytes} bytes of {self.owner_id}"
