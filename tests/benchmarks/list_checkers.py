"""The check of a CSV file by the command and by other libraries, each in its own process.

Each check begins with the bytes of the file, rejects unknown columns, counts the violations by
column and rule, and keeps the first 100 with their row, column and message. Each function imports
its library, so that the memory of a process does not include the others.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from attrs import field, frozen, mutable

from recipient_fields.application.recipients.documents import render_json_schema
from recipient_fields.domain import (
    API,
    MAX_SAFE_INTEGER,
    DataType,
    FieldId,
    OrganizationId,
    RecipientSchema,
)

from .recipient_lists import COLUMNS, Column

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_MAX_FIRST = 100
"""Violations that are kept, as many as the command prints."""

Check: TypeAlias = Callable[[], int]
"""Returns the number of invalid recipients."""
Prepare: TypeAlias = Callable[[Path], Check]
"""Prepares the check of a file. The time of the preparation is not measured."""


@frozen
class Usage:
    """What the check of a file used: seconds of CPU time, and at most this many MiB of memory."""

    seconds: float
    memory: float
    invalid: int


def in_new_process(prepare: Prepare, path: Path) -> Usage:
    """Check a file in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_check, prepare, path).result()


def command(path: Path) -> Check:
    """Check the file with `recipients check`, whose storage is next to the file."""
    return _command(path)


def command_with_outputs(path: Path) -> Check:
    """Check the file with `recipients check`, and split it into two files."""
    return _command(path, "--out", f"{path}.valid", "--rejects", f"{path}.rejects")


@mutable
class _Violations:
    """The violations of the rows of a list."""

    invalid: int = 0
    counts: Counter[tuple[object, object]] = field(factory=Counter)
    first: list[tuple[int, object, str]] = field(factory=list)

    def add(self, line: int, violations: Iterable[tuple[object, object, str]]) -> None:
        """Add an invalid row: the column, the rule and the message of each violation."""
        self.invalid += 1
        for column, rule, message in violations:
            self.counts[column, rule] += 1
            if len(self.first) < _MAX_FIRST:
                self.first.append((line, column, message))


def pydantic(path: Path) -> Check:
    """Check each row with a TypeAdapter of a TypedDict, in pydantic's lax mode."""
    from pydantic import ValidationError

    validate = _pydantic_adapter().validate_python

    def check() -> int:
        violations = _Violations()
        for line, values in _rows(path):
            try:
                validate(values)
            except ValidationError as error:
                details = error.errors(
                    include_url=False, include_context=False, include_input=False
                )
                reasons = ((each["loc"][0], each["type"], each["msg"]) for each in details)
                violations.add(line, reasons)
        return violations.invalid

    return check


def jsonschema(path: Path) -> Check:
    """Check each row with jsonschema-rs and our JSON Schema, after the conversion of numbers."""
    validator = _jsonschema_validator()
    numbers = {key for key, each in COLUMNS.items() if each.data_type is DataType.NUMBER}

    def convert(row: Mapping[str, str]) -> dict[str, object]:
        return {key: _number(text) if key in numbers else text for key, text in row.items()}

    def check() -> int:
        violations = _Violations()
        for line, texts in _rows(path):
            values = convert(texts)
            if not validator.is_valid(values):
                errors = validator.iter_errors(values)
                reasons = ((each.instance_path[0], each.kind.name, each.message) for each in errors)
                violations.add(line, reasons)
        return violations.invalid

    return check


def pandera(path: Path) -> Check:
    """Read the whole file with pandas, and check it with a DataFrameSchema of pandera.

    The checks of numbers and dates convert whole columns. With `coerce=True`, pandera would convert
    a column with an invalid value row by row, which takes a hundred times as long.
    """
    import pandas
    from pandera.errors import SchemaErrors
    from pandera.pandas import Check as Rule
    from pandera.pandas import Column as PanderaColumn
    from pandera.pandas import DataFrameSchema

    def are_numbers(texts: pandas.Series) -> pandas.Series:
        numbers = pandas.to_numeric(texts, errors="coerce")
        return numbers.between(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)

    def are_dates(texts: pandas.Series) -> pandas.Series:
        return pandas.to_datetime(texts, format="%Y-%m-%d", errors="coerce").notna()

    def column(each: Column) -> PanderaColumn:
        rules = {DataType.NUMBER: Rule(are_numbers), DataType.DATE: Rule(are_dates)}
        rule = rules.get(each.data_type) if each.allowed is None else Rule.isin(each.allowed)
        return PanderaColumn("str", rule, nullable=True)

    schema = DataFrameSchema({key: column(each) for key, each in COLUMNS.items()}, strict=True)

    def check() -> int:
        frame = pandas.read_csv(path, dtype="str", keep_default_na=False, na_values=[""])
        try:
            schema.validate(frame, lazy=True)
        except SchemaErrors as errors:
            cases = errors.failure_cases
            _ = cases.groupby(["column", "check"]).size(), cases.head(_MAX_FIRST).to_dict("records")
            return int(cases["index"].nunique())
        return 0

    return check


def recipient_schema() -> RecipientSchema:
    """Return the schema of the lists."""
    definitions = (
        each.draft(key).define(by=API, at=datetime.now(UTC)) for key, each in COLUMNS.items()
    )
    return RecipientSchema.of(
        definition.with_id(FieldId(number), OrganizationId(1))
        for number, definition in enumerate(definitions, start=1)
    )


def pydantic_validator() -> Callable[[object], bool]:
    """Return a function that checks the values of a recipient with pydantic."""
    from pydantic import ValidationError

    adapter = _pydantic_adapter()

    def validate(values: object) -> bool:
        try:
            adapter.validate_python(values)
        except ValidationError:
            return False
        return True

    return validate


def _pydantic_adapter() -> TypeAdapter[object]:
    from pydantic import Field, TypeAdapter
    from typing_extensions import TypedDict

    limits = Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER, allow_inf_nan=False)
    types: Mapping[DataType, Any] = {
        DataType.TEXT: str,
        DataType.NUMBER: Annotated[float, limits],
        DataType.DATE: date,
    }
    members = {
        key: types[each.data_type] if each.allowed is None else Literal[tuple(each.allowed)]
        for key, each in COLUMNS.items()
    }
    return TypeAdapter(TypedDict("Recipient", members, total=False))  # type: ignore[operator]


def jsonschema_validator() -> Callable[[object], bool]:
    """Return a function that checks the values of a recipient with jsonschema-rs."""
    return _jsonschema_validator().is_valid


def _jsonschema_validator() -> Any:
    from jsonschema_rs import validator_for

    return validator_for(render_json_schema(recipient_schema()), validate_formats=True)


def _check(prepare: Prepare, path: Path) -> Usage:
    check = prepare(path)
    started = process_time()
    invalid = check()
    return Usage(process_time() - started, _peak_memory(), invalid)


def _peak_memory() -> float:
    """Return the maximum resident memory of this process so far, in MiB."""
    [kibibytes] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(kibibytes) / 1024


def _command(path: Path, *options: str) -> Check:
    from click.testing import CliRunner

    from recipient_fields.entrypoints.cli import main

    arguments = ["--storage", storage_url(path), "recipients", "check", str(path), *options]

    def check() -> int:
        result = CliRunner().invoke(main, [*arguments, "--organization", "1"])
        [invalid] = re.findall(r"([0-9,]+) invalid\.", result.stderr)
        return int(invalid.replace(",", ""))

    return check


def storage_url(path: Path) -> str:
    """Return the URL of the storage next to a file."""
    return f"sqlite:{path.with_name('storage.db')}"


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line of each row, and its values that are set."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        keys = next(rows)
        assert set(keys) <= set(COLUMNS), "unknown columns"
        for cells in rows:
            yield rows.line_num, {key: cell for key, cell in zip(keys, cells, strict=True) if cell}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
