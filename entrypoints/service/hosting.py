"""The server that hosts the service, and the addresses that it listens on."""

from __future__ import annotations

import errno
import os
import pwd
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL
from signal import Signals
from typing import Final

from recipient_fields.domain import RecipientFieldsError

from ..http.resource import MAX_BODY_SIZE
from ..server.addresses import authority, listen
from ..server.server import AdminListener, Server
from .composition import Service
from .settings import Address, Settings, variable_of

_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1024 * 1024


def return_large_blocks() -> None:
    """Return blocks of more than 1 MiB to the operating system as soon as they are free.

    The C library of GNU raises this limit to 32 MiB as it frees such blocks. A large response that
    its client does not read would then keep the memory of what it was rendered from. The function
    has no effect with other C libraries.
    """
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE)


_SWITCH_INTERVAL = 0.001
"""The seconds after which a busy thread lets another run. Under load, a probe waits for several
such intervals: with Python's default of 5 ms, it would wait for more than 100 ms."""


class AddressUnavailable(RecipientFieldsError):
    """The service can't listen on an address of its settings."""


def create_server(
    settings: Settings, service: Service, on_drain: Callable[[Signals, int], None]
) -> Server:
    """Return a server for the service, which listens on its address.

    Raises: AddressUnavailable; TooFewFiles if the limit of open files is too low.
    """
    return_large_blocks()
    with _listening(settings.listen, "--listen", shared=settings.reuse_port):
        return Server(
            service.application,
            *settings.listen,
            reject=service.reject,
            max_body_size=service.max_body_size,
            threads=settings.threads,
            connections=settings.connections,
            computations=service.computations,
            shared=settings.reuse_port,
            on_drain=on_drain,
        )


@contextmanager
def run_admin_listener(
    address: Address | None, service: Service, server: Server
) -> Iterator[str | None]:
    """Serve the probes and the metrics during the block, which receives their URL.

    Raises: AddressUnavailable.
    """
    if address is None or service.admin is None:
        yield None
        return
    service.admin.metrics.watch_server(server)
    with service.admin.last_check:
        with _listening(address, "--admin-listen"):
            listener = AdminListener(
                service.admin.application,
                *address,
                reject=service.reject,
                max_body_size=MAX_BODY_SIZE,
            )
        sys.setswitchinterval(_SWITCH_INTERVAL)
        with listener:
            yield listener.url


@contextmanager
def _listening(address: Address, option: str, *, shared: bool = False) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # create_server repeats the address.
        variable = variable_of(option.removeprefix("--"))
        if shared and error.errno == errno.EADDRINUSE:
            reason += (
                ". With --reuse-port, processes can share an address if all of them use this option"
                f" and run as the same user (this one runs as {_user()})"
            )
        raise AddressUnavailable(
            f"Can't listen on {address}: {reason}. Choose another address with {option},"
            f" or with a variable: {variable}={_free_address()}"
        ) from error


def _user() -> str:
    """Return the name of this process's user, or its id if it has none, as in containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _free_address() -> str:
    with listen("127.0.0.1", 0, shared=False) as listening:
        return authority(*listening.getsockname())
