"""Lists of recipients: columns of texts, numbers, dates and allowed values."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import TypeAlias

from attrs import frozen

from recipient_fields.domain import DataType, FieldDraft

Cell: TypeAlias = Callable[[Random, int], str]
"""Returns the text for the recipient with this number."""

INVALID_EACH = 100
"""Every hundredth recipient has an invalid value."""

_EMPTY = 0.05
"""The part of the values that are not set."""
_TODAY = date(2026, 11, 20)


@frozen
class Column:
    """A column of a list, and the field of its values."""

    data_type: DataType
    cell: Cell
    allowed: Sequence[str] | None = None
    mistake: str = ""
    """A value that breaks a rule of the field, unless it permits all texts."""

    def draft(self, key: str) -> FieldDraft:
        """Return the field."""
        return FieldDraft(name=key, key=key, data_type=self.data_type, allowed_values=self.allowed)


def _one_of(texts: Sequence[str]) -> Cell:
    return lambda random, _number: random.choice(texts)


def _text(pattern: str, different: int | None = None) -> Column:
    """Return a column of texts, all different by default."""
    if different is None:
        return Column(DataType.TEXT, lambda _random, number: pattern.format(number))
    return Column(DataType.TEXT, _one_of([pattern.format(i) for i in range(different)]))


def _number(maximum: float, decimals: int = 0) -> Column:
    def cell(random: Random, _number: int) -> str:
        return f"{random.random() * maximum:.{decimals}f}"

    return Column(DataType.NUMBER, cell, mistake="unknown")


def _date(days: int) -> Column:
    """Return a column of dates from this number of days."""

    def cell(random: Random, _number: int) -> str:
        return (_TODAY - timedelta(random.randrange(days))).isoformat()

    return Column(DataType.DATE, cell, mistake="31.12.2026")


def _allowed(*texts: str) -> Column:
    return Column(DataType.TEXT, _one_of(texts), texts, mistake="Other")


COLUMNS: Mapping[str, Column] = {
    "email": _text("customer-{}@mail.example"),
    "first_name": _text("Zoë-{}", 500),
    "last_name": _text("Müller-{}", 5_000),
    "city": _text("São Paulo {}", 2_000),
    "note": _text("Customer number {}, since a while"),
    "age": _number(90),
    "orders": _number(200),
    "points": _number(100_000),
    "revenue": _number(10_000, decimals=2),
    "rating": _number(5, decimals=1),
    "born": _date(27_000),
    "joined": _date(3_650),
    "last_order": _date(730),
    "last_opening": _date(90),
    "renewal": _date(365),
    "tier": _allowed("gold", "silver", "bronze"),
    "country": _allowed(*(f"C{i}" for i in range(100))),
    "language": _allowed("de", "en", "es", "fr", "it", "nl"),
    "plan": _allowed("free", "team", "enterprise"),
    "channel": _allowed("email", "sms", "push"),
}


def rows(count: int) -> Iterator[list[str]]:
    """Yield the texts of the recipients. The same recipients begin each longer list."""
    random = Random(1)
    columns = [*COLUMNS.values()]
    for number in range(count):
        row = [
            "" if random.random() < _EMPTY else column.cell(random, number) for column in columns
        ]
        if number % INVALID_EACH == 0:
            place = len(columns) - 1 - number // INVALID_EACH % len(columns)
            row[place] = columns[place].mistake or row[place]
        yield row


def write_csv(path: Path, count: int) -> None:
    """Write a list of recipients."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(count))


def generate_recipients(count: int) -> list[dict[str, object]]:
    """Return recipients as values."""
    return [
        {
            key: float(text) if column.data_type is DataType.NUMBER else text
            for (key, column), text in zip(COLUMNS.items(), row, strict=True)
            if text and text != column.mistake
        }
        for row in rows(count)
    ]
