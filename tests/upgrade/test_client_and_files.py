"""The client of the first release works with this version, and so do files of earlier versions.

`first_release/README.md` and `first_plan/README.md` describe how the files were made.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..service.conftest import checked, new_file
from ..support.command_line import CommandLine, Script
from ..support.service import Service
from .first_release import install, stored

pytestmark = pytest.mark.slow

FIRST_PLAN = Path(__file__).with_name("first_plan")
CALLS = Path(__file__).with_name("client_calls.py")
ERRORS = [
    "KeyTaken",
    "FieldNotFound",
    "OperationForbidden",
    "FieldLimitReached",
    "KeyRefused",
]
REPORT = {
    "fields": [
        {"name": "plan", "label": "Tarif", "data_type": "text", "allowed_values": ["S", "XL"]},
        {"name": "last order", "data_type": "datetime"},
    ]
}


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the command of the first release."""
    return install(tmp_path_factory.mktemp("first-release") / "venv")


@pytest.fixture
def acme() -> Iterator[CommandLine]:
    """Return the command on a migrated copy of the storage of the first plan."""
    with new_file() as file:
        shutil.copy(FIRST_PLAN / "fields.sqlite", file)
        command = CommandLine(f"sqlite:{file}")
        command("migrate").messages()
        yield command


def calls(python: Path, script: str) -> list[Any]:
    """Run the client's calls with a service of `script`, and return their results."""
    with new_file() as file:
        command = Script(f"sqlite:{file}", script)
        command("organizations", "create", "Acme").messages()
        key = command("keys", "create", "--organization", 1, "--name", "Client", "--json")
        command(
            *("fields", "create", "--organization", 1, "--name", "Manual", "--data-type", "text"),
            *("--key", "manual", "--json"),
        ).document()
        with checked(Service(command.storage, "--field-limit", "2", script=script)) as service:
            ran = subprocess.run(
                [python, CALLS, service.url, key.document()["api_key"]["key"]],
                capture_output=True,
                text=True,
                check=False,
            )
    assert ran.returncode == 0, ran.stderr
    results: list[Any] = json.loads(ran.stdout)
    return results


def test_the_client_of_the_first_release_has_the_same_results_with_this_version(
    first_release: str,
) -> None:
    python = Path(first_release).with_name("python")

    with_old = calls(python, first_release)
    with_new = calls(python, Script("memory:").path)

    assert [result for _, result in with_old if isinstance(result, str)] == ERRORS
    assert with_new == with_old


def test_a_report_for_the_first_release_has_the_same_effect(
    first_release: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps(REPORT))
    found = []
    for script in (first_release, Script("memory:").path):
        with new_file() as file:
            command = Script(f"sqlite:{file}", script)
            command("organizations", "create", "Acme").messages()
            integration = ("--organization", 1, "--esp", "braze", "--name", "Braze")
            command("integrations", "create", *integration).messages()
            sync = ("integrations", "sync", 1, "--organization", 1, "--from", str(report))
            command(*sync).messages()
            found.append(stored(command))

    old, new = ([fields_of(each) for each in organizations] for organizations in found)
    assert len(old[0]) == 2
    assert new == old


def fields_of(organization: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields without their times."""
    times = {"created_at", "updated_at"}
    return [
        {name: value for name, value in each.items() if name not in times}
        for each in organization["recipient_fields"]
    ]


def test_a_document_that_an_earlier_version_exported_changes_nothing(acme: CommandLine) -> None:
    exported = FIRST_PLAN / "exported.yaml"

    assert acme("plan", str(exported), "--organization", "Acme").status == 0
    assert acme("fields", "export", "--organization", "Acme").out == exported.read_text("utf-8")


@pytest.mark.parametrize("file", ["plan.json", "document.yaml"])
def test_a_plan_and_a_document_of_an_earlier_version_are_applied(
    acme: CommandLine, file: str
) -> None:
    acme("apply", str(FIRST_PLAN / file), "--organization", "Acme", "--yes").table()

    fields = acme("fields", "list", "--organization", "Acme", "--json").document()
    members = ("name", "allowed_values", "insertable", "custom_value_expression")
    assert {
        field["key"]: [field[member] for member in members] for field in fields["recipient_fields"]
    } == {
        "loyalty_tier": ["Tier", ["gold", "silver", "bronze"], False, None],
        "old": ["Old", None, True, None],
        "shoe_size": ["Shoe size", None, True, None],
        "birthday": ["Birthday", None, True, "{{ b }}"],
    }


def test_a_plan_of_an_earlier_version_is_refused_after_another_change(acme: CommandLine) -> None:
    apply = ("apply", str(FIRST_PLAN / "plan.json"), "--organization", "Acme", "--yes")
    acme(*apply).table()

    assert acme(*apply).status != 0
