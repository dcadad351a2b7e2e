"""The commands `recipients check` and `recipients infer` for Parquet files."""

from __future__ import annotations

import io
import os
import resource
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recipient_fields.application import Core
from recipient_fields.application.wording import counted
from recipient_fields.domain import DataType, FieldDraft, OrganizationId

from ...support.command_line import CommandLine, Run, Script

INVALID = 3
BERLIN = pa.timestamp("us", "Europe/Berlin")
DAY = date(2026, 11, 20)
INSTANT = datetime(2026, 11, 20, 9, 15, 0, 123456, tzinfo=UTC)


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


def summary(valid: int, invalid: int = 0) -> str:
    checked = valid + invalid
    return f"Checked {counted(checked, 'recipient')}: {valid:,} valid, {invalid:,} invalid.\n"


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
        module = "recipient_fields.adapters.recipient_files.parquet"
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        assert check(content).failure() == (
            "The module pyarrow is missing. Install recipient-fields[parquet]."
        )

    @pytest.mark.slow
    def test_repeated_large_values_need_little_memory(
        self, script: Script, acme: OrganizationId, path: Path
    ) -> None:
        """A file of 500 bytes with 1 GiB of values needed 1.9 GB."""
        pq.write_table(pa.table({"tier": ["x" * 2**20] * 1_024}), path, compression="zstd")
        limit = 2**30
        run = script(
            *("recipients", "check", str(path), "--organization", acme),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )
        assert run.failure().startswith(f"{path}:1: The row is longer than 1,048,576 bytes.")


class TestOutputs:
    def test_the_outputs_have_the_format_of_the_file(
        self, cli: CommandLine, check: Callable[..., Run], tmp_path: Path, acme: OrganizationId
    ) -> None:
        csv = tmp_path / "list.csv"
        csv.write_text("tier\ngold\n")
        message = (
            "FILE, --out and --rejects have the same format. If one of them ends with .parquet, all"
            " must do so."
        )
        assert (
            check(pa.table({"tier": ["gold"]}), "--out", tmp_path / "a.csv").usage_error()
            == message
        )
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
