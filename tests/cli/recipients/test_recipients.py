"""The commands `recipients schema` and `recipients types`."""

from __future__ import annotations

import json

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import DataType, OrganizationId

from ...openapi.test_clients import TYPESCRIPT
from ...support.fields import add_field
from ...support.node import NODE, install_packages
from ...support.node import run as run_program

PYTHON = '''\
"""The type of a recipient's data. Generated from the recipient fields."""

from typing import Literal, TypedDict

Recipient = TypedDict(
    "Recipient",
    {
        "tier": Literal["gold", "silver"] | None,
        "shoe_size": float | None,
    },
    total=False,
)
'''


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    add_field(core, acme, "Tier", allowed_values=["gold", "silver"])
    add_field(core, acme, "Shoe size", data_type=DataType.NUMBER)


def test_the_schema_is_printed(run, acme):
    schema = json.loads(run(acme, "recipients", "schema").out)
    assert list(schema["properties"]) == ["tier", "shoe_size"]
    assert schema["additionalProperties"] is False
    additional = json.loads(run(acme, "recipients", "schema", "--additional").out)
    assert additional == {**schema, "additionalProperties": True}


def test_the_python_type_is_the_same_for_a_storage_and_a_service(run, acme):
    assert run(acme, "recipients", "types", "--language", "python").out == PYTHON


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipient", "valid"),
    [
        ({"tier": "gold", "shoe_size": None}, True),
        ({"tier": "bronze"}, False),
        ({"shoe_size": "43"}, False),
        ({"other": 1}, False),
    ],
)
def test_tsc_checks_recipients_with_the_typescript_type(cli, acme, tmp_path, recipient, *, valid):
    arguments = ("types", "--language", "typescript", "--organization", acme)
    (tmp_path / "recipient.ts").write_text(cli("recipients", *arguments).out)
    (tmp_path / "use.ts").write_text(
        'import type { Recipient } from "./recipient";\n'
        f"export const recipient: Recipient = {json.dumps(recipient)};\n"
    )
    tsc = install_packages(TYPESCRIPT, "typescript") / ".bin" / "tsc"
    if valid:
        run_program(NODE, tsc, "--strict", "--noEmit", tmp_path / "use.ts")
    else:
        with pytest.raises(AssertionError, match="error TS"):
            run_program(NODE, tsc, "--strict", "--noEmit", tmp_path / "use.ts")
