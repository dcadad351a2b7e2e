"""The files with content in folders: which they are, and their texts."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from errno import ELOOP, ENOENT, ENOTDIR
from functools import cache
from pathlib import Path
from typing import NoReturn

import click

from recipient_fields.application.wording import counted

from ..output import note, one_line

STANDARD_INPUT = "-"
SUFFIXES = ("*.html", "*.htm", "*.txt", "*.mjml")
"""The names of files with content."""
_MARK = "\ufeff"
_FOLDER_LINK = "Links to folders are not followed. Give the path of the folder itself, too."
_BROKEN_LINK = "This link leads to no file. Correct or remove it."
ADD_OPTION = "add --include PATTERN"
SET_MEMBER = "set include in the nearest recipient-fields.toml"
"""How the files that were left out are read: in most commands with the option."""
_SHOWN_SUFFIXES = 10


class Unreadable(click.ClickException):
    """A file can't be read as text. The message says why, and what to do."""


def find_files(paths: Sequence[str], include: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the files at the paths, and whether each has content.

    A path to a file always has. In a folder, these are the files that match a pattern of `include`
    or have a usual name. In a repository of Git, files that it does not track are left out.
    Raises: click.ClickException if there is nothing at a path, or if a folder can't be entered.
    """
    for path in paths:
        if path != STANDARD_INPUT and is_folder(path):
            yield from judge_files(list_files(path), path, include, paths)
        else:
            yield path, True


def is_folder(path: str) -> bool:
    """Return whether a folder is at the path. Raises: click.ClickException if nothing is."""
    try:
        return stat.S_ISDIR(Path(path).stat().st_mode)
    except FileNotFoundError:
        raise click.ClickException(
            f"There is no file or folder {one_line(path)}. Correct the path."
        ) from None
    except OSError as error:
        raise click.ClickException(f"Can't read {one_line(path)}: {error.strerror}.") from None


def split_files(judged: Iterable[tuple[str, bool]]) -> tuple[list[str], list[str]]:
    """Return the files that have content at one of their paths, in order, and the sorted others."""
    has_content: dict[str, bool] = {}
    for file, has_its_name in judged:
        has_content[file] = has_its_name or has_content.get(file, False)
    found = [file for file, is_read in has_content.items() if is_read]
    return found, sorted(has_content.keys() - found)


def list_files(folder: str) -> list[str]:
    """Return the sorted files in the folder, or those that Git tracks if it is in a repository."""
    try:
        # The folder is no option, because `-C` precedes it. The Git is the user's own.
        listed = subprocess.run(  # noqa: S603  # nosec B603 B607
            ["git", "-C", folder, "ls-files", "-z"],  # noqa: S607
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):  # There is no Git, or no repository.
        relative = list(walk(folder))
    else:
        relative = [os.fsdecode(each) for each in listed.stdout.split(b"\0") if each]
    return sorted(os.path.normpath(Path(folder, each)) for each in relative)


def walk(folder: str) -> Iterator[str]:
    """Yield the files and links in the folder and below. Raises: Unreadable."""

    def refuse(error: OSError) -> NoReturn:
        name = one_line(str(error.filename))
        raise Unreadable(f"Can't list the folder {name}: {error.strerror}.")

    for parent, folders, names in os.walk(folder, onerror=refuse):
        links = (
            each
            for each in folders
            # Unlike a Path, this raises nothing in a folder that can be listed, but not entered.
            if os.path.islink(f"{parent}/{each}") and each[0] != "."  # noqa: PTH114
        )
        yield from (os.path.relpath(Path(parent, each), folder) for each in (*links, *names))


def judge_files(
    files: Iterable[str], folder: str, include: Sequence[str], paths: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Yield the files in the folder, and whether each has content by its name.

    Links that can't be read have, because reading them reports that: those to no file, and those to
    folders, unless they lead into one of the paths. Pipes are not yielded, and neither are hidden
    files without content.
    """
    for file in files:
        path = Path(file)
        is_hidden = path.name.startswith(".")
        try:
            mode = path.stat().st_mode
        except OSError as error:
            is_missing = error.errno in {ENOENT, ENOTDIR} and not path.is_symlink()
            if is_hidden or is_missing:  # Git tracks a file that is deleted.
                continue
            mode = stat.S_IFREG
        if stat.S_ISDIR(mode):
            # Unlike `resolve`, `realpath` raises nothing for a link in a circle.
            real = Path(os.path.realpath(path))
            if not any(real.is_relative_to(os.path.realpath(each)) for each in paths):
                yield file, True
        elif stat.S_ISREG(mode):
            has_content = has_content_name(file, folder, include)
            if has_content or not is_hidden:
                yield file, has_content


def note_left_out(files: Sequence[str], advice: str = ADD_OPTION) -> None:
    """Print how many files were left out, if there are any, and the first one of each suffix."""
    by_suffix: dict[str, list[str]] = {}
    for each in files:
        by_suffix.setdefault(Path(each).suffix, []).append(each)
    named = [
        f"{first} and {len(others):,} more {suffix}".rstrip() if others else first
        for suffix, (first, *others) in by_suffix.items()
    ]
    if len(named) > _SHOWN_SUFFIXES:
        named[_SHOWN_SUFFIXES:] = ["…"]
    if named:
        note(
            one_line(
                f"Left out {counted(len(files), 'file')}: {', '.join(named)}. To read files with"
                f" other names, {advice}."
            )
        )


def has_content_name(file: str, folder: str, include: Sequence[str]) -> bool:
    """Return whether the file in the folder has content by its name, or by a pattern."""
    return any(matches(file, folder, each) for each in (*SUFFIXES, *include))


def matches(file: str, folder: str, pattern: str) -> bool:
    """Return whether the pattern matches the file, relative to the folder.

    `*` and `?` match no slash, and `**` matches folders. A pattern without a slash matches names.
    """
    relative = Path(os.path.relpath(file, folder)).as_posix()
    name = relative if "/" in pattern else relative.rpartition("/")[2]
    return _expression(pattern).fullmatch(name) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(wild.get(part, re.escape(part)) for part in parts), re.DOTALL)


def decoded(content: bytes, name: str = "The content") -> tuple[bytes, str]:
    """Return the byte order mark, if there is one, and the text. Raises: Unreadable."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"{name} is not UTF-8: byte {error.start + 1:,}. Save it as UTF-8."
        ) from None
    return (BOM_UTF8, text[1:]) if text.startswith(_MARK) else (b"", text)


def read_text(file: str) -> str:
    """Return the text of the file, without a byte order mark. Raises: Unreadable."""
    return read_marked_text(file)[1]


def read_marked_text(file: str) -> tuple[bytes, str]:
    """Return the byte order mark of the file, if it has one, and its text. Raises: Unreadable."""
    try:
        with click.open_file(file, "rb") as stream:
            return decoded(stream.read(), "The file")
    except IsADirectoryError:
        raise Unreadable(_FOLDER_LINK) from None
    except OSError as error:
        if error.errno in {ELOOP, ENOENT, ENOTDIR}:
            raise Unreadable(_BROKEN_LINK) from None
        raise Unreadable(f"Can't read the file: {error.strerror}.") from None
