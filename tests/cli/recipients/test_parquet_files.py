"""The commands `recipients check` and `recipients infer` for Parquet files."""

from __future__ import annotations

import io
import os
import re
import resource
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.recipient_files.parquet import ParquetRecipients
from recipient_fields.application import Core
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    DataType,
    FieldDraft,
    OrganizationId,
)
from recipient_fields.domain.instants import format_instant

from ...support.command_line import CommandLine, Run, Script
from ...support.growth import assert_grows_linearly

INVALID = 3
BERLIN = pa.timestamp("us", "Europe/Berlin")
DAY = date(2026, 11, 20)
INSTANT = datetime(2026, 11, 20, 9, 15, 0, 123456, tzinfo=UTC)
INSTANT_TEXT = "2026-11-20T09:15:00.123Z"


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    for name, data_type, allowed in (
        ("Tier", DataType.TEXT, ["gold", "silver"]),
        ("Shoe size", DataType.NUMBER, None),
        ("Born", DataType.DATE, None),
        ("Seen", DataType.DATETIME, None),
        ("Vip", DataType.BOOLEAN, None),
    ):
        draft = FieldDraft(name=name, data_type=data_type, allowed_values=allowed)
        core.fields.create_field(acme, draft)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "list.parquet"


@pytest.fixture
def check(cli: CommandLine, acme: OrganizationId, path: Path) -> Callable[..., Run]:
    """Return a function that checks a file with this table, or with this content."""

    def check(content: pa.Table | bytes, *arguments: str | Path) -> Run:
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            pq.write_table(content, path)
        run = cli("recipients", "check", path, "--organization", acme, *arguments)
        hidden = f"{path.parent}/"
        return Run(run.status, run.out.replace(hidden, ""), run.err.replace(hidden, ""))

    return check


def written(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def read_values(table: pa.Table) -> list[Mapping[str, object]]:
    reader = ParquetRecipients.open(io.BytesIO(written(table)), "list.parquet")
    return [reader.values(row) for row in reader]


def summary(valid: int, invalid: int = 0) -> str:
    checked = valid + invalid
    return f"Checked {counted(checked, 'recipient')}: {valid:,} valid, {invalid:,} invalid.\n"


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
        self, check: Callable[..., Run], column: pa.Array, data_type: str
    ) -> None:
        table = pa.table({"tier": ["gold"], "seen": column})
        assert check(table).failure() == (
            f"list.parquet: The column seen has values of type {data_type}, which a recipient can't"
            " have. Convert or remove the column."
        )
        additional = pa.table({"tier": ["gold"], "other": column})
        assert check(additional, "--additional").messages() == summary(1)

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
        self, check: Callable[..., Run], key: str, column: pa.Array, message: str
    ) -> None:
        checked = check(pa.table({key: column}))
        assert (checked.status, checked.out.splitlines()[0]) == (
            INVALID,
            f"list.parquet:1: {key}: {message}",
        )


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
    def test_invalid_rows_are_reported_by_number_field_and_rule(
        self, run: Callable[..., Run], acme: OrganizationId, path: Path
    ) -> None:
        pq.write_table(
            pa.table({"tier": ["gold", "golf", None], "Shoe size": [42.5, None, float("inf")]}),
            path,
        )
        checked = run(acme, "recipients", "check", path)
        assert checked.status == INVALID
        assert checked.out.replace(f"{path}:", "") == (
            "2: tier: Use one of gold, silver. Did you mean gold?\n"
            "3: shoe_size: A number must be finite.\n"
            "\n"
            "FIELD      RULE           VIOLATIONS\n"
            "shoe_size  out_of_range   1\n"
            "tier       unknown_value  1\n"
        )
        assert checked.err == summary(1, 2)

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (
                ["teir"],
                (
                    "These columns are not recipient fields: teir (did you mean tier?). Remove"
                    " them, or add --additional."
                ),
            ),
            (["tier", "tier"], "Columns 1 and 2 have the same name, tier."),
        ],
    )
    def test_columns_that_are_not_different_fields_are_rejected(
        self, check: Callable[..., Run], names: list[str], message: str
    ) -> None:
        table = pa.table([pa.array(["gold"])] * len(names), names)
        assert check(table).failure() == f"list.parquet: {message}"

    @pytest.mark.parametrize("rows", [0, 1, 5_000])
    def test_all_rows_are_checked(self, check: Callable[..., Run], rows: int) -> None:
        assert check(pa.table({"shoe_size": pa.array(range(rows))})).messages() == summary(rows)

    def test_a_file_that_is_not_parquet_is_rejected_with_one_line(
        self, check: Callable[..., Run]
    ) -> None:
        table = pa.table({"shoe_size": [float(n) for n in range(100_000)]})
        content = written(table)
        damaged = bytearray(content)
        damaged[1000:2000] = bytes(1000)
        for each in (b"", b"tier\ngold\n", content[:-100], content[:1000], bytes(damaged)):
            message = check(each).failure()
            assert message.startswith("list.parquet: Can't read it as Parquet: ")
            assert message.count(".") <= 3

    def test_text_that_is_not_utf_8_is_rejected_with_one_line(
        self, check: Callable[..., Run]
    ) -> None:
        content = written(pa.table({"tier": ["gold"]})).replace(b"gold", b"g\xff\xffd")
        assert (
            check(content).failure().startswith("list.parquet: Can't read it as Parquet: 'utf-8'")
        )

    def test_a_pipe_is_rejected_with_one_line(
        self, script: Script, acme: OrganizationId, path: Path
    ) -> None:
        os.mkfifo(path)
        with script.start("recipients", "check", str(path), "--organization", acme) as process:
            path.write_bytes(b"PAR1")
            _, err = process.communicate(timeout=60)
        assert err.decode() == f"Error: {path}: A Parquet file can't be read from a pipe.\n"

    def test_a_parquet_file_with_another_name_is_rejected(
        self, cli: CommandLine, acme: OrganizationId, tmp_path: Path
    ) -> None:
        path = tmp_path / "list.csv"
        path.write_bytes(written(pa.table({"tier": ["gold"]})))
        assert cli("recipients", "check", path, "--organization", acme).failure() == (
            f"{path} is a Parquet file. Export it as CSV, or use the command recipient-fields with"
            " a name that ends with .parquet."
        )

    def test_without_pyarrow_the_message_names_the_extra(
        self, check: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        content = written(pa.table({"tier": ["gold"]}))
        monkeypatch.delitem(sys.modules, "recipient_fields.adapters.recipient_files.parquet")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        assert check(content).failure() == (
            "The module pyarrow is missing. Install recipient-fields[parquet]."
        )


class TestLimits:
    """A file of a few KB can have values that need seconds, or gigabytes of memory."""

    LARGE = "x" * 2**20

    @pytest.mark.parametrize("command", ["check", "infer"])
    def test_a_file_with_too_many_rows_is_rejected_before_they_are_read(
        self, cli: CommandLine, acme: OrganizationId, path: Path, command: str
    ) -> None:
        group = pa.table({"tier": pa.array(["gold"] * 1_000_000).dictionary_encode()})
        with pq.ParquetWriter(path, group.schema) as writer:
            for _ in range(20):
                writer.write_table(group)
        assert path.stat().st_size < 100_000
        organization = ("--organization", acme) if command == "check" else ()
        assert cli("recipients", command, path, *organization).failure() == (
            f"{path}: The file has 20,000,000 rows, and at most 10,000,000 are accepted. Split the"
            " file."
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
        self, check: Callable[..., Run], column: list[str], sizes: str
    ) -> None:
        message = check(pa.table({"tier": column})).failure()
        expected = rf"list.parquet: The column tier has {sizes} are accepted. Remove the column."
        assert re.fullmatch(expected, message)

    def test_long_lists_of_an_additional_column_are_rejected(
        self, check: Callable[..., Run]
    ) -> None:
        table = pa.table({"tier": ["gold"] * 2, "vector": [[1] * 1_000_000] * 2})
        assert check(table, "--additional").failure() == (
            "list.parquet: The column vector.list.element has 16,000,000 bytes in 2 rows, and at"
            " most 1,179,648 are accepted. Remove the column."
        )

    @pytest.mark.parametrize("dictionary", [False, True])
    def test_a_row_that_is_too_long_is_rejected(
        self, check: Callable[..., Run], dictionary: bool
    ) -> None:
        column = pa.array(["gold"] * 300 + [self.LARGE])
        table = pa.table({"tier": column.dictionary_encode() if dictionary else column})
        assert check(table).failure() == (
            "list.parquet:301: The row is longer than 1,048,576 bytes. Shorten its values, or"
            " remove a column."
        )

    def test_the_longest_rows_are_read_and_written(
        self, check: Callable[..., Run], tmp_path: Path
    ) -> None:
        longest = self.LARGE[:-16]
        out = tmp_path / "good.parquet"
        table = pa.table({"note": [longest] * 40})
        assert check(table, "--additional", "--out", out).messages() == summary(40)
        written = pq.ParquetFile(out)
        assert written.read().equals(table)

    def test_repeated_large_values_need_little_memory(
        self, script: Script, acme: OrganizationId, path: Path
    ) -> None:
        """A file of 500 bytes with 1 GiB of values needed 1.9 GB."""
        pq.write_table(pa.table({"tier": [self.LARGE] * 1_024}), path, compression="zstd")
        limit = 2**30
        run = script(
            *("recipients", "check", str(path), "--organization", acme),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )
        assert run.failure().startswith(f"{path}:1: The row is longer than 1,048,576 bytes.")

    def test_many_columns_are_read_in_linear_time(self) -> None:
        assert_grows_linearly(
            lambda table: next(iter(ParquetRecipients.open(io.BytesIO(table), "list.parquet"))),
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

    def test_rows_keep_their_types_and_rejects_have_reasons(
        self, check: Callable[..., Run], tmp_path: Path
    ) -> None:
        out, rejects = tmp_path / "good.parquet", tmp_path / "bad.parquet"
        run = check(self.TABLE, "--additional", "--out", out, "--rejects", rejects)
        assert run.err == summary(20_000, 20_000)
        stored = pq.read_table(tmp_path / "list.parquet")
        valid, invalid = pq.read_table(out), pq.read_table(rejects)
        assert valid.equals(stored.take([*range(0, 40_000, 2)]), check_metadata=True)
        reasons = ["tier: Use one of gold, silver. Did you mean gold?"]
        assert invalid.column("_violations").to_pylist() == [reasons] * 20_000
        assert invalid.column("_line").to_pylist() == [*range(2, 40_001, 2)]
        assert invalid.drop(["_line", "_violations"]).equals(stored.take([*range(1, 40_000, 2)]))

    def test_outputs_without_rows_have_the_columns(
        self, check: Callable[..., Run], tmp_path: Path
    ) -> None:
        rejects = tmp_path / "bad.parquet"
        check(pa.table({"tier": ["gold"]}), "--rejects", rejects)
        assert pq.read_table(rejects).to_pydict() == {"tier": [], "_line": [], "_violations": []}

    def test_the_outputs_have_the_format_of_the_file(
        self, cli: CommandLine, check: Callable[..., Run], tmp_path: Path, acme: OrganizationId
    ) -> None:
        csv = tmp_path / "list.csv"
        csv.write_text("tier\ngold\n")
        message = (
            "FILE, --out and --rejects have the same format. If one of them ends with .parquet, all"
            " must do so."
        )
        assert check(self.TABLE, "--out", tmp_path / "a.csv").usage_error() == message
        run = cli("recipients", "check", csv, "--organization", acme, "--out", "a.parquet")
        assert run.usage_error() == message

    @pytest.mark.parametrize("limit", [4, 16_384])
    def test_a_full_disk_is_reported_on_one_line_and_leaves_no_file(
        self, script: Script, acme: OrganizationId, path: Path, limit: int
    ) -> None:
        numbers = pa.array([n / 7 for n in range(40_000)])
        pq.write_table(pa.table({"shoe_size": numbers}), path)
        out = path.with_name("good.parquet")
        run = script(
            *("recipients", "check", str(path), "--organization", acme, "--out", str(out)),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        assert run.failure() == f"Can't write {out}: File too large."
        assert [*path.parent.iterdir()] == [path]

    def test_a_damaged_file_leaves_no_output(
        self, check: Callable[..., Run], tmp_path: Path
    ) -> None:
        content = bytearray(written(pa.table({"shoe_size": [n / 7 for n in range(100_000)]})))
        content[300_000:301_000] = bytes(1000)
        run = check(bytes(content), "--out", tmp_path / "good.parquet")
        assert run.failure().startswith("list.parquet: Can't read it as Parquet: ")
        assert [each.name for each in tmp_path.iterdir()] == ["list.parquet"]


class TestInference:
    TABLE = pa.table(
        {
            "Stufe": pa.array(["gold", "silver", "gold"] * 3).dictionary_encode(),
            "zip": ["01067", "10115", "10117"] * 3,
            "Größe": pa.array([Decimal("1.50"), None, Decimal("2.50")] * 3),
            "born": pa.array([DAY] * 9),
            "last seen": pa.array([INSTANT, None, INSTANT] * 3, BERLIN),
            "Newsletter": [True, False, None] * 3,
        }
    )
    TYPES: Mapping[str, str] = {
        "stufe": "text",
        "zip": "text",
        "grosse": "number",
        "born": "date",
        "last_seen": "datetime",
        "newsletter": "boolean",
    }

    def test_the_proposed_fields_accept_the_file(
        self, cli: CommandLine, core: Core, path: Path
    ) -> None:
        other = core.administration.create_organization("Other").id
        pq.write_table(self.TABLE, path)
        inferred = cli("recipients", "infer", path, "--json")
        fields = inferred.document()["fields"]
        assert {key: field["data_type"] for key, field in fields.items()} == self.TYPES
        assert fields["stufe"]["allowed_values"] == ["gold", "silver"]
        assert inferred.messages() == "Proposed 6 fields for 9 recipients.\n"
        document = path.with_name("fields.json")
        document.write_text(inferred.out)
        assert cli("apply", document, "--organization", other, "--yes").status == 0
        checked = cli("recipients", "check", path, "--organization", other)
        assert checked.messages() == summary(9)

    def test_a_column_that_can_not_be_a_field_is_rejected(
        self, cli: CommandLine, path: Path
    ) -> None:
        pq.write_table(pa.table({"vector": [[1]]}), path)
        assert cli("recipients", "infer", path).failure() == (
            f"{path}: The column vector has values of type list<element: int64>, which a recipient"
            " can't have. Convert or remove the column."
        )
