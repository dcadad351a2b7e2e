"""Parquet files of recipients: their types, their limits and their outputs."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.recipient_files.parquet import ParquetRecipients
from recipient_fields.domain.instants import format_instant

from ...support.growth import assert_grows_linearly
from ...support.recipient_lists import Lists

NAME = "list.parquet"
BERLIN = pa.timestamp("us", "Europe/Berlin")
DAY = date(2026, 11, 20)
INSTANT = datetime(2026, 11, 20, 9, 15, 0, 123456, tzinfo=UTC)
INSTANT_TEXT = "2026-11-20T09:15:00.123Z"


def written(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def read(content: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(content))


def read_values(table: pa.Table) -> list[Mapping[str, object]]:
    reader = ParquetRecipients.open(io.BytesIO(written(table)), NAME)
    return [reader.values(row) for row in reader]


class TestTypes:
    @pytest.mark.parametrize(
        ("data_type", "stored", "value"),
        [
            (pa.string(), "Zoë", "Zoë"),
            (pa.large_string(), "Zoë", "Zoë"),
            (pa.string_view(), "Zoë", "Zoë"),
            (pa.dictionary(pa.int32(), pa.string()), "gold", "gold"),
            (pa.bool_(), True, True),
            (pa.int8(), -1, -1),
            (pa.uint64(), 2**64 - 1, 2**64 - 1),
            (pa.float16(), 1.5, 1.5),
            (pa.float32(), 1.5, 1.5),
            (pa.float64(), 42.1, 42.1),
            (pa.decimal128(10, 2), Decimal("12.50"), 12.5),
            (pa.decimal256(60, 0), Decimal(42), 42),
            (pa.date32(), DAY, "2026-11-20"),
            (pa.date64(), DAY, "2026-11-20"),
            (pa.timestamp("s", "UTC"), INSTANT, "2026-11-20T09:15:00.000Z"),
            (pa.timestamp("ms", "UTC"), INSTANT, INSTANT_TEXT),
            (BERLIN, INSTANT, INSTANT_TEXT),
            (pa.timestamp("ns", "-03:00"), INSTANT, INSTANT_TEXT),
            (pa.timestamp("us", "UTC"), datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
            (pa.null(), None, None),
        ],
        ids=str,
    )
    def test_a_column_has_the_values_of_json(
        self, data_type: pa.DataType, stored: object, value: object
    ) -> None:
        if pa.types.is_timestamp(data_type) and data_type.unit in {"s", "ms"}:
            column = pa.array([stored, None], pa.timestamp("us", "UTC")).cast(data_type, safe=False)
        else:
            column = pa.array([stored, None], data_type)
        first, second = read_values(pa.table({"a": column}))
        assert first == {"a": value}
        assert type(first["a"]) is type(value) or isinstance(value, int)
        assert second == {"a": None}

    @pytest.mark.parametrize(
        ("column", "data_type"),
        [
            (pa.array([[1.5]]), "list<element: double>"),
            (pa.array([{"x": 1}]), "struct<x: int64>"),
            (pa.array([b"x"]), "binary"),
            (pa.array([time(9, 15)]), "time64[us]"),
            (pa.array([timedelta(1)]), "duration[us]"),
            (pa.array([datetime(2026, 11, 20)]), "timestamp[us] without a time zone"),  # noqa: DTZ001
            (
                pa.array([b"x"]).dictionary_encode(),
                "dictionary<values=binary, indices=int32, ordered=0>",
            ),
        ],
        ids=["list", "struct", "binary", "time", "duration", "no-zone", "dictionary"],
    )
    def test_a_field_with_values_of_another_type_is_rejected_with_one_line(
        self, lists: Lists, column: pa.Array, data_type: str
    ) -> None:
        table = pa.table({"tier": ["gold"], "seen": column})
        assert lists.refusal(written(table), NAME) == (
            f"list.parquet: The column seen has values of type {data_type}, which a recipient can't"
            " have. Convert or remove the column."
        )
        additional = pa.table({"tier": ["gold"], "other": column})
        assert lists.check(written(additional), NAME, additional=True).numbers == (1, 0)

    @pytest.mark.parametrize(
        ("key", "column", "message"),
        [
            ("shoe_size", pa.array(["1"]), "This is a text. Write the number 1 without quotes."),
            (
                "born",
                pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
                "Write a date like 2026-11-20.",
            ),
            (
                "seen",
                pa.array([2**62]).cast(pa.timestamp("us", "UTC")),
                "Write a datetime like 2026-11-20T09:15:00.123Z.",
            ),
        ],
    )
    def test_a_time_that_python_can_not_represent_is_a_violation(
        self, lists: Lists, key: str, column: pa.Array, message: str
    ) -> None:
        checked = lists.check(written(pa.table({key: column})), NAME)
        assert checked.lines == [f"1: {key}: {message}"]


@given(
    st.lists(
        st.tuples(
            st.none() | st.dates(),
            st.none()
            | st.datetimes(
                timezones=st.sampled_from([UTC, timezone(timedelta(hours=-11))]),
                min_value=datetime(1, 1, 2),  # noqa: DTZ001
                max_value=datetime(9999, 12, 30),  # noqa: DTZ001
            ),
        )
    )
)
def test_dates_and_instants_are_those_of_python(rows: list[tuple[Any, Any]]) -> None:
    days, instants = [row[0] for row in rows], [row[1] for row in rows]
    table = pa.table({"day": pa.array(days, pa.date32()), "at": pa.array(instants, BERLIN)})
    assert read_values(table) == [
        {
            "day": None if day is None else day.isoformat(),
            "at": None if at is None else format_instant(at),
        }
        for day, at in rows
    ]


class TestCheck:
    def test_violations_have_the_numbers_of_their_rows(self, lists: Lists) -> None:
        table = pa.table({"tier": ["gold", "golf", None], "Shoe size": [42.5, None, float("inf")]})
        checked = lists.check(written(table), NAME)
        assert checked.numbers == (1, 2)
        assert checked.lines == [
            "2: tier: Use one of gold, silver. Did you mean gold?",
            "3: shoe_size: A number must be finite.",
        ]

    @pytest.mark.parametrize("rows", [0, 1, 5_000])
    def test_all_rows_are_checked(self, lists: Lists, rows: int) -> None:
        table = pa.table({"shoe_size": pa.array(range(rows))})
        assert lists.check(written(table), NAME).numbers == (rows, 0)

    def test_a_file_that_is_not_parquet_is_rejected(self, lists: Lists) -> None:
        table = pa.table({"shoe_size": [float(n) for n in range(100_000)]})
        content = written(table)
        damaged = bytearray(content)
        damaged[1000:2000] = bytes(1000)
        for each in (b"", b"tier\ngold\n", content[:-100], content[:1000], bytes(damaged)):
            message = lists.refusal(each, NAME)
            assert message.startswith("list.parquet: Can't read it as Parquet: ")
            assert message.count(".") <= 3

    def test_text_that_is_not_utf_8_is_rejected(self, lists: Lists) -> None:
        content = written(pa.table({"tier": ["gold"]})).replace(b"gold", b"g\xff\xffd")
        message = lists.refusal(content, NAME)
        assert message.startswith("list.parquet: Can't read it as Parquet: 'utf-8'")


class TestLimits:
    """A file of a few KB can have values that need seconds, or gigabytes of memory."""

    LARGE = "x" * 2**20

    def test_a_file_with_too_many_rows_is_rejected_before_they_are_read(self, lists: Lists) -> None:
        group = pa.table({"tier": pa.array(["gold"] * 1_000_000).dictionary_encode()})
        content = io.BytesIO()
        with pq.ParquetWriter(content, group.schema) as writer:
            for _ in range(20):
                writer.write_table(group)
        assert len(content.getvalue()) < 100_000
        assert lists.refusal(content.getvalue(), NAME) == (
            "list.parquet: The file has 20,000,000 rows, and at most 10,000,000 are accepted. Split"
            " the file."
        )

    @pytest.mark.parametrize(
        ("column", "sizes"),
        [
            (["x" * 100 * 2**20], r"104,857,\d{3} bytes in 1 row, and at most 1,114,112"),
            (["x" * 4 * 2**20] * 25, r"4,194,\d{3} bytes in 25 rows, and at most 2,686,976"),
        ],
        ids=["one", "equal"],
    )
    def test_large_values_are_rejected_before_they_are_read(
        self, lists: Lists, column: list[str], sizes: str
    ) -> None:
        message = lists.refusal(written(pa.table({"tier": column})), NAME)
        expected = rf"list.parquet: The column tier has {sizes} are accepted. Remove the column."
        assert re.fullmatch(expected, message)

    def test_long_lists_of_an_additional_column_are_rejected(self, lists: Lists) -> None:
        table = pa.table({"tier": ["gold"] * 2, "vector": [[1] * 1_000_000] * 2})
        assert lists.refusal(written(table), NAME, additional=True) == (
            "list.parquet: The column vector.list.element has 16,000,000 bytes in 2 rows, and at"
            " most 1,179,648 are accepted. Remove the column."
        )

    @pytest.mark.parametrize("dictionary", [False, True])
    def test_a_row_that_is_too_long_is_rejected(self, lists: Lists, dictionary: bool) -> None:
        column = pa.array(["gold"] * 300 + [self.LARGE])
        table = pa.table({"tier": column.dictionary_encode() if dictionary else column})
        assert lists.refusal(written(table), NAME) == (
            "list.parquet:301: The row is longer than 1,048,576 bytes. Shorten its values, or"
            " remove a column."
        )

    def test_the_longest_rows_are_read_and_written(self, lists: Lists) -> None:
        table = pa.table({"note": [self.LARGE[:-16]] * 40})
        checked = lists.check(written(table), NAME, additional=True)
        assert checked.numbers == (40, 0)
        assert read(checked.valid).equals(table)

    def test_many_columns_are_read_in_linear_time(self) -> None:
        assert_grows_linearly(
            lambda table: next(iter(ParquetRecipients.open(io.BytesIO(table), NAME))),
            lambda count: written(pa.table({f"c{number}": ["x"] for number in range(count)})),
            4_000,
        )


class TestOutputs:
    TABLE = pa.table(
        {
            "tier": pa.array(["gold", "golf"] * 20_000).dictionary_encode(),
            "born": pa.array([DAY] * 40_000, pa.date32()),
            "vector": pa.array([[n, None] for n in range(40_000)]),
        },
        metadata={"source": "warehouse"},
    )

    def test_rows_keep_their_types_and_rejects_have_reasons(self, lists: Lists) -> None:
        content = written(self.TABLE)
        stored = read(content)
        checked = lists.check(content, NAME, additional=True)
        assert checked.numbers == (20_000, 20_000)
        valid, rejects = read(checked.valid), read(checked.rejects)
        assert valid.equals(stored.take([*range(0, 40_000, 2)]), check_metadata=True)
        reasons = ["tier: Use one of gold, silver. Did you mean gold?"]
        assert rejects.column("_violations").to_pylist() == [reasons] * 20_000
        assert rejects.column("_line").to_pylist() == [*range(2, 40_001, 2)]
        rows = rejects.drop(["_line", "_violations"])
        assert rows.equals(stored.take([*range(1, 40_000, 2)]))

    def test_outputs_without_rows_have_the_columns(self, lists: Lists) -> None:
        checked = lists.check(written(pa.table({"tier": ["gold"]})), NAME)
        assert read(checked.rejects).to_pydict() == {"tier": [], "_line": [], "_violations": []}
