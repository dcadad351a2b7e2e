"""The audit log of commands: changes of API keys, administrators and names, and deletions."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO

import click

from recipient_fields.application import AUDIT
from recipient_fields.domain import RecipientFieldsError

from ...service.log import json_formatter
from ..options import Option, path_option
from ..output import open_private


class AuditNotWritten(RecipientFieldsError):
    """An action took effect, but the audit log does not contain it."""


class _AuditFileHandler(logging.Handler):
    """Appends each record to a file in one write. `logging` ignores errors; this raises them."""

    def __init__(self, file: FileIO) -> None:
        super().__init__()
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        """Append the line of the record. Raises: AuditNotWritten if the file can't be written."""
        try:
            self._append(f"{self.format(record)}\n".encode())
        except OSError as error:
            raise AuditNotWritten(
                f"The audit log can't be written: {error.strerror}. The command took effect, but"
                " does not show a new key or link. If it created a key, find it with `keys list`"
                " and revoke it."
            ) from error

    def _append(self, line: bytes) -> None:
        if self._file.write(line) < len(line):  # The disk is full.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def _audit_file(path: str) -> Iterator[None]:
    """Append the audit records of this block to the file. Each line has the id of the user.

    Only the owner can read a new file. An existing file keeps its permissions.

    Raises: OSError if the file can't be opened; AuditNotWritten if a line can't be written.
    """
    audit = logging.getLogger(AUDIT)
    # Without a buffer, a line is one write.
    with open(path, "ab", buffering=0, opener=open_private) as file:
        handler = _AuditFileHandler(file)
        handler.setFormatter(json_formatter(user=os.getuid()))
        audit.addHandler(handler)
        audit.setLevel("INFO")
        try:
            yield
        finally:
            audit.removeHandler(handler)


def _open_audit_log(ctx: click.Context, _parameter: click.Parameter, path: str | None) -> None:
    """Append the audit lines of the context's commands to the file."""
    if path is None:
        return
    try:
        ctx.with_resource(_audit_file(path))
    except OSError as error:
        raise click.ClickException(
            f"Can't write the audit log {path}: {error.strerror}."
        ) from error


audit_log_option: Option = path_option(
    "--audit-log",
    expose_value=False,
    callback=_open_audit_log,
    text="Append one line to this file for each API key that is created, revoked or rotated, each"
    " administrator who is invited, reset or revoked, each organization that is deleted or whose"
    " history is pruned, each name that is set at an integration or removed, and each integration"
    " whose credentials or schedule change.",
)
