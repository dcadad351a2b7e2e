"""The comparison with other frameworks checks its conditions. It needs their programs to run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .frameworks import CREATE, FIELDS, LIST, ONE, check, require_programs
from .traffic import ConstantResponse

ROOT = Path(__file__).resolve().parents[2]
APPLICATIONS = Path(__file__).with_name("applications")


def test_without_the_other_programs_the_error_names_the_command_that_installs_them(
    tmp_path: Path,
) -> None:
    with pytest.raises(FileNotFoundError, match="make bench-frameworks"):
        require_programs(tmp_path / "bin")


@pytest.mark.parametrize("package", ["psycopg", "psycopg-binary", "psycopg-pool"])
def test_the_applications_use_the_same_driver_as_the_service(package: str) -> None:
    ours, theirs = (
        re.findall(rf"^{package}==(\S+)", path.read_text("utf-8"), re.MULTILINE)
        for path in (ROOT / "requirements.txt", APPLICATIONS / "requirements.txt")
    )

    assert len(ours) == 1
    assert ours == theirs


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (LIST, [f"field_{n}" for n in range(1, FIELDS + 1)]),
        (ONE, ["field_1"]),
        (CREATE, ["created_000000000"]),
    ],
)
@pytest.mark.parametrize("envelope", ["ours", "data"])
def test_only_a_response_with_exactly_the_expected_fields_is_correct(
    kind: str, keys: list[str], envelope: str
) -> None:
    def response(keys: list[str]) -> ConstantResponse:
        fields = [{"key": key} for key in keys]
        name = "data"
        if envelope == "ours":
            name = "recipient_fields" if kind == LIST else "recipient_field"
        return ConstantResponse(200, {}, json.dumps({name: fields if kind == LIST else fields[0]}))

    check(kind, response(keys))
    with pytest.raises(AssertionError):
        check(kind, response([*keys[:-1], "other"]))


def test_a_list_with_a_field_more_or_less_or_twice_is_wrong() -> None:
    keys = [f"field_{n}" for n in range(1, FIELDS + 1)]
    for wrong in (keys[1:], [*keys, "other"], [*keys, keys[0]]):
        body = json.dumps({"data": [{"key": key} for key in wrong]})
        with pytest.raises(AssertionError):
            check(LIST, ConstantResponse(200, {}, body))
