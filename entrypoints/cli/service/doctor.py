"""`recipient-fields doctor`: checks of a deployment, with what to do about each problem."""

from __future__ import annotations

import os
import pwd
import shlex
import socket
import ssl
import stat
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import click
from attrs import asdict, frozen

from recipient_fields.application import Pooled, UnusableCredentials, system_clock
from recipient_fields.application.environment import SECRETS_KEY
from recipient_fields.domain import RecipientFieldsError, StorageNotFound, format_instant

from ...console import ROOT as CONSOLE
from ...service.selection import (
    MISSING_CONSOLE_GROUP,
    READABLE_FILE,
    SMALL_POOL,
    existing_storage,
    find_missing_console_group,
    find_readable_file,
    open_core,
    open_storage,
    read_clock,
    shown_storage,
)
from ...service.settings import WebOrigin
from ..commands import Command, unknown_variables
from ..options import json_option, option, setting_option
from ..output import print_rows

_CLOCK_TOLERANCE = timedelta(seconds=1)
_CERTIFICATE_MARGIN = timedelta(days=14)
"""ACME clients renew a certificate 30 days before its end."""
_CONSOLE_TIMEOUT = 5.0
"""Seconds for a connection, and for each read from it."""

_RUN_AS_SERVICE = "Run doctor as the user of the service, and with its variables."


@frozen
class _Result:
    check: str
    result: Literal["ok", "problem"]
    message: str


def _ok(check: str, message: str) -> _Result:
    return _Result(check, "ok", message)


def _problem(check: str, message: str) -> _Result:
    return _Result(check, "problem", message)


@click.command(
    cls=Command,
    lists_variables=True,
    params=[setting_option("threads"), setting_option("console_url")],
)
@option(
    "--audit-log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The audit log of commands, to check its permissions.",
)
@json_option
@click.pass_context
def doctor(
    ctx: click.Context, *, threads: int, console_url: WebOrigin | None, audit_log: Path | None
) -> None:
    """Check the deployment, and print what to do about each problem.

    Run it on the machine, as the user and with the variables of the service. It checks the storage
    and its schema, the permissions of files, the clock, the certificate and the address of the
    console, and variables that nothing reads. The exit status is 1 if there is a problem.
    """
    results = [
        *_check_variables(ctx),
        *_check_storage(ctx.obj, threads, console=console_url is not None),
        *_check_credentials(ctx.obj),
    ]
    if audit_log is not None:
        results.append(_check_audit_log(audit_log))
    if console_url is not None:
        results += _check_console(console_url)
    rows = [(each.check, each.result, each.message) for each in results]
    checks = [asdict(each) for each in results]
    print_rows({"checks": checks}, ("CHECK", "RESULT", "DETAILS"), rows)
    ctx.exit(1 if any(each.result == "problem" for each in results) else 0)


def _check_variables(ctx: click.Context) -> Iterator[_Result]:
    unknown = unknown_variables(ctx, os.environ).values()
    yield from (_problem("variables", message) for message in unknown)
    if not unknown:
        yield _ok("variables", "All RECIPIENT_FIELDS_ variables are settings.")


def _check_storage(url: str, threads: int, *, console: bool) -> Iterator[_Result]:
    try:
        with closing(open_storage(existing_storage(url))) as storage:
            storage.check()
            pool_size = storage.pool_size if isinstance(storage, Pooled) else None
            missing = find_missing_console_group(storage)
        shown = shown_storage(url)
        difference = _clock_difference(url)
    except StorageNotFound as error:
        yield _problem("storage", f"{error} Check the storage URL. {_RUN_AS_SERVICE}")
        return
    except RecipientFieldsError as error:
        # Our own messages say what to do; those of a driver have no period.
        advice = "" if str(error).endswith(".") else f". {_RUN_AS_SERVICE}"
        yield _problem("storage", f"{error}{advice}")
        return
    yield _ok("storage", f"{shown} responds, and its schema is current.")
    if console and missing is not None:
        yield _problem("storage", MISSING_CONSOLE_GROUP % missing.value)
    if pool_size is not None:
        if pool_size < threads:
            yield _problem("pool", SMALL_POOL % (pool_size, threads, threads))
        else:
            yield _ok("pool", f"{pool_size} connections for {threads} threads.")
    if difference is not None:
        yield _check_clock(difference)
    yield from _check_file(url)


def _check_credentials(url: str) -> Iterator[_Result]:
    """List the integrations whose credentials can't be decrypted, to connect them again."""
    try:
        core = open_core(existing_storage(url))
        with closing(core.storage):
            unreadable = core.connections.list_unreadable()
    except UnusableCredentials as error:
        yield _problem("credentials", str(error))
        return
    except RecipientFieldsError:  # The check of the storage reports it.
        return
    for each in unreadable:
        message = f"The credentials of integration {each.id} of organization {each.organization_id}"
        yield _problem(
            "credentials",
            f"{message} can't be decrypted. Correct {SECRETS_KEY}, or connect it again:"
            f" recipient-fields integrations connect {each.id} --organization"
            f" {each.organization_id}",
        )
    if not unreadable:
        yield _ok("credentials", "All stored credentials of integrations can be decrypted.")


def _clock_difference(url: str) -> timedelta | None:
    """Return how far the database's clock is ahead of ours, or None if it has no clock."""
    before = system_clock()
    theirs = read_clock(url)
    after = system_clock()
    return None if theirs is None else theirs - (before + (after - before) / 2)


def _check_clock(difference: timedelta) -> _Result:
    if abs(difference) <= _CLOCK_TOLERANCE:
        return _ok("clock", "The clocks of this machine and of the database agree.")
    seconds = f"{abs(difference).total_seconds():,.0f} s"
    direction = "behind" if difference > timedelta() else "ahead of"
    return _problem(
        "clock",
        f"The clock of this machine is {seconds} {direction} that of the database, so API keys"
        " expire at the wrong time. Synchronize both with NTP; on this machine:"
        " timedatectl set-ntp true",
    )


def _check_file(url: str) -> Iterator[_Result]:
    if not shown_storage(url).startswith("sqlite:"):
        return
    path = find_readable_file(url)
    if path is None:
        yield _ok("permissions", "Other users can't read the SQLite file.")
    else:
        yield _problem("permissions", READABLE_FILE % (path, shlex.quote(str(path))))


def _check_audit_log(path: Path) -> _Result:
    """Check that this user can write the audit log, and that other users can't read it."""
    changed = path
    try:
        readable = bool(path.stat().st_mode & stat.S_IROTH)
        writable = os.access(path, os.W_OK)
    except FileNotFoundError:
        changed, readable = path.absolute().parent, False
        writable = os.access(changed, os.W_OK | os.X_OK)
    except PermissionError:
        changed, readable, writable = path.absolute().parent, False, False
    quoted = shlex.quote(str(changed))
    if not writable:
        message = f"This user can't write {path}, so commands with --audit-log fail. Run as root:"
        user = pwd.getpwuid(os.geteuid()).pw_name
        return _problem("audit log", f"{message} chown {user} {quoted}")
    if readable:
        message = f"Other users can read {path}. Run: chmod o-rwx {quoted}"
        return _problem("audit log", message)
    return _ok("audit log", f"This user can write {path}, and others can't read it.")


def _check_console(url: WebOrigin) -> Iterator[_Result]:
    address = urlsplit(url)
    host = address.hostname or ""
    try:
        socket.getaddrinfo(host, address.port)
    except OSError as error:
        message = f"{host} does not resolve ({error.strerror}). Create its DNS record, or correct"
        yield _problem("console address", f"{message} --console-url.")
        return
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    with closing(kind(host, address.port, timeout=_CONSOLE_TIMEOUT)) as connection:
        try:
            connection.connect()
            if isinstance(connection.sock, ssl.SSLSocket):
                yield _check_certificate(connection.sock)
            connection.request("GET", CONSOLE)
            status = connection.getresponse().status
        except ssl.SSLCertVerificationError as error:
            message = f"The certificate of {host} is not valid: {error.verify_message}. Install one"
            yield _problem("certificate", f"{message} for this name, with its chain.")
        except (OSError, HTTPException) as error:
            message = f"{url} does not respond ({error}). Check that the proxy runs and listens"
            yield _problem("console address", f"{message} there.")
        else:
            yield _check_status(url, status)


def _check_certificate(connection: ssl.SSLSocket) -> _Result:
    certificate = connection.getpeercert() or {}
    end = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
    shown = format_instant(end)
    if end - system_clock() < _CERTIFICATE_MARGIN:
        message = f"The certificate expires at {shown}. Renew it, and check the timer that does so."
        return _problem("certificate", message)
    return _ok("certificate", f"The certificate is valid until {shown}.")


def _check_status(url: WebOrigin, status: int) -> _Result:
    if status < HTTPStatus.BAD_REQUEST:
        return _ok("console address", f"{url}{CONSOLE} responds.")
    return _problem(
        "console address",
        f"{url}{CONSOLE} responds with {status}. Check that the service runs with --console, and"
        " that the proxy passes this path to it.",
    )
