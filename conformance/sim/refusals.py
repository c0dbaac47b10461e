"""What an asyncio loop can do and the simulated one cannot: sockets, pipes, processes, signals.

Promises: each such call raises `SimRefused` with its name at once, and is remembered, so that the
run ends with it even where the code under test swallowed it.

Does not: simulate any of it. Signal handlers are refused without ending the run, because code
that asks for one is used to loops that have none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVarTuple

from conformance.sim.errors import SimRefused

_Ts = TypeVarTuple("_Ts")


def _refuse(asked: str, why: str) -> Any:
    def refused(loop: RefusingLoop, *_args: Any, **_kwargs: Any) -> Any:
        raise loop.remember(SimRefused(f"loop.{asked}", why))

    refused.__name__ = asked
    refused.__doc__ = f"Refused: {why}."
    return refused


_NO_SOCKETS = "the simulated loop has no sockets"
_NO_PIPES = "the simulated loop has no pipes"
_NO_PROCESSES = "the simulated loop starts no processes"
_NO_DESCRIPTORS = "the simulated loop watches no file descriptors"
_NO_SIGNALS = "the simulated loop takes no signal handlers"


class RefusingLoop(asyncio.AbstractEventLoop):
    """The part of the loop that says no, and what it remembers of it."""

    _fatal: BaseException | None = None

    def remember(self, error: BaseException) -> BaseException:
        """Note `error` (unless there is an earlier one) as what the run ends with; returns it."""
        if self._fatal is None:
            self._fatal = error
        return error

    connect_accepted_socket = _refuse("connect_accepted_socket", _NO_SOCKETS)
    create_connection = _refuse("create_connection", _NO_SOCKETS)
    create_datagram_endpoint = _refuse("create_datagram_endpoint", _NO_SOCKETS)
    create_server = _refuse("create_server", _NO_SOCKETS)
    create_unix_connection = _refuse("create_unix_connection", _NO_SOCKETS)
    create_unix_server = _refuse("create_unix_server", _NO_SOCKETS)
    getaddrinfo = _refuse("getaddrinfo", _NO_SOCKETS)
    getnameinfo = _refuse("getnameinfo", _NO_SOCKETS)
    sendfile = _refuse("sendfile", _NO_SOCKETS)
    sock_accept = _refuse("sock_accept", _NO_SOCKETS)
    sock_connect = _refuse("sock_connect", _NO_SOCKETS)
    sock_recv = _refuse("sock_recv", _NO_SOCKETS)
    sock_recv_into = _refuse("sock_recv_into", _NO_SOCKETS)
    sock_recvfrom = _refuse("sock_recvfrom", _NO_SOCKETS)
    sock_recvfrom_into = _refuse("sock_recvfrom_into", _NO_SOCKETS)
    sock_sendall = _refuse("sock_sendall", _NO_SOCKETS)
    sock_sendfile = _refuse("sock_sendfile", _NO_SOCKETS)
    sock_sendto = _refuse("sock_sendto", _NO_SOCKETS)
    start_tls = _refuse("start_tls", _NO_SOCKETS)

    connect_read_pipe = _refuse("connect_read_pipe", _NO_PIPES)
    connect_write_pipe = _refuse("connect_write_pipe", _NO_PIPES)
    subprocess_exec = _refuse("subprocess_exec", _NO_PROCESSES)
    subprocess_shell = _refuse("subprocess_shell", _NO_PROCESSES)

    add_reader = _refuse("add_reader", _NO_DESCRIPTORS)
    add_writer = _refuse("add_writer", _NO_DESCRIPTORS)
    remove_reader = _refuse("remove_reader", _NO_DESCRIPTORS)
    remove_writer = _refuse("remove_writer", _NO_DESCRIPTORS)

    def add_signal_handler(self, sig: int, callback: Callable[[*_Ts], object], *args: *_Ts) -> None:
        """Refused: the simulated loop takes no signal handlers."""
        raise SimRefused("loop.add_signal_handler", _NO_SIGNALS)

    def remove_signal_handler(self, sig: int) -> bool:
        """Refused: the simulated loop takes no signal handlers."""
        raise SimRefused("loop.remove_signal_handler", _NO_SIGNALS)
