"""The audit log of `recipient-fields keys`."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from recipient_fields.domain import parse_instant

from ...support.redaction import SECRET

CONFIRMED = ("--organization", 1, "--yes")
CREATE = ("create", "--name", "Backend", "--json", "--organization")


@pytest.fixture
def audit_log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def lines(audit_log: Path) -> list[dict[str, Any]]:
    """Return the logged events, without the times and the user."""
    events = [json.loads(line) for line in audit_log.read_text("utf-8").splitlines()]
    for line in events:
        parse_instant(line.pop("timestamp"))
        assert line.pop("user") == os.getuid()
        assert line.pop("event").startswith(f"API key {line['act']}: by operator, ")
    return events


def test_every_creation_rotation_and_revocation_is_logged(cli, acme, audit_log):
    key = cli("keys", "--audit-log", str(audit_log), *CREATE, acme).document()["api_key"]["key"]
    cli("keys", "--audit-log", str(audit_log), "rotate", 1, *CONFIRMED)
    cli("keys", "--audit-log", str(audit_log), "revoke", 1, *CONFIRMED)

    display = f"{key[:8]}…{key[-4:]}"
    common = {
        "level": "info",
        "logger": "recipient_fields.audit",
        "by": "operator",
        "organization": acme,
        "key_id": 1,
        "display": display,
    }
    assert lines(audit_log) == [
        {**common, "act": "created"},
        {**common, "act": "rotated", "successor": 2},
        {**common, "act": "revoked"},
    ]
    assert SECRET.search(audit_log.read_text("utf-8")) is None


def test_a_command_that_changes_nothing_is_not_logged(cli, acme, audit_log):
    cli("keys", *CREATE, acme)
    cli("keys", "revoke", 1, *CONFIRMED)

    cli("keys", "--audit-log", str(audit_log), "revoke", 1, *CONFIRMED)
    cli("keys", "--audit-log", str(audit_log), "rotate", 1, *CONFIRMED)
    cli("keys", "--audit-log", str(audit_log), "list", "--organization", acme)

    assert lines(audit_log) == []


def test_no_key_is_created_if_the_audit_log_can_not_be_opened(cli, script, acme, tmp_path):
    missing = tmp_path / "no" / "where"
    message = script("keys", "--audit-log", str(missing), *CREATE, acme).failure()

    assert message == f"Can't write the audit log {missing}: No such file or directory."
    assert cli("keys", "list", "--organization", acme, "--json").document() == {"api_keys": []}


def test_without_an_audit_log_the_command_prints_no_message_about_it(cli, acme):
    assert cli("keys", *CREATE, acme).messages() == ""


def test_an_audit_log_that_can_not_be_written_is_reported_without_the_key(cli, acme):
    run = cli(
        *("keys", "--audit-log", "/dev/full", "create"),
        *("--organization", acme, "--name", "Backend"),
    )
    assert "The audit log can't be written" in run.failure()


def test_a_line_that_is_written_in_part_is_reported(script, acme, audit_log):
    limit = 2**24  # More than the storage requires.
    audit_log.touch()
    os.truncate(audit_log, limit - 40)

    run = script(
        *("keys", "--audit-log", str(audit_log), *CREATE, acme),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )

    message = run.failure()
    assert message.startswith("The audit log can't be written: No space left on device. The")
    assert SECRET.search(message) is None


def test_the_deletion_of_an_organization_is_logged(cli, acme, audit_log):
    cli("keys", *CREATE, acme)

    cli("organizations", "--audit-log", str(audit_log), "delete", "Acme", "--yes")

    (line,) = map(json.loads, audit_log.read_text("utf-8").splitlines())
    assert line["event"].startswith("Organization deleted: by operator, organization 1, ")
    assert (line["act"], line["organization"], line["api_keys"]) == ("deleted", 1, 1)
