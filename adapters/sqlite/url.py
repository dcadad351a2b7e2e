"""Storage URLs of SQLite: `sqlite:PATH` and `sqlite:PATH?create=false`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from recipient_fields.domain import InvalidStorageUrl

from ..url_options import boolean, take_options
from .storage import SqliteStorage

_SCHEME = "sqlite:"


def open_storage(url: str, on_applied: Callable[[str], None] = lambda _name: None) -> SqliteStorage:
    """Open the storage at `sqlite:PATH`, an absolute path or one relative to the working directory.

    The path is not percent-decoded. Option `create=false`: do not create a missing file. Options
    begin after the last `?`, so a path that contains `?` requires another one at its end.
    `on_applied` is called with the name of each migration that this call has committed.

    Raises: InvalidStorageUrl if the URL is malformed, and the errors of SqliteStorage.
    """
    path, create = parse_url(url)
    return SqliteStorage(path, create=create, on_applied=on_applied)


def parse_url(url: str) -> tuple[Path, bool]:
    """Return the path in a storage URL, and whether a missing file is created.

    Raises: InvalidStorageUrl if the URL is malformed.
    """
    path, query = _split(url)
    if not path or path == ":memory:":
        raise InvalidStorageUrl(
            "Invalid storage URL: use sqlite:PATH, or memory: for a storage without a file."
        )
    if path.startswith("//") and not path.startswith("///"):
        raise InvalidStorageUrl(
            "Invalid storage URL: use sqlite:PATH, or sqlite:///PATH with an absolute path."
        )
    options = take_options(query, ("create",))
    return Path(path), boolean("create", options.get("create", "true"))


def without_creation(url: str) -> str:
    """Return the URL with the option `create=false`, unless it has options already."""
    path, query = _split(url)
    return url if query else f"{_SCHEME}{path}?create=false"


def find_readable_file(url: str) -> Path | None:
    """Return a file of the storage that other users can read, or None if there is none.

    The members of the file's group are not other users: they are a choice of the operator.
    """
    path, _ = parse_url(url)
    path = Path(os.path.realpath(path))
    folders_are_open = all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
    files = (path, path.with_name(f"{path.name}-wal"))
    readable = (each for each in files if each.exists() and each.stat().st_mode & stat.S_IROTH)
    return next(readable, None) if folders_are_open else None


def _split(url: str) -> tuple[str, str]:
    location = url.removeprefix(_SCHEME)
    if "?" not in location:
        return location, ""
    path, _, query = location.rpartition("?")
    return path, query
