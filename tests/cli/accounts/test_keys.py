"""The commands `recipient-fields keys`."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId, PlainKey, parse_instant

from ...support.command_line import NOT_CONFIRMED, CommandLine

CONFIRMED = ("--organization", 1, "--yes")


@pytest.fixture
def created(cli: CommandLine, acme: OrganizationId) -> dict[str, Any]:
    """Create a key, and return it as `create` prints it."""
    run = cli("keys", "create", "--organization", acme, "--name", "Backend", "--json")
    key: dict[str, Any] = run.document()["api_key"]
    return key


def listed(cli: CommandLine, organization: OrganizationId) -> list[dict[str, Any]]:
    keys: list[dict[str, Any]]
    keys = cli("keys", "list", "--organization", organization, "--json").document()["api_keys"]
    return keys


def lifetime(key: dict[str, Any]) -> timedelta:
    return parse_instant(key["expires_at"]) - parse_instant(key["created_at"])


def test_create_prints_the_full_key_and_its_members(created: dict[str, Any]) -> None:
    full = created.pop("key")

    assert PlainKey.parse(full) is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", created.pop("expires_at"))
    assert created == {"id": 1, "name": "Backend", "access": "read_write"}


def test_create_without_json_prints_only_the_key_to_standard_output(
    cli: CommandLine, acme: OrganizationId
) -> None:
    run = cli("keys", "create", "--organization", acme, "--name", "Backend")

    (key,) = run.table()
    assert PlainKey.parse(key) is not None
    assert re.fullmatch(
        r"This is API key 1, valid until 2\S+Z\. It is not shown again\.\n", run.err
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), timedelta(days=90)),
        (("--expires-in", "30s"), timedelta(seconds=30)),
        (("--expires-in", "15m"), timedelta(minutes=15)),
        (("--expires-in", "12h"), timedelta(hours=12)),
        (("--expires-in", "007d"), timedelta(days=7)),
    ],
)
def test_a_key_expires_after_the_duration(
    cli: CommandLine, acme: OrganizationId, options: tuple[str, ...], expected: timedelta
) -> None:
    cli("keys", "create", "--organization", acme, "--name", "K", *options)

    (key,) = listed(cli, acme)
    assert lifetime(key) == expected


def test_a_key_that_never_expires_has_no_time_of_expiry(
    cli: CommandLine, acme: OrganizationId
) -> None:
    arguments = ("keys", "create", "--organization", acme, "--name", "K", "--expires-in", "never")

    assert cli(*arguments, "--json").document()["api_key"]["expires_at"] is None
    assert cli(*arguments).messages() == (
        "This is API key 2, valid until it is revoked. It is not shown again.\n"
    )
    assert [key["expires_at"] for key in listed(cli, acme)] == [None, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--name", "K", "--expires-in", "999999999d"),
            "expires_in: A key expires after 1 second to 366 days, or never.",
        ),
        (("--name", "\udcff"), "name: "),
    ],
    ids=["lifetime", "name"],
)
def test_an_invalid_member_is_reported_and_no_key_is_created(
    cli: CommandLine, acme: OrganizationId, options: tuple[str, ...], message: str
) -> None:
    run = cli("keys", "create", "--organization", acme, *options)

    assert run.failure().startswith(message)
    assert listed(cli, acme) == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "12x", "d", "1", "-1d", "+1d", "1.5h", "1 d", "1d ", "1d12h", "1D", "Never"),
        *("\N{ARABIC-INDIC DIGIT ONE}d", "\udcff"),
    ],
)
def test_an_invalid_duration_is_a_usage_error(
    cli: CommandLine, acme: OrganizationId, text: str
) -> None:
    run = cli("keys", "create", "--organization", acme, "--name", "K", "--expires-in", text)

    message = "Invalid value for '--expires-in': use a duration such as 30s, 15m, 12h or 90d."
    assert run.usage_error() == message


def test_read_only_creates_a_read_only_key(cli: CommandLine, acme: OrganizationId) -> None:
    arguments = ("keys", "create", "--organization", acme, "--name", "K", "--read-only", "--json")

    assert cli(*arguments).document()["api_key"]["access"] == "read_only"
    assert [key["access"] for key in listed(cli, acme)] == ["read_only"]


def test_list_prints_every_member_and_never_the_key(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    full = created["key"]

    (key,) = listed(cli, acme)
    assert parse_instant(key.pop("created_at")) < parse_instant(key["expires_at"])
    assert key == {
        "id": 1,
        "name": "Backend",
        "display": f"{full[:8]}…{full[-4:]}",
        "access": "read_write",
        "state": "active",
        "expires_at": created["expires_at"],
        "last_used_at": None,
        "revoked_at": None,
    }


def test_list_prints_a_table_without_the_keys(
    cli: CommandLine, core: Core, acme: OrganizationId
) -> None:
    issue = partial(core.administration.issue_key, acme)
    used = issue(name="Used", lifetime=None).plain.reveal()
    core.validator.validate(used)
    core.administration.revoke_key(acme, issue(name="Revoked").api_key.id)
    core.administration.rotate_key(acme, issue(name="Replaced").api_key.id, grace=timedelta())

    titles, *rows = cli("keys", "list", "--organization", acme).table()

    assert " ".join(titles.split()) == "ID NAME DISPLAY ACCESS STATE EXPIRES AT LAST USED AT"
    first, revoked, replaced, successor = (row.split() for row in rows)
    last_used = listed(cli, acme)[0]["last_used_at"]
    display = f"{used[:8]}…{used[-4:]}"
    assert first == ["1", "Used", display, "read_write", "active", "never", last_used]
    assert [(row[1], row[4], row[6]) for row in (revoked, replaced, successor)] == [
        ("Revoked", "revoked", "never"),
        ("Replaced", "expired", "never"),
        ("Replaced", "active", "never"),
    ]


def test_revoke_prints_the_revoked_key_like_list(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    revoked = cli("keys", "revoke", created["id"], *CONFIRMED, "--json").document()

    assert revoked == {"api_key": listed(cli, acme)[0]}
    assert revoked["api_key"]["state"] == "revoked"
    assert revoked["api_key"]["revoked_at"] is not None


def test_revoke_without_json_names_the_key(cli: CommandLine, created: dict[str, Any]) -> None:
    assert (
        cli("keys", "revoke", created["id"], *CONFIRMED).messages()
        == "Revoked API key 1, Backend.\n"
    )


def test_rotate_prints_the_successor_and_when_the_old_key_expires(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    rotated = cli("keys", "rotate", created["id"], *CONFIRMED, "--json").document()

    replaced, successor = listed(cli, acme)
    full = rotated["api_key"].pop("key")
    assert PlainKey.parse(full) is not None
    assert full != created["key"]
    assert rotated == {
        "api_key": {
            "id": successor["id"],
            "name": "Backend",
            "access": "read_write",
            "expires_at": successor["expires_at"],
        },
        "replaced": {"id": created["id"], "expires_at": replaced["expires_at"]},
    }


@pytest.mark.parametrize(
    ("grace", "expected"),
    [([], timedelta(hours=24)), (["--grace", "90s"], timedelta(seconds=90))],
)
def test_a_replaced_key_is_valid_for_the_grace_period(
    cli: CommandLine,
    acme: OrganizationId,
    created: dict[str, Any],
    grace: list[str],
    expected: timedelta,
) -> None:
    cli("keys", "rotate", created["id"], *CONFIRMED, *grace)

    replaced, successor = listed(cli, acme)
    end = parse_instant(replaced["expires_at"])
    assert end - parse_instant(successor["created_at"]) == expected


def test_rotate_without_json_prints_only_the_new_key_to_standard_output(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    run = cli("keys", "rotate", created["id"], *CONFIRMED)

    (key,) = run.table()
    replaced, _ = listed(cli, acme)
    assert PlainKey.parse(key) is not None
    assert run.err.splitlines()[1] == f"API key 1 is valid until {replaced['expires_at']}."
    assert key not in run.err


NO_KEY = (
    "There is no such API key in this organization. `recipient-fields keys list` shows their ids."
)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("revoke", 2), NO_KEY),
        (("rotate", 2), NO_KEY),
        (
            ("rotate", 1, "--grace", "999999999d"),
            "grace: The grace period must be 0 seconds to 7 days.",
        ),
    ],
)
def test_a_key_that_can_not_be_changed_is_reported(
    cli: CommandLine,
    acme: OrganizationId,
    created: dict[str, Any],
    command: tuple[str | int, ...],
    message: str,
) -> None:
    before = listed(cli, acme)

    assert cli("keys", *command, *CONFIRMED, "--json").failure() == message
    assert listed(cli, acme) == before


def test_a_revoked_key_is_not_rotated(cli: CommandLine, created: dict[str, Any]) -> None:
    cli("keys", "revoke", created["id"], *CONFIRMED)

    run = cli("keys", "rotate", created["id"], *CONFIRMED)

    assert run.failure() == "This API key is no longer active. Create a new one instead."


@pytest.mark.parametrize(
    ("command", "question"),
    [
        ("revoke", "Revoke API key 1, Backend ({display}), of organization 1, Acme?"),
        (
            "rotate",
            "Replace API key 1, Backend ({display}), of organization 1, Acme, and let it expire by",
        ),
    ],
)
@pytest.mark.parametrize("confirmed", [True, False])
def test_a_key_is_changed_only_if_the_reply_is_yes(
    cli: CommandLine,
    acme: OrganizationId,
    created: dict[str, Any],
    command: str,
    question: str,
    confirmed: bool,
) -> None:
    before = listed(cli, acme)
    change = ("keys", command, created["id"], "--organization", "Acme")

    run = cli(*change, reply="y\n" if confirmed else "n\n")

    assert run.err.startswith(question.format(display=before[0]["display"]))
    assert run.status == (0 if confirmed else 1)
    assert (listed(cli, acme) == before) is not confirmed


@pytest.mark.parametrize("command", ["revoke", "rotate"])
def test_a_key_is_not_changed_without_a_terminal_or_yes(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any], command: str
) -> None:
    before = listed(cli, acme)

    run = cli("keys", command, created["id"], "--organization", acme, stdin="y\n")

    assert run.failure() == NOT_CONFIRMED
    assert listed(cli, acme) == before


@pytest.mark.parametrize(
    "text", ["0", "-1", "01", "9007199254740992", "1" * 400, "1.0", "x", "", "\udcff"]
)
def test_an_invalid_id_is_a_usage_error(cli: CommandLine, text: str) -> None:
    assert "KEY_ID" in cli("keys", "revoke", *CONFIRMED, "--", text).usage_error()
