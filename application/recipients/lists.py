"""The use case of list checks: the recipients in a file, against the fields of an organization."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from attrs import field, frozen, mutable

from recipient_fields.domain import (
    ForeignForm,
    IntegrationId,
    RecipientRows,
    RecipientSchema,
    RecipientTexts,
    Rule,
    TextFormats,
    Violation,
    closest_match,
    find_columns,
)
from recipient_fields.domain.integrations import EspNames

from ..documents.conversion import with_suggestion
from ..ports.recipients import RecipientReader, RecipientWriter, Row, TextReader, UnreadableFile
from ..wording import counted
from .hints import Hints


def require_names(place: str, names: Sequence[str]) -> None:
    """Check that each column has a name, and no other column has it.

    `place` is the place of the header in messages. Raises: UnreadableFile if not.
    """
    if "" in names:
        column = names.index("") + 1
        raise UnreadableFile(f"{place}: Column {column} has no name in the header.")
    require_different(place, names, "have the same name")


def require_different(place: str, texts: Sequence[str], message: str) -> None:
    """Check the names or the keys of the columns. Raises: UnreadableFile if two are equal."""
    columns: dict[str, int] = {}
    for column, text in enumerate(texts, start=1):
        first = columns.setdefault(text, column)
        if first != column:
            raise UnreadableFile(f"{place}: Columns {first} and {column} {message}, {text}.")


def find_esp_names(names: EspNames, integration: int | None) -> Mapping[str, str]:
    """Return the keys of the fields by what they are called at the integration, if there is one.

    Raises: UnreadableFile if no field has a name there.
    """
    if integration is None:
        return {}
    keys = names.keys_by_name(IntegrationId(integration))
    if not keys:
        raise UnreadableFile(
            f"Integration {integration} has no fields. Check its id, or sync it first."
        )
    return keys


_RowCheck: TypeAlias = Callable[[Row, bool], Sequence[Violation]]
"""Returns the violations of a row with values, with suggestions if its last argument is true."""

_DamageSearch: TypeAlias = Callable[[Row], Iterable[tuple[str, ForeignForm]]]
"""Returns the keys and the forms of the texts of a row that are probably damaged."""

_Kind: TypeAlias = tuple[object, ...]
"""What equal violations have in common."""

_MAX_FINDINGS = 100
_MAX_VALUE_LENGTH = 60
"""Characters of a value in a finding, as JSON."""
_MAX_COUNTS = 1_000
"""Pairs of a field and a rule that are counted apart: more than fields of an organization."""
_OTHER = "(other)"
_MAX_TITLES = 10
"""Unknown columns in a message."""


@frozen(kw_only=True)
class ListOptions:
    """How to check a list. The formats apply to values that are texts."""

    formats: TextFormats = field(factory=TextFormats)
    integration: int | None = None
    """The header can contain the ESP's names of this integration's fields."""
    additional: bool = False
    """Whether values that are not of recipient fields are accepted."""
    additional_advice: str = "accept additional values"
    """How a user sets `additional`, in messages."""
    integration_advice: str = "choose this integration"
    """How a user sets `integration`, in messages."""


@mutable
class Finding:
    """Equal violations of equal values: the line of the first one, and their number.

    `value` is the value as JSON, or None if it is long, or if the violation is not of a value.
    """

    line: int
    violation: Violation
    value: str | None
    count: int = 0

    @property
    def key(self) -> str:
        """The key of the field, or an empty text if the violation concerns the row."""
        return _violation_key(self.violation)

    @property
    def message(self) -> str:
        """The message with the suggestion. If there are several violations, it begins with them."""
        message = with_suggestion(self.violation).message
        if self.count == 1:
            return message
        if self.value is None:
            return f"{self.count:,} times: {message}"
        return f"{self.value} \N{MULTIPLICATION SIGN} {self.count:,}: {message}"


@mutable
class CheckReport:
    """The first findings of a check, and the counts of all violations."""

    hints: Hints = field(factory=Hints)
    valid: int = 0
    invalid: int = 0
    counts: Counter[tuple[str, str]] = field(factory=Counter)
    """The number of violations by field and rule."""
    _findings: dict[_Kind, Finding] = field(factory=dict)

    @property
    def findings(self) -> Collection[Finding]:
        """The first 100 findings, in the order of their lines."""
        return self._findings.values()

    @property
    def hidden(self) -> int:
        """The number of violations that are not in the findings."""
        return self.counts.total() - sum(each.count for each in self.findings)

    @property
    def summary(self) -> str:
        """The number of rows, as a sentence."""
        checked = counted(self.valid + self.invalid, "recipient")
        return f"Checked {checked}: {self.valid:,} valid, {self.invalid:,} invalid."

    def add(
        self,
        line: int,
        violations: Sequence[Violation],
        values: Mapping[str, object],
        suggest: Callable[[], Sequence[Violation]],
    ) -> Sequence[Violation]:
        """Add an invalid row, and return its violations with the suggestions of their findings.

        `suggest` returns the violations with suggestions. It takes time, so it is only called for
        new findings.
        """
        self.invalid += 1
        kinds = [_kind(each, values) for each in violations]
        if len(self._findings) < _MAX_FINDINGS and any(
            each not in self._findings for each in kinds
        ):
            violations = suggest()
            for kind, violation in zip(kinds, violations, strict=True):
                if len(self._findings) < _MAX_FINDINGS:
                    self._findings.setdefault(
                        kind, Finding(line, violation, _value(violation, values))
                    )
        for kind, violation in zip(kinds, violations, strict=True):
            self._count(violation)
            self.hints.add_violation(violation, values)
            if kind in self._findings:
                self._findings[kind].count += 1
        return [
            self._findings[kind].violation if kind in self._findings else violation
            for kind, violation in zip(kinds, violations, strict=True)
        ]

    def _count(self, violation: Violation) -> None:
        count = _violation_key(violation), violation.rule.value
        if count not in self.counts and len(self.counts) >= _MAX_COUNTS:
            count = _OTHER, violation.rule.value
        self.counts[count] += 1

    def table(self) -> list[tuple[str, str, str]]:
        """Return a row of texts for each field and rule."""
        return [(key, rule, f"{number:,}") for (key, rule), number in sorted(self.counts.items())]


@frozen
class RecipientList:
    """A file of recipients, with the check of its rows."""

    reader: RecipientReader
    _check_row: _RowCheck
    _find_damage: _DamageSearch = lambda _: ()
    _hints: Hints = field(factory=Hints)
    notes: Sequence[str] = ()
    """Sentences about the columns that are not fields, if additional values are accepted."""
    has_fields: bool = True
    """Whether a column is a field. This is not known for JSON Lines."""

    @classmethod
    def of(cls, reader: RecipientReader, names: EspNames, options: ListOptions) -> RecipientList:
        """Return the list that the reader reads, for the organization with these ESP names.

        Raises: UnreadableFile if columns have no names or equal names, if several are one field, or
        if one is not a field and no additional values are accepted.
        """
        schema = RecipientSchema.of(
            names.fields, additional=options.additional, definitions=names.definitions
        )
        if isinstance(reader, TextReader):
            reader, notes, has_fields = _with_keys(reader, names, options)
            rows = RecipientRows(RecipientTexts(schema, options.formats), reader.keys)
            data_types = {key: each.data_type for key, each in schema.fields.items()}
            return cls(
                reader,
                lambda row, suggest: rows.violations(row.source, suggest=suggest),
                lambda row: rows.damage(row.source),
                Hints(data_types, options.formats),
                notes,
                has_fields,
            )
        return cls(
            reader, lambda row, suggest: schema.check(row.document, suggest=suggest).violations
        )

    def check(
        self,
        *,
        valid: RecipientWriter | None = None,
        rejects: RecipientWriter | None = None,
        on_row: Callable[[], None] | None = None,
    ) -> CheckReport:
        """Check the rows, and return the report. A list can be checked once.

        `valid` receives the valid rows, and `rejects` the others with their reasons. `on_row` is
        called after each row. If it raises, the check ends.

        Raises: UnreadableFile if the rest of the file can't be read.
        """
        report = CheckReport(self._hints)
        for row in self.reader:
            violations = self._violations(row, suggest=False)
            for key, form in () if row.violation else self._find_damage(row):
                report.hints.add_damage(row.line, key, form)
            if violations:
                values = {} if row.violation else self.reader.values(row)
                suggest = partial(self._violations, row, suggest=True)
                violations = report.add(row.line, violations, values, suggest)
                if rejects is not None:
                    rejects.write(row, [_violation_text(each) for each in violations])
            else:
                report.valid += 1
                if valid is not None:
                    valid.write(row)
            if on_row is not None:
                on_row()
        return report

    def _violations(self, row: Row, *, suggest: bool) -> Sequence[Violation]:
        return (row.violation,) if row.violation else self._check_row(row, suggest)


def _violation_key(violation: Violation) -> str:
    """Return the key of the field, or an empty text if the violation concerns the row."""
    return str(violation.path[0]) if violation.path else ""


def _violation_text(violation: Violation) -> str:
    """Return the key of the field, if any, and the message with the suggestion."""
    key = f"{violation.path[0]}: " if violation.path else ""
    return f"{key}{with_suggestion(violation).message}"


def _value(violation: Violation, values: Mapping[str, object]) -> str | None:
    """Return the value that breaks the rule, as JSON, or None if there is none or it is long."""
    if violation.rule is Rule.UNKNOWN_FIELD or _violation_key(violation) not in values:
        return None
    value = values[_violation_key(violation)]
    if isinstance(value, str) and len(value) > _MAX_VALUE_LENGTH:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_LENGTH else None


def _kind(violation: Violation, values: Mapping[str, object]) -> _Kind:
    return violation.path, violation.rule, violation.message, _value(violation, values)


def _with_keys(
    reader: TextReader, names: EspNames, options: ListOptions
) -> tuple[TextReader, Sequence[str], bool]:
    """Return the reader with the keys of its columns, notes, and whether a column is a field."""
    require_names(reader.header_place, reader.header)
    esp_names = find_esp_names(names, options.integration)
    found = find_columns(reader.header, names.fields, names.definitions, esp_names)
    keys = {title: keys[0] for title, keys in found.items() if len(keys) == 1}
    others = [title for title in reader.header if title not in keys]
    sentences: list[str] = []
    if others:
        ambiguous = [title for title in others if found[title]]
        unknown = [title for title in others if not found[title]]
        known = esp_names or [each.key for each in names.fields]
        sentences = [_ambiguous_column(title, found[title]) for title in ambiguous[:_MAX_TITLES]]
        if unknown:
            advice = f" Remove them, or {options.additional_advice}."
            advice = "" if options.additional else advice
            sentences.append(f"{_unknown_columns(unknown, known)}{advice}")
            if options.integration is None:
                sentences += _names_elsewhere(unknown, names, options.integration_advice)
    if others and not options.additional:
        raise UnreadableFile(f"{reader.header_place}: {' '.join(sentences)}")
    definitions = names.definitions
    all_keys = [keys.get(title, title) for title in reader.header]
    require_different(
        reader.header_place,
        [definitions.get(key, key) for key in all_keys],
        "are the same field",
    )
    return reader.with_keys(keys), sentences, bool(keys)


def _ambiguous_column(title: str, keys: Sequence[str]) -> str:
    listed = ", ".join(keys[:_MAX_TITLES])
    more = f" and {len(keys) - _MAX_TITLES:,} more" if len(keys) > _MAX_TITLES else ""
    return f"{title} is the name of several fields: {listed}{more}. Write a key instead."


def _unknown_columns(titles: list[str], known: Collection[str]) -> str:
    listed = ", ".join(_with_similar(each, known) for each in titles[:_MAX_TITLES])
    more = f" and {len(titles) - _MAX_TITLES:,} more" if len(titles) > _MAX_TITLES else ""
    return f"These columns are not recipient fields: {listed}{more}."


def _names_elsewhere(titles: list[str], names: EspNames, advice: str) -> Iterator[str]:
    """Yield sentences with the integration that has the most of these names, if one has any."""
    found = []
    for integration in names.integrations.values():
        known = names.keys_by_name(integration.id)
        found.append((integration, [title for title in titles if title in known]))
    best, matching = max(found, key=lambda each: len(each[1]), default=(None, []))
    if best is not None and matching:
        listed = ", ".join(matching[:_MAX_TITLES])
        yield (
            f"Integration {best.id}, {best.name}, has fields with these names: {listed}. If the"
            f" file is from there, {advice}."
        )


def _with_similar(title: str, known: Collection[str]) -> str:
    similar = closest_match(title, known)
    return title if similar is None else f"{title} (did you mean {similar}?)"
