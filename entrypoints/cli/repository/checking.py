"""The checks of files with content, with the fields and options that apply to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import click
from attrs import field, frozen

from recipient_fields.application import InvalidDocument, NotJson, system_clock
from recipient_fields.application.esp.snapshots import parse_snapshot
from recipient_fields.application.wording import counted
from recipient_fields.domain.content import DEFAULT_STRICT, Strict
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspNames
from recipient_fields.domain.integrations.text_checks import FieldUse, TextChecker

from ...service.selection import installed_profiles
from ..output import note, one_line
from ..targets import open_service_target, open_storage_target
from .configuration import NO_CONFIGURATION, Configuration, Configurations
from .files import STANDARD_INPUT, Unreadable, find_files, matches, read_text
from .findings import Baseline, Finding


@frozen(kw_only=True)
class ContentOptions:
    """The options of a command line, which take precedence over configurations."""

    esp: Esp | None = None
    native: Sequence[tuple[str, Esp]] = ()
    include: Sequence[str] = ()
    literals: Sequence[str] = ()
    strict: Strict = DEFAULT_STRICT


@frozen
class FieldSource:
    """Where the fields come from: the options of a command line, or a configuration."""

    organization: str | None = None
    url: str | None = None
    snapshot: str | None = None

    def configured(self, configuration: Configuration) -> FieldSource:
        """Return this source, or that of the configuration if no option selects one."""
        if self.organization or self.url or self.snapshot:
            return self
        settings = configuration.settings
        if configuration.snapshot is not None:
            return FieldSource(snapshot=configuration.snapshot)
        return FieldSource(settings.organization, settings.url)

    def read_names(self) -> EspNames:
        """Return the fields and their names. Print the age of a snapshot."""
        if self.snapshot is not None:
            return _read_snapshot(self.snapshot)
        if self.url is not None:
            with open_service_target(self.url) as target:
                return target.read_names()
        if self.organization is not None:
            with open_storage_target(self.organization) as target:
                return target.read_names()
        raise click.UsageError(
            "Add --organization, --url or --snapshot, or write one of them into"
            " recipient-fields.toml."
        )


def _read_snapshot(path: str) -> EspNames:
    try:
        snapshot = parse_snapshot(Path(path).read_bytes(), installed_profiles())
    except (OSError, NotJson, InvalidDocument) as error:
        raise click.ClickException(
            one_line(f"{path}: {error} Write it with `recipient-fields fields snapshot --out`.")
        ) from None
    age = system_clock() - snapshot.taken_at
    days = counted(age.days, "day") if age >= timedelta(days=1) else "less than a day"
    note(one_line(f"The snapshot {path} is {days} old."))
    return snapshot.names


@frozen
class FileChecker:
    """Checks files with content. Each source of fields is read once.

    `names` are the fields for all files, if they do not come from the source. `event` contains the
    names of event data in the files that were checked.
    """

    source: FieldSource
    options: ContentOptions = ContentOptions()
    names: EspNames | None = None
    configurations: Configurations = field(factory=Configurations)
    event: set[str] = field(init=False, factory=set)
    _names: dict[FieldSource, EspNames] = field(init=False, factory=dict)
    _checkers: dict[str, TextChecker] = field(init=False, factory=dict)

    def find_files(self, paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Yield the files at the paths, and whether each has content."""
        include = list(self.options.include)
        for path in paths:
            configuration = self._configuration(str(Path(path, "file")))
            include += configuration.settings.include
        return find_files(paths, include)

    def check(self, file: str) -> Iterator[Finding]:
        """Yield what is wrong in the file, in its order."""
        checker, esp = self._for(file)
        name = "<stdin>" if file == STANDARD_INPUT else file
        try:
            text = read_text(file)
        except Unreadable as error:
            yield Finding(file=name, code="unreadable", message=str(error))
            return
        checked = checker.check(text, esp)
        self.event.update(checked.event)
        for each in checked.findings:
            yield Finding(
                file=name,
                line=each.position.line,
                column=each.position.column,
                is_error=each.is_error(self.options.strict),
                code=each.code,
                message=each.message,
            )

    def without_known(self, findings: Iterable[Finding], baseline: str | None) -> list[Finding]:
        """Return the findings that are not in the baseline, or in that of their configuration."""
        groups: dict[str | None, list[Finding]] = {}
        for each in findings:
            path = baseline or self._configuration(each.file).baseline
            groups.setdefault(path, []).append(each)
        return [
            finding
            for path, group in groups.items()
            for finding in (group if path is None else Baseline.read(path).without_known(group))
        ]

    def find_uses(self, file: str) -> Iterator[FieldUse]:
        """Yield the uses of fields in the file. Raises: Unreadable."""
        checker, esp = self._for(file)
        yield from checker.find_uses(read_text(file), esp)

    def names_for(self, file: str) -> EspNames:
        """Return the fields and names that apply to the file."""
        return self._for(file)[0].names

    def esp_of(self, file: str) -> Esp | None:
        """Return the ESP for which the file is written, or None for portable content."""
        found = (esp for each, esp in self.options.native if matches(file, ".", each))
        esp = next(found, self.options.esp)
        return self._configuration(file).find_esp(file) if esp is None else esp

    def _for(self, file: str) -> tuple[TextChecker, Esp | None]:
        configuration = self._configuration(file)
        if configuration.folder not in self._checkers:
            literals = (*self.options.literals, *configuration.settings.literals)
            names = self.names or self._read_names(self.source.configured(configuration))
            self._checkers[configuration.folder] = TextChecker(names, literals)
        return self._checkers[configuration.folder], self.esp_of(file)

    def _read_names(self, source: FieldSource) -> EspNames:
        if source not in self._names:
            self._names[source] = source.read_names()
        return self._names[source]

    def _configuration(self, file: str) -> Configuration:
        return self.configurations.find(file) or NO_CONFIGURATION
