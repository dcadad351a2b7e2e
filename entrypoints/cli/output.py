"""Output of the commands, and files that a command writes completely or not at all."""

from __future__ import annotations

import io
import os
import re
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import click
from attrs import define, field, frozen

from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.extras import requires_extra

_CONTROLS = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except a line feed, line and paragraph separators, and bidi controls."""


def print_json(document: object) -> None:
    """Print a JSON document on standard output."""
    _print(render_json(document))


_JSON = f"{__name__}.json"


def choose_json(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 (click's signature)
    """Store whether the command has the option `--json`."""
    ctx.meta[_JSON] = value


def is_json() -> bool:
    """Return whether the command prints one JSON document on standard output."""
    return bool(click.get_current_context().meta.get(_JSON))


def print_rows(document: object, titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the document with `--json`, and otherwise the rows as a table."""
    if is_json():
        print_json(document)
    else:
        print_table(titles, rows)


def print_or_note(document: object, message: str) -> None:
    """Print the document with `--json`, and otherwise the message on standard error."""
    if is_json():
        print_json(document)
    else:
        note(message)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns that a terminal aligns on standard output, with a dash for None."""
    for line in table_lines(titles, rows):
        print_line(line)


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table."""
    cells = [list(titles)] + [["-" if c is None else one_line(str(c)) for c in row] for row in rows]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(titles))]
    for row in cells:
        padded = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Return the number of columns in a terminal."""
    if text.isascii():
        return len(text)
    # Imported here because most tables are ASCII.
    with requires_extra("cli", "wcwidth"):
        from wcwidth import wcswidth

    return wcswidth(text)


def print_line(text: str) -> None:
    """Print a line on standard output. A name of a file that is not UTF-8 has escapes in it."""
    _print(text.encode("utf-8", "backslashreplace"))


def print_bytes(content: bytes) -> None:
    """Print the content unchanged on standard output."""
    _print(content, line=False)


def note(message: str) -> None:
    """Print a message for the user on standard error."""
    click.echo(printable(message), err=True)


@define
class Progress:
    """Prints notes about long work: at most one every `interval` seconds."""

    interval: float = 2.0
    _noted_at: float = field(factory=monotonic, init=False)

    def note(self, message: str) -> None:
        """Print the message, unless another one was printed a short time ago."""
        if monotonic() - self._noted_at >= self.interval:
            self._noted_at = monotonic()
            note(message)


def printable(text: str) -> str:
    """Return the text with escapes for the characters that control a terminal.

    Names and messages can contain such characters.
    """
    return _CONTROLS.sub(_escaped, text)


def one_line(text: str) -> str:
    """Return the printable text, with an escape for a line feed."""
    return printable(text).replace("\n", "\\n")


def _escaped(character: re.Match[str]) -> str:
    return ascii(character[0])[1:-1]


def _print(content: bytes, *, line: bool = True) -> None:
    """Print UTF-8 in every locale, because names can contain any character."""
    try:
        click.echo(content, nl=line)
    except OSError as error:
        # The interpreter flushes its buffer again when it ends, and would report the same error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise  # The reader has closed the pipe. click then exits quietly.
        raise click.ClickException(f"Can't write the output: {error.strerror}.") from error


if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_Opener: TypeAlias = Callable[[str, int], int]
_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def complete_outputs(
    inputs: Iterable[Path] = (), *, is_private: bool = False
) -> Iterator[OutputFiles]:
    """Return files that get their names when the block ends without an error.

    If the block raises, also after SIGINT, SIGTERM and SIGHUP, the names are unchanged. The files
    replace no input, and not each other. Only their owner can read new files that are private, such
    as those with values of recipients.

    Raises: ClickException if a file can't be written.
    """
    with _exit_on_termination(), ExitStack() as cleanup:
        used = {Path(os.path.realpath(each)) for each in inputs}
        files = OutputFiles(cleanup, used, is_private)
        yield files
        files.publish()


@frozen
class OutputFiles:
    """Hidden files, each in the folder of the name that it gets later."""

    _cleanup: ExitStack
    _used: set[Path]
    """The files that the command reads and writes."""
    _is_private: bool
    _outputs: list[_Output] = field(init=False, factory=list)

    def open(self, name: str) -> BinaryIO:
        """Open a file, with the permissions of the existing one.

        Raises: ClickException if the file can't be written. The methods of the file do, too.
        """
        output = _Output(self._cleanup, name, open_private if self._is_private else None)
        if output.path in self._used:
            raise unwritable(name, "The command also reads or writes this file for something else")
        self._used.add(output.path)
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

    def __init__(self, cleanup: ExitStack, name: str, opener: _Opener | None) -> None:
        self.name = name
        # A symbolic link stays, and the file that it points to is replaced.
        self.path = Path(os.path.realpath(name))
        self.hidden = self.path.with_name(f".{self.path.name}.{token_hex(4)}")
        try:
            is_regular = stat.S_ISREG(self.path.stat().st_mode)
        except FileNotFoundError:
            is_regular = True
        except OSError as error:
            raise unwritable(name, error.strerror) from error
        if not is_regular:
            raise unwritable(name, "It is not a regular file")
        cleanup.callback(self.hidden.unlink, missing_ok=True)
        raw = _RawFile(name, self.hidden, opener)
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
            raise unwritable(self.name, error.strerror) from error

    def publish(self) -> None:
        """Give the file its name."""
        try:
            self.hidden.replace(self.path)
        except OSError as error:
            raise unwritable(self.name, error.strerror) from error


class _RawFile(io.FileIO):
    """A new file whose errors have the name of the output."""

    def __init__(self, name: str, path: Path, opener: _Opener | None) -> None:
        self._output_name = name
        try:
            super().__init__(path, "x", opener=opener)
        except OSError as error:
            raise unwritable(name, error.strerror) from error

    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise unwritable(self._output_name, error.strerror) from error


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


def unwritable(name: str, reason: str | None) -> click.ClickException:
    """Return the error that a file or folder can't be written."""
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
