"""The broker that needs no server: nothing half-written, whoever is killed while he writes."""

from pathlib import Path

import pytest
from kombu import Connection, Queue

from leaderboard.platform import celery  # noqa: F401 - chooses the transport
from leaderboard.platform.file_broker import Transport


@pytest.fixture
def connection(tmp_path: Path):
    folder = tmp_path / "messages"
    folder.mkdir()
    options = {
        "data_folder_in": str(folder),
        "data_folder_out": str(folder),
        "control_folder": str(tmp_path / "control"),
    }
    with Connection("filesystem://localhost//", transport_options={**options, "store_processed": False}) as made:
        yield made


def taken(connection: Connection) -> list[str]:
    """The bodies of all messages, in order."""
    bodies = []
    queue = connection.SimpleQueue(Queue("celery", routing_key="celery"))
    while True:
        try:
            message = queue.get(block=False)
        except queue.Empty:
            return bodies
        message.ack()
        bodies.append(message.payload)


def send(connection: Connection, *bodies: str) -> None:
    queue = connection.SimpleQueue(Queue("celery", routing_key="celery"))
    for body in bodies:
        queue.put(body)


def test_a_message_or_table_that_was_not_written_to_its_end_keeps_no_other_from_arriving(connection, tmp_path):
    assert isinstance(connection.transport, Transport)
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / "celery.exchange").touch()
    send(connection)
    (tmp_path / "messages" / "0_killed.celery.msg").touch()
    (tmp_path / "messages" / "1_killed.celery.msg").write_text('{"body": "a')
    send(connection, "one", "two")
    assert sorted(taken(connection)) == ["one", "two"]
    assert taken(connection) == []


def test_nothing_has_its_name_before_it_is_whole(connection, tmp_path, monkeypatch):
    send(connection)
    monkeypatch.setattr(Path, "replace", lambda self, target: None)
    send(connection, "killed")
    assert [path.suffix for path in (tmp_path / "messages").iterdir()] == [".draft"]
    assert taken(connection) == []
