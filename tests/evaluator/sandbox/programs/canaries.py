"""What a hostile program would like to reach, open to all users, so that no ordinary permission refuses."""

import ctypes
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

SECRET = "pa-secret-0123456789abcdef"
HELPERS = """
SIZE = 3


def helper(rows, columns):
    return [["." for _ in range(columns)] for _ in range(rows)]
"""


@dataclass
class Canaries:
    """Files, sockets and processes, and whether something reached them."""

    folder: Path
    values: dict[str, str]
    listeners: list[socket.socket]
    victim: subprocess.Popen[bytes]
    entries: set[str] = field(default_factory=set)

    def program(self, text: str) -> str:
        """A program of the corpus with these canaries in it."""
        for name, value in self.values.items():
            text = text.replace(f"${name}", value)
        return text

    def disturbed(self) -> list[str]:
        """What was reached."""
        found = [f"{name} was made" for name in _entries(self.folder) ^ self.entries]
        secret = self.folder / "secret"
        if secret.read_text() != SECRET or secret.stat().st_mode & 0o777 != 0o666:
            found.append("the secret file was changed")
        for listener in self.listeners:
            try:
                listener.accept() if listener.type == socket.SOCK_STREAM else listener.recv(9)
                found.append(f"{listener.getsockname()} was reached")
            except BlockingIOError:
                pass
        if self.victim.poll() is not None:
            found.append("the victim was killed")
        return found


@contextmanager
def canaries() -> Iterator[Canaries]:
    """Set them up. The environment of this process holds the secret meanwhile."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="canaries-")))
        folder.chmod(0o777)
        (folder / "secret").write_text(SECRET)
        (folder / "secret").chmod(0o666)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        udp.bind(tcp.getsockname())
        named, abstract = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        named.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o777)
        abstract.bind(f"\0canary-{os.getpid()}")
        for listener in (tcp, udp, named, abstract):
            listener.setblocking(False)
            if listener.type == socket.SOCK_STREAM:
                listener.listen()
        victim = subprocess.Popen(["sleep", "86400"])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        memory = ctypes.create_string_buffer(SECRET.encode())
        os.environ["SECRET"] = SECRET
        stack.callback(os.environ.pop, "SECRET")
        values = {
            "SECRET_FILE": str(folder / "secret"), "FOLDER": str(folder), "PORT": str(tcp.getsockname()[1]),
            "ABSTRACT": f"canary-{os.getpid()}", "PARENT": str(os.getpid()), "VICTIM": str(victim.pid),
            "ADDRESS": str(ctypes.addressof(memory)),
        }  # fmt: skip
        yield Canaries(folder, values, [tcp, udp, named, abstract], victim, _entries(folder))
        del memory


def _entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def processes_of(pid: int) -> list[psutil.Process]:
    """The descendants of a process of programs that run, and every other process of its user, if that is its own."""
    parent = psutil.Process(pid)
    user = parent.uids().real
    others = [] if user == os.getuid() else psutil.process_iter(["uids"])
    own = [one for one in others if one.info["uids"] is not None and one.info["uids"].real == user]
    return [one for one in {*parent.children(recursive=True), *own} if one.pid != pid]
