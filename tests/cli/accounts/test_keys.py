"""The commands `recipient-fields keys`."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from shlex import quote
from typing import Any

import pytest

from recipient_fields.domain import PlainKey, parse_instant

from ...http.stories import stories
from ...support.command_line import NOT_CONFIRMED
from ..stories import Commands, Story, assert_refused

CREATE = "keys create --name Backend"


@pytest.fixture
def created(commands: Commands) -> dict[str, Any]:
    """Create a key, and return it as `create` prints it."""
    return dict(commands(f"{CREATE} --json").document()["api_key"])


def listed(commands: Commands) -> list[dict[str, Any]]:
    return list(commands("keys list --json").document()["api_keys"])


def test_create_prints_the_full_key_and_its_members(created):
    full = created.pop("key")

    assert PlainKey.parse(full) is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", created.pop("expires_at"))
    assert created == {"id": 1, "name": "Backend", "access": "read_write"}


@stories(
    {
        "90 days": Story(CREATE, ("read_write", timedelta(days=90))),
        "30 seconds": Story(f"{CREATE} --expires-in 30s", ("read_write", timedelta(seconds=30))),
        "15 minutes": Story(f"{CREATE} --expires-in 15m", ("read_write", timedelta(minutes=15))),
        "12 hours": Story(f"{CREATE} --expires-in 12h", ("read_write", timedelta(hours=12))),
        "7 days": Story(f"{CREATE} --expires-in 007d", ("read_write", timedelta(days=7))),
        "unlimited": Story(f"{CREATE} --expires-in never", ("read_write", None)),
        "only for reading": Story(f"{CREATE} --read-only", ("read_only", timedelta(days=90))),
    }
)
def test_a_key_has_the_lifetime_and_the_access_of_the_options(commands, story):
    created = commands(f"{story.command} --json").document()["api_key"]

    (key,) = listed(commands)
    end = key["expires_at"]
    lifetime = None if end is None else parse_instant(end) - parse_instant(key["created_at"])
    assert (key["access"], lifetime) == story.outcome
    assert (created["access"], created["expires_at"]) == (key["access"], end)


@stories(
    {
        "a new key": Story(CREATE, "This is API key 2, valid until {1}. It is not shown again.\n"),
        "a key that does not expire": Story(
            f"{CREATE} --expires-in never",
            "This is API key 2, valid until it is revoked. It is not shown again.\n",
        ),
        "the successor of a key": Story(
            "keys rotate 1 --yes",
            "This is API key 2, valid until {1}. It is not shown again.\n"
            "API key 1 is valid until {0}.\n",
        ),
    }
)
def test_without_json_only_the_key_is_on_standard_output(commands, created, story):
    run = commands(story.command)

    (key,) = run.table()
    assert PlainKey.parse(key) is not None
    assert run.err == story.outcome.format(*(each["expires_at"] for each in listed(commands)))


def test_list_prints_every_member_and_never_the_key(commands, created):
    full = created["key"]

    (key,) = listed(commands)
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


def test_list_prints_a_table_without_the_keys(commands):
    core = commands.core
    issue = partial(core.administration.issue_key, commands.organization)
    used = issue(name="Used", lifetime=None).plain.reveal()
    core.validator.validate(used)
    core.administration.revoke_key(commands.organization, issue(name="Revoked").api_key.id)
    replaced = issue(name="Replaced").api_key.id
    core.administration.rotate_key(commands.organization, replaced, grace=timedelta())

    titles, *rows = commands("keys list").table()

    assert " ".join(titles.split()) == "ID NAME DISPLAY ACCESS STATE EXPIRES AT LAST USED AT"
    first, *others = (row.split() for row in rows)
    last_used = listed(commands)[0]["last_used_at"]
    display = f"{used[:8]}…{used[-4:]}"
    assert first == ["1", "Used", display, "read_write", "active", "never", last_used]
    assert [(row[1], row[4], row[6]) for row in others] == [
        ("Revoked", "revoked", "never"),
        ("Replaced", "expired", "never"),
        ("Replaced", "active", "never"),
    ]


def test_revoke_prints_the_revoked_key_like_list(commands, created):
    revoked = commands("keys revoke 1 --yes --json").document()

    assert revoked == {"api_key": listed(commands)[0]}
    assert revoked["api_key"]["state"] == "revoked"
    assert revoked["api_key"]["revoked_at"] is not None
    assert commands("keys revoke 1 --yes").messages() == "Revoked API key 1, Backend.\n"


def test_rotate_prints_the_successor_and_when_the_old_key_expires(commands, created):
    rotated = commands("keys rotate 1 --yes --json").document()

    replaced, successor = listed(commands)
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


@stories(
    {
        "24 hours": Story("keys rotate 1 --yes", timedelta(hours=24)),
        "90 seconds": Story("keys rotate 1 --yes --grace 90s", timedelta(seconds=90)),
    }
)
def test_a_replaced_key_is_valid_for_the_grace_period(commands, created, story):
    commands(story.command)

    replaced, successor = listed(commands)
    end = parse_instant(replaced["expires_at"])
    assert end - parse_instant(successor["created_at"]) == story.outcome


NO_KEY = (
    "There is no such API key in this organization. `recipient-fields keys list` shows their ids."
)
DURATION = "Invalid value for '--expires-in': use a duration such as 30s, 15m, 12h or 90d."
REFUSED = {
    "a key that is not found is not revoked": Story("keys revoke 2 --yes --json", (1, NO_KEY)),
    "a key that is not found is not rotated": Story("keys rotate 2 --yes --json", (1, NO_KEY)),
    "a grace period has at most 7 days": Story(
        "keys rotate 1 --yes --grace 999999999d",
        (1, "grace: The grace period must be 0 seconds to 7 days."),
    ),
    "a lifetime has at most 366 days": Story(
        f"{CREATE} --expires-in 999999999d",
        (1, "expires_in: A key expires after 1 second to 366 days, or never."),
    ),
    "a name is valid Unicode": Story("keys create --name \udcff", (1, "name: *")),
    **{
        f"{command} requires a terminal or --yes": Story(f"keys {command} 1", (1, NOT_CONFIRMED))
        for command in ("revoke", "rotate")
    },
    **{
        f"{text!a} is no duration": Story(f"{CREATE} --expires-in {quote(text)}", (2, DURATION))
        for text in (
            *("", "12x", "d", "1", "-1d", "+1d", "1.5h", "1 d", "1d ", "1d12h", "1D", "Never"),
            *("\N{ARABIC-INDIC DIGIT ONE}d", "\udcff"),
        )
    },
    **{
        f"{text!a:.20} is no id": Story(f"keys revoke --yes -- {quote(text)}", (2, "*KEY_ID*"))
        for text in ("0", "-1", "01", "9007199254740992", "1" * 400, "1.0", "x", "", "\udcff")
    },
}


@stories(REFUSED)
def test_a_refused_command_reports_the_reason_and_changes_nothing(commands, created, story):
    before = listed(commands)

    assert_refused(commands(story.command, stdin="y\n"), *story.outcome)
    assert listed(commands) == before


def test_a_revoked_key_is_not_rotated(commands, created):
    commands("keys revoke 1 --yes")

    failure = commands("keys rotate 1 --yes").failure()

    assert failure == "This API key is no longer active. Create a new one instead."


@stories(
    {
        "revoke": Story(
            "keys revoke 1", "Revoke API key 1, Backend ({}), of organization 1, Acme?"
        ),
        "rotate": Story(
            "keys rotate 1",
            "Replace API key 1, Backend ({}), of organization 1, Acme, and let it expire by",
        ),
    }
)
def test_a_key_is_changed_only_if_the_reply_is_yes(commands, created, story):
    before = listed(commands)
    question = story.outcome.format(before[0]["display"])

    for reply, status in (("n\n", 1), ("y\n", 0)):
        assert listed(commands) == before
        run = commands(story.command, reply=reply)
        assert run.err.startswith(question)
        assert run.status == status
    assert listed(commands) != before
