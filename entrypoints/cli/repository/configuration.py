"""`recipient-fields.toml`: what the checks of a repository, or of a part of it, repeat."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from attrs import field, frozen

from recipient_fields.application import InvalidDocument
from recipient_fields.application.documents.conversion import parse_document, with_suggestion
from recipient_fields.domain.esp import Esp

from ...service.selection import installed_profiles
from ..output import one_line
from .files import has_content_name, matches

CONFIGURATION = "recipient-fields.toml"


@frozen(kw_only=True)
class _Settings:
    """The members of the file. Paths and patterns are relative to its folder."""

    organization: str | None = None
    url: str | None = None
    snapshot: str | None = None
    documents: Sequence[str] = ()
    content: Sequence[str] = (".",)
    include: Sequence[str] = ()
    native: Mapping[str, Esp] = {}
    literals: Sequence[str] = ()
    baseline: str | None = None


@frozen
class Configuration:
    """What applies to the files in a folder and those below, except those with a nearer one."""

    folder: str = "."
    settings: _Settings = _Settings()

    def path(self, name: str) -> str:
        """Return the path of a file or folder that the configuration names."""
        return os.path.normpath(Path(self.folder, name))

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.path(CONFIGURATION)

    @property
    def snapshot(self) -> str | None:
        """The path of the snapshot with the fields."""
        name = self.settings.snapshot
        return None if name is None else self.path(name)

    @property
    def baseline(self) -> str | None:
        """The path of the baseline."""
        name = self.settings.baseline
        return None if name is None else self.path(name)

    @property
    def documents(self) -> Sequence[str]:
        """The paths of the documents of fields."""
        return [*map(self.path, self.settings.documents)]

    def has_content(self, file: str) -> bool:
        """Return whether the file is in a folder with content, and has content by its name."""
        # Unlike `resolve`, this raises nothing for a link in a circle.
        path = Path(os.path.realpath(file))
        folders = (Path(os.path.realpath(self.path(each))) for each in self.settings.content)
        is_inside = any(each in (path, *path.parents) for each in folders)
        return is_inside and has_content_name(file, self.folder, self.settings.include)

    def find_esp(self, file: str) -> Esp | None:
        """Return the ESP for which the file is written, or None for portable content."""
        native = self.settings.native.items()
        return next((esp for each, esp in native if matches(file, self.folder, each)), None)


NO_CONFIGURATION = Configuration()


@frozen
class Configurations:
    """The configurations of the files of one command. Each is read once."""

    _found: dict[Path, Configuration | None] = field(init=False, factory=dict)

    def find(self, file: str) -> Configuration | None:
        """Return the nearest configuration at or above the file, or None.

        Raises: click.ClickException if it is invalid.
        """
        folder = Path(os.path.realpath(file)).parent
        for each in (folder, *folder.parents):
            if each not in self._found:
                is_there = os.access(each / CONFIGURATION, os.F_OK)
                self._found[each] = _read(os.path.relpath(each)) if is_there else None
            found = self._found[each]
            if found is not None:
                return found
        return None


def _read(folder: str) -> Configuration:
    """Return the configuration in the folder. Raises: click.ClickException if it is invalid."""
    name = os.path.normpath(Path(folder, CONFIGURATION))
    try:
        document = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.ClickException(one_line(f"{name}: {error}.")) from None
    try:
        settings = parse_document(document, _Settings, profiles=installed_profiles())
    except InvalidDocument as invalid:
        first = with_suggestion(invalid.violations[0])
        place = ".".join(map(str, first.path))
        raise click.ClickException(one_line(f"{name}: {place}: {first.message}")) from None
    if settings.url is not None and settings.organization is not None:
        raise click.ClickException(f"{name}: Use either url or organization.")
    return Configuration(folder, settings)
