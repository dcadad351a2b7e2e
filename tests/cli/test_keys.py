"""The commands `recipient-fields keys`."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId, PlainKey, parse_instant

from ..support.command_line import NOT_CONFIRMED, CommandLine

UNKNOWN_ID = 9_007_199_254_740_991
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


def test_create_reports_that_a_key_never_expires(cli: CommandLine, acme: OrganizationId) -> None:
    run = cli(
        "keys", "create", "--organization", acme, "--name", "Backend", "--expires-in", "never"
    )

    assert (
        run.messages() == "This is API key 1, valid until it is revoked. It is not shown again.\n"
    )


def test_a_key_expires_after_90_days_by_default(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    (key,) = listed(cli, acme)

    assert lifetime(key) == timedelta(days=90)
    assert key["expires_at"] == created["expires_at"]


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        ("1s", timedelta(seconds=1)),
        ("30s", timedelta(seconds=30)),
        ("15m", timedelta(minutes=15)),
        ("12h", timedelta(hours=12)),
        ("007d", timedelta(days=7)),
        ("366d", timedelta(days=366)),
    ],
)
def test_a_key_expires_after_the_duration(
    cli: CommandLine, acme: OrganizationId, duration: str, expected: timedelta
) -> None:
    cli("keys", "create", "--organization", acme, "--name", "K", "--expires-in", duration)

    (key,) = listed(cli, acme)
    assert lifetime(key) == expected


def test_a_key_that_never_expires_has_no_time_of_expiry(
    cli: CommandLine, acme: OrganizationId
) -> None:
    arguments = ("keys", "create", "--organization", acme, "--name", "K", "--expires-in", "never")
    created = cli(*arguments, "--json").document()["api_key"]

    (key,) = listed(cli, acme)
    assert created["expires_at"] is None
    assert key["expires_at"] is None


@pytest.mark.parametrize("duration", ["0s", "367d", "400d", "8785h", "999999999d"])
def test_a_lifetime_outside_1_second_to_366_days_is_rejected(
    cli: CommandLine, acme: OrganizationId, duration: str
) -> None:
    run = cli("keys", "create", "--organization", acme, "--name", "K", "--expires-in", duration)

    assert run.failure() == "expires_in: A key expires after 1 second to 366 days, or never."
    assert listed(cli, acme) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12x",
        "d",
        "1",
        "-1d",
        "+1d",
        "1.5h",
        "1 d",
        "1d ",
        "1d12h",
        "1D",
        "\N{ARABIC-INDIC DIGIT ONE}d",
        "Never",
        "\udcff",
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


@pytest.mark.parametrize("name", ["", "  ", "a" * 101, "two\nlines", "\udcff"])
def test_a_name_that_is_not_one_line_of_1_to_100_characters_is_rejected(
    cli: CommandLine, acme: OrganizationId, name: str
) -> None:
    run = cli("keys", "create", "--organization", acme, "--name", name)

    assert run.failure().startswith("name: ")
    assert listed(cli, acme) == []


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


def test_no_list_shows_a_full_key(cli: CommandLine, acme: OrganizationId) -> None:
    create = ("keys", "create", "--organization", acme, "--name", "K", "--json")
    full = [cli(*create).document()["api_key"]["key"] for _ in range(3)]

    for arguments in ([], ["--json"]):
        run = cli("keys", "list", "--organization", acme, *arguments)
        assert f"{full[2][:8]}…" in run.out
        assert not [key for key in full if key in run.out + run.err]
        assert re.search(r"rfk_[0-9A-Za-z]{5}", run.out + run.err) is None


def test_list_prints_a_table_by_default(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    titles, row = cli("keys", "list", "--organization", acme).table()

    assert titles.split("  ")[0] == "ID"
    assert row.split() == [
        "1",
        "Backend",
        f"{created['key'][:8]}…{created['key'][-4:]}",
        "read_write",
        "active",
        created["expires_at"],
        "never",
    ]


def test_list_prints_the_state_and_the_last_use_of_each_key(
    cli: CommandLine, core: Core, acme: OrganizationId
) -> None:
    issue = partial(core.administration.issue_key, acme)
    used = issue(name="Used", lifetime=None).plain.reveal()
    core.validator.validate(used)
    core.administration.revoke_key(acme, issue(name="Revoked").api_key.id)
    core.administration.rotate_key(acme, issue(name="Replaced").api_key.id, grace=timedelta())

    _, *rows = (row.split() for row in cli("keys", "list", "--organization", acme).table())

    assert [(name, state, last_used) for _, name, _, _, state, _, last_used in rows] == [
        ("Used", "active", listed(cli, acme)[0]["last_used_at"]),
        ("Revoked", "revoked", "never"),
        ("Replaced", "expired", "never"),
        ("Replaced", "active", "never"),
    ]
    assert [row[5] == "never" for row in rows] == [True, False, False, False]


def test_list_prints_only_the_keys_of_the_organization(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    other = cli("organizations", "create", "Globex", "--json").document()["organization"]["id"]

    assert listed(cli, other) == []
    assert [key["id"] for key in listed(cli, acme)] == [created["id"]]


def test_revoke_prints_the_revoked_key_like_list(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    revoked = cli("keys", "revoke", created["id"], *CONFIRMED, "--json").document()

    assert revoked == {"api_key": listed(cli, acme)[0]}
    assert revoked["api_key"]["state"] == "revoked"
    assert revoked["api_key"]["revoked_at"] is not None


def test_revoking_twice_changes_nothing(cli: CommandLine, created: dict[str, Any]) -> None:
    first = cli("keys", "revoke", created["id"], *CONFIRMED, "--json").document()

    assert cli("keys", "revoke", created["id"], *CONFIRMED, "--json").document() == first


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
    [
        ([], timedelta(hours=24)),
        (["--grace", "90s"], timedelta(seconds=90)),
        (["--grace", "7d"], timedelta(days=7)),
    ],
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
    assert lifetime(successor) == timedelta(days=90)


def test_a_replaced_key_without_a_grace_period_expires_at_once(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    cli("keys", "rotate", created["id"], *CONFIRMED, "--grace", "0s")

    assert [key["state"] for key in listed(cli, acme)] == ["expired", "active"]


def test_rotate_without_json_prints_only_the_new_key_to_standard_output(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    run = cli("keys", "rotate", created["id"], *CONFIRMED)

    (key,) = run.table()
    replaced, _ = listed(cli, acme)
    assert PlainKey.parse(key) is not None
    assert run.err.splitlines()[1] == f"API key 1 is valid until {replaced['expires_at']}."
    assert key not in run.err


@pytest.mark.parametrize("grace", ["169h", "8d", "999999999d"])
def test_a_grace_period_over_7_days_is_rejected(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any], grace: str
) -> None:
    run = cli("keys", "rotate", created["id"], *CONFIRMED, "--grace", grace)

    assert run.failure() == "grace: The grace period must be 0 seconds to 7 days."
    assert len(listed(cli, acme)) == 1


@pytest.mark.parametrize("grace", ["never", "", "1", "-1s"])
def test_an_invalid_grace_period_is_a_usage_error(
    cli: CommandLine, created: dict[str, Any], grace: str
) -> None:
    run = cli("keys", "rotate", created["id"], *CONFIRMED, "--grace", grace)

    assert "use a duration" in run.usage_error()


def test_a_revoked_key_can_not_be_rotated(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any]
) -> None:
    cli("keys", "revoke", created["id"], *CONFIRMED)

    run = cli("keys", "rotate", created["id"], *CONFIRMED, "--json")

    assert run.failure() == "This API key is no longer active. Create a new one instead."
    assert len(listed(cli, acme)) == 1


NO_KEY = "There is no such API key in this organization."


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("command", ["revoke", "rotate"])
def test_a_key_that_does_not_exist_is_reported(cli: CommandLine, command: str) -> None:
    assert cli("keys", command, UNKNOWN_ID, *CONFIRMED, "--json").failure() == NO_KEY


@pytest.mark.parametrize("command", ["revoke", "rotate"])
def test_a_key_of_another_organization_is_not_found(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any], command: str
) -> None:
    other = cli("organizations", "create", "Globex", "--json").document()["organization"]["id"]
    before = listed(cli, acme)

    run = cli("keys", command, created["id"], "--organization", other, "--yes")

    assert run.failure() == NO_KEY
    assert listed(cli, acme) == before


@pytest.mark.parametrize("command", ["revoke", "rotate"])
def test_a_change_of_a_key_requires_the_organization(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any], command: str
) -> None:
    before = listed(cli, acme)

    run = cli("keys", command, created["id"], "--yes")

    assert run.usage_error().startswith("Missing option '--organization'.")
    assert listed(cli, acme) == before


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
@pytest.mark.parametrize("reply", ["y\n", "n\n", "\n", ""])
def test_a_key_is_changed_only_if_the_reply_is_yes(
    cli: CommandLine,
    acme: OrganizationId,
    created: dict[str, Any],
    command: str,
    question: str,
    reply: str,
) -> None:
    before = listed(cli, acme)

    run = cli("keys", command, created["id"], "--organization", "Acme", reply=reply)

    assert run.err.startswith(question.format(display=before[0]["display"]))
    if reply == "y\n":
        assert run.status == 0
        assert listed(cli, acme)[0] != before[0]
    else:
        assert (run.status, run.out) == (1, "")
        assert run.err.endswith("Aborted!\n")
        assert listed(cli, acme) == before


@pytest.mark.parametrize("command", ["revoke", "rotate"])
def test_a_key_is_not_changed_without_a_terminal_or_yes(
    cli: CommandLine, acme: OrganizationId, created: dict[str, Any], command: str
) -> None:
    before = listed(cli, acme)

    run = cli("keys", command, created["id"], "--organization", acme, stdin="y\n")

    assert run.failure() == NOT_CONFIRMED
    assert listed(cli, acme) == before


@pytest.mark.parametrize("command", ["create", "list"])
def test_an_organization_that_does_not_exist_is_reported(cli: CommandLine, command: str) -> None:
    cli("migrate")

    name = ["--name", "K"] if command == "create" else []

    run = cli("keys", command, "--organization", UNKNOWN_ID, *name)

    assert run.failure().startswith(f"There is no organization {UNKNOWN_ID}.")


@pytest.mark.parametrize(
    "text", ["0", "-1", "01", "9007199254740992", "1" * 400, "1.0", "x", "", "\udcff"]
)
def test_an_invalid_id_is_a_usage_error(cli: CommandLine, text: str) -> None:
    assert "KEY_ID" in cli("keys", "revoke", *CONFIRMED, "--", text).usage_error()
