"""`recipient-fields serve`."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from ipaddress import ip_network
from signal import Signals
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from recipient_fields.application import DEFAULT_FIELD_LIMIT, Pooled, Storage

from ..composition import STORED_KEYS, Core, migrate_storage, storage_kind
from ..http.app import DEFAULT_CACHE_BYTES, create_app
from ..http.bodies import LARGEST_BODY
from ..http.client_addresses import ClientAddresses, Network
from ..http.host_rejections import HostRejections
from ..http.openapi.reference_page import REFERENCE_PATH
from ..http.readiness import CheckWithDeadline, PeriodicCheck
from ..http.request_log import RequestLog
from ..server.addresses import authority
from ..server.limits import MOST_CONNECTIONS
from ..server.log import FORMATS, LEVELS, Batches, is_readable, start_log
from ..server.server import Server, TooFewFiles
from .demo import create_demonstration, curl_commands
from .options import opened, option
from .output import note

if TYPE_CHECKING:
    from ..http.metrics import Metrics

_log = logging.getLogger(__name__)

_ADDRESS = re.compile(r"(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})")

MEBIBYTE = 1024 * 1024

_SWITCH_SECONDS = 0.001
"""How long a busy thread may keep the interpreter from others: probes wait for several turns.

Python's own 5 ms would make that more than 100 ms under load."""


class Address(click.ParamType[tuple[str, int]]):
    """`HOST:PORT`; an IPv6 host stands in brackets."""

    name = "host:port"

    def convert(
        self,
        value: str | tuple[str, int],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, int]:
        """Host and port; a usage error where the text names none."""
        if isinstance(value, tuple):
            return value
        match = _ADDRESS.fullmatch(value)
        if match is None or int(match[3]) > 65_535:
            self.fail("Write HOST:PORT, like 127.0.0.1:8080 or [::1]:8080.", param, ctx)
        return match[1] or match[2], int(match[3])


class Networks(click.ParamType[tuple[Network, ...]]):
    """Networks, separated by commas; an address is a network of one."""

    name = "networks"

    def convert(
        self,
        value: str | tuple[Network, ...],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[Network, ...]:
        """Return the networks; an empty text contains none."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(ip_network(text.strip()) for text in value.split(",") if text.strip())
        except ValueError:
            self.fail("Write networks like 10.0.0.0/8,192.0.2.7,2001:db8::/32.", param, ctx)


class Mebibytes(click.IntRange):
    """A number of MiB, in bytes."""

    name = "mib"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes."""
        return MEBIBYTE * int(super().convert(value, param, ctx))


@click.command()
@option(
    "--listen",
    type=Address(),
    default="127.0.0.1:8080",
    show_default=True,
    help="The address to answer at; port 0 takes a free one.",
)
@option(
    "--admin-listen",
    type=Address(),
    help="Answer /healthz, /readyz and /metrics here, too, however busy the service is.",
)
@option(
    "--threads",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="How many requests are worked on at once.",
)
@option(
    "--connections",
    type=click.IntRange(1),
    default=MOST_CONNECTIONS,
    show_default=True,
    help="How many clients may be connected at once.",
)
@option(
    "--reuse-port",
    is_flag=True,
    help="Share the address with other processes that are started so, for restarts without a gap.",
)
@option(
    "--field-limit",
    type=click.IntRange(0),
    default=DEFAULT_FIELD_LIMIT,
    show_default=True,
    help="How many API-managed fields an organization may have.",
)
@option(
    "--keys",
    metavar="URL",
    default=STORED_KEYS,
    show_default=True,
    help="What validates API keys: stored:, or introspection+https://… for an issuer's tokens.",
)
@option(
    "--cache",
    type=Mebibytes(0, 65_536),
    default=DEFAULT_CACHE_BYTES // MEBIBYTE,
    show_default=True,
    metavar="MIB",
    help="How many MiB of answers to keep while their fields don't change; 0 keeps none.",
)
@option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="info",
    show_default=True,
    help="How grave something must be to be logged; at info, a line a request.",
)
@option(
    "--log-format",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="The log on standard error: readable, or JSON lines; auto is readable on a terminal.",
)
@option(
    "--log-client-address",
    is_flag=True,
    help="Log the client's IP address with every request.",
)
@option(
    "--trusted-proxies",
    type=Networks(),
    default=(),
    metavar="NETWORKS",
    help="With --log-client-address: the networks of the proxies whose X-Forwarded-For or Forwarded"
    " header is trusted, such as 10.0.0.0/8,::1.",
)
@option("--migrate", is_flag=True, help="Bring the storage's schema up to date first.")
@option("--demo", is_flag=True, help="Fill an empty storage with demonstration data.")
@click.pass_obj
def serve(
    storage: str,
    listen: tuple[str, int],
    admin_listen: tuple[str, int] | None,
    threads: int,
    connections: int,
    field_limit: int,
    keys: str,
    cache: int,
    log_level: str,
    log_format: str,
    trusted_proxies: tuple[Network, ...],
    *,
    log_client_address: bool,
    reuse_port: bool,
    migrate: bool,
    demo: bool,
) -> None:
    """Answer HTTP requests until SIGTERM or SIGINT."""
    if demo and keys != STORED_KEYS:
        raise click.UsageError(f"--demo shows a stored key. Leave --keys at {STORED_KEYS} for it.")
    log = start_log(log_level, log_format, sys.stderr)
    lifetime = _Lifetime(log)
    client_addresses = ClientAddresses(trusted_proxies) if log_client_address else None
    if migrate:
        migrate_storage(storage)
    with opened(
        storage,
        field_limit=field_limit,
        keys_url=keys,
        environment=os.environ,
    ) as core:
        _warn_of_small_pool(core.storage, threads)
        check = CheckWithDeadline(core.storage.check)

        def drain(by: Signals, in_flight: int) -> None:
            check.begin_shutdown()
            lifetime.drains(by, in_flight)

        metrics = None if admin_listen is None else _new_metrics()
        app = create_app(
            core.fields,
            core.validator if metrics is None else metrics.counting(core.validator),
            check,
            () if metrics is None else (metrics.record_response,),
            cache_bytes=cache,
            request_log=RequestLog(log.log, client_addresses),
        )
        host_log = RequestLog(log.offer, client_addresses)
        with _binding(listen, "--listen"):
            server = Server(
                app,
                *listen,
                threads=threads,
                connections=connections,
                shared=reuse_port,
                on_drain=drain,
                reject=HostRejections(host_log),
                largest_body=LARGEST_BODY,
            )
        with _administered(admin_listen, core, metrics, check, server, host_log) as admin_url:
            readable = is_readable(log_format, sys.stderr)
            if demo and not readable:  # Nobody looks for a note among lines for machines.
                note(f"Recipient Fields answers at {server.url}")
                _demonstrate(core, server.url)
            lifetime.begins(server.url, admin_url, storage=storage_kind(storage), threads=threads)
            if demo and readable:
                _demonstrate(core, server.url)
            server.run()
    lifetime.has_ended()


def _warn_of_small_pool(storage: Storage, threads: int) -> None:
    if isinstance(storage, Pooled) and threads > storage.pool_size:
        _log.warning(
            "The storage has %d connections for %d threads, so requests can wait for a connection."
            " Add pool_size=%d to the storage URL, or lower --threads.",
            *(storage.pool_size, threads, threads),
            extra={"facts": {"pool_size": storage.pool_size, "threads": threads}},
        )


class _Lifetime:
    """What the log is told of the process, whatever its level: each line comes once.

    A process that was killed, or failed, has no last line.
    """

    def __init__(self, log: Batches) -> None:
        self._log = log
        self._drains_since = 0.0
        self._in_flight = 0

    def begins(self, url: str, admin_url: str | None, *, storage: str, threads: int) -> None:
        """It answers; the line is there before anything else is said."""
        facts: dict[str, object] = {
            "address": url.removeprefix("http://"),
            "reference": f"{url}{REFERENCE_PATH}",
        }
        if admin_url is not None:
            facts["admin_address"] = admin_url.removeprefix("http://")
        facts |= {"version": version("recipient-fields"), "storage": storage, "threads": threads}
        self._tell(f"answers at {url}", facts)
        self._log.flush()

    def drains(self, by: Signals, in_flight: int) -> None:
        """It has been asked to end. May be called by a signal handler."""
        self._drains_since, self._in_flight = monotonic(), in_flight
        self._tell("draining", {"signal": by.name, "in_flight": in_flight})

    def has_ended(self) -> None:
        """It has answered what it had received, and closed everything."""
        milliseconds = round((monotonic() - self._drains_since) * 1_000, 3)
        self._tell("ended", {"in_flight": self._in_flight, "milliseconds": milliseconds})

    def _tell(self, event: str, facts: Mapping[str, object]) -> None:
        told = {**facts, "process_id": os.getpid()}
        self._log.offer("recipient_fields.service", logging.INFO, event, told)


def _new_metrics() -> Metrics:
    # Imported late: 1.4 MiB that services without metrics don't need.
    from prometheus_client import disable_created_metrics

    from ..http.metrics import Metrics

    # It applies to the whole process, so a library can't decide it.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    return Metrics()


@contextmanager
def _administered(
    address: tuple[str, int] | None,
    core: Core,
    metrics: Metrics | None,
    check: CheckWithDeadline,
    server: Server,
    request_log: RequestLog,
) -> Iterator[str | None]:
    """Answer operators there while the block runs, which is given the URL; else nowhere."""
    if address is None or metrics is None:
        yield None
        return
    from ..http.admin import create_admin_app
    from ..server.admin import AdminListener

    metrics.watch_server(server)
    if isinstance(core.storage, Pooled):
        metrics.watch_pool(core.storage)
    with PeriodicCheck(check) as last_check:
        with _binding(address, "--admin-listen"):
            app = create_admin_app(metrics, last_check, request_log)
            listener = AdminListener(
                app, *address, reject=HostRejections(request_log), largest_body=LARGEST_BODY
            )
        sys.setswitchinterval(_SWITCH_SECONDS)
        with listener:
            yield listener.url


@contextmanager
def _binding(address: tuple[str, int], option: str) -> Iterator[None]:
    """One clear line where the block can't have its address."""
    try:
        yield
    except TooFewFiles as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # create_server repeats the address.
        message = f"Can't listen on {authority(*address)}: {reason}. Choose with {option}."
        raise click.ClickException(message) from error


def _demonstrate(core: Core, url: str) -> None:
    key = create_demonstration(core)
    if key is None:
        note("The storage has data already; it was kept, and no demonstration data was added.")
        note("`recipient-fields organizations list` shows the ids of the organizations, and")
        note("`recipient-fields keys create --organization ID --name NAME` makes a key.")
    else:
        note(f"The API key, shown this once: {key.reveal()}")
        note("Paste these; they are answered 200, 201 and 403:")
        for command in curl_commands(url, key):
            note(f"\n{command}")
    note(f"\nTo read about the API and try it in a browser, open {url}{REFERENCE_PATH}")
