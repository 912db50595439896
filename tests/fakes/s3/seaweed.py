"""SeaweedFS, a real service with S3's interface, for what our own server only claims of such services."""

import json
import os
import signal
import socket
import sysconfig
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from tests.processes import Program

BUCKET = "arena"
_USER, _SECRET = "key", "secret"
_REGION = "eu-central-1"
_START_SECONDS = 60
_SERVERS = ("master", "volume", "filer", "s3")


class SeaweedFS:
    """The bucket `arena` of a running service."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.environment = {
            "AWS_ACCESS_KEY_ID": _USER,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_DEFAULT_REGION": _REGION,
            "PLANARENA_S3_ENDPOINT": url,
        }
        self._client: Any = boto3.client(
            "s3", endpoint_url=url, aws_access_key_id=_USER, aws_secret_access_key=_SECRET, region_name=_REGION
        )

    def make_bucket(self) -> None:
        """Make the bucket and write into it, as soon as the service can."""
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                self._client.create_bucket(Bucket=BUCKET)
                self._client.put_object(Bucket=BUCKET, Key="started", Body=b"")
            except (BotoCoreError, ClientError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return

    def names(self, prefix: str) -> list[str]:
        """The names of all objects that begin with this, in order."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return sorted(one["Key"] for page in pages for one in page.get("Contents", ()))

    def replace(self, name: str, data: bytes) -> None:
        """Overwrite an object, so that its bytes no longer have its digest."""
        media_type = self._client.head_object(Bucket=BUCKET, Key=name)["ContentType"]
        self._client.put_object(Bucket=BUCKET, Key=name, Body=data, ContentType=media_type)

    def delete(self, name: str) -> None:
        """Lose an object."""
        self._client.delete_object(Bucket=BUCKET, Key=name)


@contextmanager
def seaweed(folder: Path) -> Iterator[SeaweedFS]:
    """A service of its own, whose data and log are in a folder.

    Raises:
        BotoCoreError, ClientError: it does not start within a minute; its log is in the folder.
    """
    ports = _free_ports(len(_SERVERS))
    (folder / "data").mkdir(parents=True)
    user = {"name": "arena", "credentials": [{"accessKey": _USER, "secretKey": _SECRET}], "actions": ["Admin"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [user]}))
    command = [
        str(Path(sysconfig.get_path("scripts")) / "weed"), "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        f"-dir={folder / 'data'}", "-s3", f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0",
        "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=100",
        *(f"-{server}.port={port}" for server, port in zip(_SERVERS, ports, strict=True)),
    ]  # fmt: skip
    server = Program(command, log=folder / "log", cwd=folder)
    try:
        service = SeaweedFS(f"http://127.0.0.1:{ports[-1]}")
        service.make_bucket()
        yield service
    finally:
        # Asked politely it would write down what nobody reads.
        server.stop(signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    """Free ports of which those 10,000 above are free too: there each server has its internal interface."""
    found: list[int] = []
    candidates = iter(range(20_000 + os.getpid() % 20_000, 50_000))
    with ExitStack() as taken:
        while len(found) < count:
            port = next(candidates)
            try:
                for number in (port, port + 10_000):
                    listener = taken.enter_context(socket.socket())
                    listener.bind(("127.0.0.1", number))
            except OSError:
                continue
            found.append(port)
    return found
