"""Files that a command writes completely or not at all."""

from __future__ import annotations

import io
import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO

import click
from attrs import field, frozen

from .output import one_line

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def complete_outputs() -> Iterator[OutputFiles]:
    """Return files that get their names when the block ends without an error.

    If the block raises, also after SIGINT, SIGTERM and SIGHUP, the names are unchanged.

    Raises: ClickException if a file can't be written.
    """
    with _exit_on_termination(), ExitStack() as cleanup:
        files = OutputFiles(cleanup)
        yield files
        files.publish()


@frozen
class OutputFiles:
    """Hidden files, each in the folder of the name that it gets later."""

    _cleanup: ExitStack
    _outputs: list[_Output] = field(init=False, factory=list)

    def open(self, name: str) -> BinaryIO:
        """Open a file that only its owner can read, or with the permissions of the existing one.

        Raises: ClickException if the file can't be written. The methods of the file do, too.
        """
        output = _Output(self._cleanup, name)
        self._outputs.append(output)
        return output.file

    def publish(self) -> None:
        """Give all files their names when all are on the disk."""
        for output in self._outputs:
            output.complete()
        for output in self._outputs:
            output.publish()


class _Output:
    """A hidden file that gets its name when it is complete."""

    def __init__(self, cleanup: ExitStack, name: str) -> None:
        self.name = name
        # A symbolic link stays, and the file that it points to is replaced.
        self.path = Path(os.path.realpath(name))
        self.hidden = self.path.with_name(f".{self.path.name}.{token_hex(4)}")
        if self.path.exists() and not self.path.is_file():
            raise _unwritable(name, "It is not a regular file")
        cleanup.callback(self.hidden.unlink, missing_ok=True)
        raw = _RawFile(name, self.hidden)
        # After a failed write, closing the buffered writer would write again.
        cleanup.callback(raw.close)
        self.file = io.BufferedWriter(raw)

    def complete(self) -> None:
        """Write the rest of the file to the disk, with the permissions of the file it replaces."""
        self.file.flush()
        try:
            if self.path.exists():
                _copy_permissions(self.path, self.file.fileno())
            os.fsync(self.file.fileno())
        except OSError as error:
            raise _unwritable(self.name, error.strerror) from error

    def publish(self) -> None:
        """Give the file its name."""
        try:
            self.hidden.replace(self.path)
        except OSError as error:
            raise _unwritable(self.name, error.strerror) from error


class _RawFile(io.FileIO):
    """A new file whose errors have the name of the output."""

    def __init__(self, name: str, path: Path) -> None:
        self._output_name = name
        try:
            super().__init__(path, "x", opener=open_private)
        except OSError as error:
            raise _unwritable(name, error.strerror) from error

    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise _unwritable(self._output_name, error.strerror) from error


def open_private(path: str, flags: int) -> int:
    """Open a file for `open`. Only its owner can read it if it is new."""
    return os.open(path, flags, mode=stat.S_IRUSR | stat.S_IWUSR)


def _copy_permissions(path: Path, descriptor: int) -> None:
    replaced = path.stat()
    mode = stat.S_IMODE(replaced.st_mode)
    try:
        os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
    except PermissionError:
        mode &= stat.S_IRWXU  # The permissions are those of another group.
    os.fchmod(descriptor, mode)


def _unwritable(name: str, reason: str | None) -> click.ClickException:
    return click.ClickException(f"Can't write {one_line(name)}: {reason}.")


@contextmanager
def _exit_on_termination() -> Iterator[None]:
    """Let signals that end the process end the block first, as Python does for SIGINT.

    Signals that the process ignores, as under `nohup`, stay ignored.
    """
    handled = [
        number
        for number in _TERMINATIONS
        if current_thread() is main_thread() and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in handled:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)  # The status that a shell shows for a process ended by this signal.
