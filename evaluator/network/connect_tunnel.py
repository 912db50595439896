"""HTTP CONNECT without sockets: h11 writes and reads, the caller carries the bytes."""

import h11

from evaluator.network.egress_policy import Proxy

READ_BYTES = 16 * 1024
"""To read at once, and about the longest head of an answer that h11 takes."""
_MOST_INTERIM_ANSWERS = 10


class TunnelRefusedError(Exception):
    """The proxy opens no tunnel; the message says so, and with which status."""


class Tunnel:
    """One CONNECT: send `request`, then give `feed` what arrives until it returns True."""

    def __init__(self, *, proxy: Proxy, host: str, port: int) -> None:
        """Args:
        proxy: which proxy is asked.
        host: a name, or an IP address without brackets.
        port: of that host.
        """
        self._target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=READ_BYTES)
        self._interim = 0
        headers = [("Host", self._target)]
        if proxy.authorization:
            headers.append(("Proxy-Authorization", proxy.authorization))
        ask = h11.Request(method="CONNECT", target=self._target, headers=headers)
        self.request: bytes = (self._connection.send(ask) or b"") + (self._connection.send(h11.EndOfMessage()) or b"")

    def feed(self, data: bytes) -> bool:
        """Take bytes from the proxy; empty ones say that it closed the connection. True once the tunnel is open.

        Raises:
            TunnelRefusedError: the proxy answered with another status than 2xx, or with something else than HTTP.
        """
        if not data:
            raise self._refused("it closed the connection")
        try:
            self._connection.receive_data(data)
            event = self._connection.next_event()
            while isinstance(event, h11.InformationalResponse):
                self._interim += 1
                if self._interim > _MOST_INTERIM_ANSWERS:
                    raise self._refused("it answers without end")
                event = self._connection.next_event()
        except h11.RemoteProtocolError as error:
            raise self._refused(f"its answer is not HTTP ({error})") from None
        if event is h11.NEED_DATA:
            return False
        if not isinstance(event, h11.Response):
            raise self._refused("its answer has no status")
        if not 200 <= event.status_code < 300:
            reason = event.reason.decode("ascii", "replace")
            raise self._refused(f"it answered {event.status_code} {reason[:80]}".rstrip())
        if self._connection.trailing_data[0]:
            raise self._refused("it sent data before the tunnel was used")
        return True

    def _refused(self, why: str) -> TunnelRefusedError:
        return TunnelRefusedError(f"the egress proxy opened no tunnel to {self._target}: {why}")
