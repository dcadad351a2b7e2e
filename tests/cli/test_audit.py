"""The audit log of `recipient-fields keys`."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from recipient_fields.domain import OrganizationId, parse_instant

from ..support.command_line import CommandLine, Script
from ..support.redaction import API_KEY

OURS = ("--organization", 1, "--yes")
CREATE = ("create", "--name", "Backend", "--json", "--organization")


@pytest.fixture
def trail(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def lines(trail: Path) -> list[dict[str, Any]]:
    """What was noted, without the times."""
    noted = [json.loads(line) for line in trail.read_text("utf-8").splitlines()]
    for line in noted:
        parse_instant(line.pop("timestamp"))
        assert line.pop("user") == os.getuid()
        assert line.pop("event").startswith(f"API key {line['act']}: by administrator, ")
    return noted


def test_every_creation_rotation_and_revocation_is_noted(
    cli: CommandLine, acme: OrganizationId, trail: Path
) -> None:
    key = cli("keys", "--audit-log", str(trail), *CREATE, acme).document()["api_key"]["key"]
    cli("keys", "--audit-log", str(trail), "rotate", 1, *OURS)
    cli("keys", "--audit-log", str(trail), "revoke", 1, *OURS)

    display = f"{key[:8]}…{key[-4:]}"
    common = {
        "level": "info",
        "logger": "recipient_fields.audit",
        "by": "administrator",
        "organization": acme,
        "key_id": 1,
        "display": display,
    }
    assert lines(trail) == [
        {**common, "act": "created"},
        {**common, "act": "rotated", "successor": 2},
        {**common, "act": "revoked"},
    ]
    assert API_KEY.search(trail.read_text("utf-8")) is None


def test_the_file_can_be_set_for_good(cli: CommandLine, acme: OrganizationId, trail: Path) -> None:
    cli("keys", *CREATE, acme, RECIPIENT_FIELDS_AUDIT_LOG=str(trail))

    assert [line["act"] for line in lines(trail)] == ["created"]


def test_what_is_refused_or_changes_nothing_is_not_noted(
    cli: CommandLine, acme: OrganizationId, trail: Path
) -> None:
    cli("keys", *CREATE, acme)
    cli("keys", "revoke", 1, *OURS)

    cli("keys", "--audit-log", str(trail), "revoke", 1, *OURS)
    cli("keys", "--audit-log", str(trail), "rotate", 1, *OURS)
    cli("keys", "--audit-log", str(trail), "list", "--organization", acme)

    assert lines(trail) == []


def test_where_nothing_can_be_noted_nothing_is_done(
    cli: CommandLine, script: Script, acme: OrganizationId, tmp_path: Path
) -> None:
    nowhere = tmp_path / "no" / "where"
    told = script("keys", "--audit-log", str(nowhere), *CREATE, acme).failure()

    assert told == f"Can't write the audit log {nowhere}: No such file or directory."
    assert cli("keys", "list", "--organization", acme, "--json").document() == {"api_keys": []}


def test_without_a_file_nothing_is_noted_and_nothing_more_is_said(
    cli: CommandLine, acme: OrganizationId
) -> None:
    assert cli("keys", *CREATE, acme).told() == ""


def test_a_trail_that_can_not_be_written_is_told_and_shows_no_key(cli: CommandLine, acme):
    run = cli(
        *("keys", "--audit-log", "/dev/full", "create"),
        *("--organization", acme, "--name", "Backend"),
    )
    assert "The audit log can't be written" in run.failure()


def test_a_line_of_which_only_a_part_finds_room_is_told_as_well(
    script: Script, acme: OrganizationId, trail: Path
) -> None:
    most = 2**24  # More than the storage needs.
    trail.touch()
    os.truncate(trail, most - 40)

    run = script(
        *("keys", "--audit-log", str(trail), *CREATE, acme),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )

    told = run.failure()
    assert told.startswith("The audit log can't be written: No space left on device. The")
    assert API_KEY.search(told) is None


def test_the_deletion_of_an_organization_is_a_line_too(
    cli: CommandLine, acme: OrganizationId, trail: Path
) -> None:
    cli("keys", *CREATE, acme)

    cli("organizations", "--audit-log", str(trail), "delete", "Acme", "--yes")

    (line,) = map(json.loads, trail.read_text("utf-8").splitlines())
    assert line["event"].startswith("Organization deleted: by administrator, organization 1, ")
    assert (line["act"], line["organization"], line["api_keys"]) == ("deleted", 1, 1)
