"""The check of a list of recipients, for the command line and the console."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from attrs import field, frozen, mutable

from recipient_fields.domain import (
    Catalog,
    DecimalMark,
    RecipientRows,
    RecipientSchema,
    RecipientTexts,
    Rule,
    Violation,
    closest_match,
    match_columns,
)

from .counts import counted
from .recipient_files import (
    ColumnReader,
    CsvRecipients,
    RecipientReader,
    Row,
    UnreadableFile,
    require_different,
)

_RowCheck: TypeAlias = Callable[[Row, bool], Sequence[Violation]]
"""Returns the violations of a row with values, with suggestions if its last argument is true."""

_MAX_SHOWN = 100
_MAX_COUNTS = 1_000
"""Pairs of a field and a rule that are counted apart: more than fields of an organization."""
_OTHER = "(other)"
_MAX_TITLES = 10
"""Unknown columns in a message."""


@frozen(kw_only=True)
class ListOptions:
    """How to read and check a list. A delimiter or an encoding that is None is detected."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal_mark: DecimalMark = "."
    integration: int | None = None
    """The header contains the ESP's names of this integration's fields."""
    additional: bool = False
    """Whether values that are not of recipient fields are accepted."""
    additional_advice: str = "accept additional values"
    """How a user sets `additional`."""


@mutable
class CheckReport:
    """The first violations of a check, with their lines, and the counts of all."""

    valid: int = 0
    invalid: int = 0
    violations: list[tuple[int, Violation]] = field(factory=list)
    counts: Counter[tuple[str, str]] = field(factory=Counter)
    """The number of violations by field and rule."""

    @property
    def suggests(self) -> bool:
        """Whether the report contains the violations of the next row."""
        return len(self.violations) < _MAX_SHOWN

    @property
    def hidden(self) -> int:
        """The number of violations after the first ones."""
        return self.counts.total() - len(self.violations)

    @property
    def summary(self) -> str:
        """The number of rows, as a sentence."""
        checked = counted(self.valid + self.invalid, "recipient")
        return f"Checked {checked}: {self.valid:,} valid, {self.invalid:,} invalid."

    def add(self, row: Row, violations: Sequence[Violation]) -> None:
        """Add a row."""
        if not violations:
            self.valid += 1
            return
        self.invalid += 1
        for violation in violations:
            count = violation_key(violation), violation.rule.value
            if count not in self.counts and len(self.counts) >= _MAX_COUNTS:
                count = _OTHER, violation.rule.value
            self.counts[count] += 1
            if self.suggests:
                self.violations.append((row.line, violation))

    def has(self, rule: Rule) -> bool:
        """Return whether a value violates the rule."""
        return any(each == rule.value for _, each in self.counts)

    def table(self) -> list[tuple[str, str, str]]:
        """Return a row of texts for each field and rule."""
        return [(key, rule, f"{number:,}") for (key, rule), number in sorted(self.counts.items())]


@frozen
class RecipientList:
    """A file of recipients, with the check of its rows."""

    reader: RecipientReader
    _check_row: _RowCheck

    @classmethod
    def of(cls, reader: RecipientReader, catalog: Catalog, options: ListOptions) -> RecipientList:
        """Return the list that the reader reads.

        Raises: UnreadableFile if several columns are one field, or if a column is not a field and
        no additional values are accepted.
        """
        schema = RecipientSchema.of(catalog.fields, additional=options.additional)
        if isinstance(reader, ColumnReader):
            reader = _with_keys(reader, catalog, options)
        if isinstance(reader, CsvRecipients):
            rows = RecipientRows(RecipientTexts(schema, options.decimal_mark), reader.keys)
            return cls(reader, lambda row, suggest: rows.violations(row.source, suggest=suggest))
        return cls(
            reader, lambda row, suggest: schema.check(row.document, suggest=suggest).violations
        )

    @property
    def may_have_decimal_commas(self) -> bool:
        """Whether the file is a CSV file with another delimiter than the comma."""
        return isinstance(self.reader, CsvRecipients) and self.reader.delimiter != ","

    def check(
        self, rows: Iterable[Row], report: CheckReport
    ) -> Iterator[tuple[Row, Sequence[Violation]]]:
        """Yield the rows of this list with their violations, and add them to the report."""
        for row in rows:
            violations = (
                (row.violation,) if row.violation else self._check_row(row, report.suggests)
            )
            report.add(row, violations)
            yield row, violations


def violation_key(violation: Violation) -> str:
    """Return the key of the field, or an empty text if the violation concerns the row."""
    return str(violation.path[0]) if violation.path else ""


def violation_message(violation: Violation) -> str:
    """Return the message with the suggestion."""
    hint = "" if violation.suggestion is None else f" Did you mean {violation.suggestion}?"
    return f"{violation.message}{hint}"


def violation_text(violation: Violation) -> str:
    """Return the key of the field, if any, and the message with the suggestion."""
    key = f"{violation.path[0]}: " if violation.path else ""
    return f"{key}{violation_message(violation)}"


def _with_keys(reader: ColumnReader, catalog: Catalog, options: ListOptions) -> ColumnReader:
    """Return the reader with the keys of its columns."""
    if options.integration is None:
        keys: Mapping[str, str] = match_columns(reader.header, catalog.fields)
        known: Iterable[str] = [each.key for each in catalog.fields]
    else:
        esp_names = _keys_by_esp_name(catalog, options.integration)
        keys = {title: esp_names[title] for title in reader.header if title in esp_names}
        known = esp_names
    unknown = [title for title in reader.header if title not in keys]
    if unknown and not options.additional:
        raise UnreadableFile(
            f"{reader.header_place}: {_unknown_columns(unknown, known)}"
            f" Remove them, or {options.additional_advice}."
        )
    all_keys = [keys.get(title, title) for title in reader.header]
    require_different(reader.header_place, all_keys, "are the same field")
    return reader.with_keys(keys)


def _keys_by_esp_name(catalog: Catalog, integration: int) -> Mapping[str, str]:
    return {
        each.origin.esp_field_name: each.key
        for each in catalog.fields
        if each.origin.integration_id == integration and each.origin.esp_field_name is not None
    }


def _unknown_columns(titles: list[str], known: Iterable[str]) -> str:
    similar = closest_match(titles[0], known)
    hint = "" if similar is None else f" Did you mean {similar}?"
    more = f" and {len(titles) - _MAX_TITLES:,} more" if len(titles) > _MAX_TITLES else ""
    return f"These columns are not recipient fields: {', '.join(titles[:_MAX_TITLES])}{more}.{hint}"
