"""API keys: format, redaction, lifetime and rotation."""

from __future__ import annotations

import copy
import json
import logging
import string
import traceback
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from zlib import crc32

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.application import IssuedKey
from recipient_fields.domain import (
    DEFAULT_GRACE_PERIOD,
    DEFAULT_LIFETIME,
    MAX_GRACE_PERIOD,
    MAX_LIFETIME,
    MILLISECOND,
    MIN_LIFETIME,
    Access,
    ApiKeyId,
    ApiKeyNotActive,
    Credential,
    InsufficientAccess,
    KeyState,
    OrganizationId,
    PlainKey,
    grant_key,
    redact_keys,
)

EXAMPLE = "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"
BASE_62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
ACME = OrganizationId(1)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def parsed(text: str) -> PlainKey:
    key = PlainKey.parse(text)
    assert key is not None
    return key


def issued_key(key: PlainKey) -> IssuedKey:
    grant = grant_key(
        key,
        ACME,
        name="Backend",
        access=Access.READ_WRITE,
        lifetime=DAY,
        at=datetime(2026, 11, 20, tzinfo=UTC),
    )
    return IssuedKey(grant.with_id(ApiKeyId(1)), key)


def with_checksum(text):
    rest, digits = crc32(text.encode()), ""
    while rest:
        rest, digit = divmod(rest, 62)
        digits = BASE_62[digit] + digits
    return text + digits.rjust(6, "0")


@pytest.fixture
def granted(noon):
    def grant(**members):
        usual = {"name": "Backend", "access": Access.READ_WRITE, "lifetime": DAY, "at": noon}
        return grant_key(PlainKey.generate(), ACME, **{**usual, **members})

    return grant


@pytest.fixture
def issued(granted):
    return lambda **members: granted(**members).with_id(ApiKeyId(1))


class TestTheFormat:
    def test_accepts_the_example_of_the_contract(self):
        assert parsed(EXAMPLE).reveal() == EXAMPLE

    def test_matches_a_generated_key(self):
        text = PlainKey.generate().reveal()
        assert text.startswith("rfk_")
        assert len(text) == len(EXAMPLE)
        assert set(text[4:]) <= set(BASE_62)

    def test_ends_with_the_checksum_in_base_62(self):
        text = PlainKey.generate().reveal()
        assert text == with_checksum(text[:36])

    def test_of_a_generated_key_can_be_parsed(self):
        keys = [PlainKey.generate() for _ in range(100)]
        assert [parsed(key.reveal()).digest for key in keys] == [key.digest for key in keys]

    def test_generates_no_key_twice(self):
        assert len({PlainKey.generate().reveal() for _ in range(1_000)}) == 1_000

    def test_rejects_every_mistyped_character(self):
        typed = {
            EXAMPLE[:place] + chr(code) + EXAMPLE[place + 1 :]
            for place in range(len(EXAMPLE))
            for code in range(256)
        }
        assert [each for each in typed if PlainKey.parse(each) is not None] == [EXAMPLE]

    @given(place=st.integers(0, len(EXAMPLE) - 1), character=st.characters(codec=None))
    def test_rejects_a_mistyped_character_in_any_generated_key(self, place, character):
        text = PlainKey.generate().reveal()
        typed = text[:place] + character + text[place + 1 :]
        assert (PlainKey.parse(typed) is None) is (typed != text)

    def test_rejects_swapped_characters(self):
        swapped = {
            EXAMPLE[:place] + EXAMPLE[place + 1] + EXAMPLE[place] + EXAMPLE[place + 2 :]
            for place in range(len(EXAMPLE) - 1)
        }
        accepted = [each for each in swapped if PlainKey.parse(each) is not None]
        assert accepted == [EXAMPLE] * (EXAMPLE in swapped)

    @pytest.mark.parametrize(
        "text",
        [
            *("", "rfk_", EXAMPLE[:-1], EXAMPLE + "A", EXAMPLE + "\n", " " + EXAMPLE, EXAMPLE[4:]),
            *(EXAMPLE.upper(), EXAMPLE.lower(), EXAMPLE + "\0", "Bearer " + EXAMPLE, EXAMPLE * 2),
            *(EXAMPLE.replace("1", "\u0661"), EXAMPLE.replace("A", "\uff21"), "\ud800" * 42),
        ],
        ids=ascii,
    )
    def test_rejects_any_other_text(self, text):
        assert PlainKey.parse(text) is None

    @pytest.mark.parametrize(
        "text", ["", "rfk_", "rfk_" + "0" * 31, "rfk_" + "0" * 33, "RFK_" + "0" * 32, "0" * 36]
    )
    def test_rejects_another_length_or_prefix_even_with_the_right_checksum(self, text):
        assert PlainKey.parse(with_checksum("rfk_" + "0" * 32)) is not None
        assert PlainKey.parse(with_checksum(text)) is None

    @given(st.text(st.characters(codec=None)) | st.text(BASE_62, min_size=38, max_size=38))
    def test_rejects_arbitrary_text(self, text):
        assert PlainKey.parse(text) is None
        assert PlainKey.parse("rfk_" + text) is None


class TestAPlainKey:
    def test_has_its_sha_256_as_digest(self):
        assert parsed(EXAMPLE).digest == sha256(EXAMPLE.encode()).digest()

    def test_is_displayed_with_its_first_and_last_characters(self):
        assert parsed(EXAMPLE).display == "rfk_0123…uoEA"

    @pytest.mark.parametrize(
        "show",
        [
            *(repr, str, format, ascii, "{}".format, "{!r:>60}".format, "%s".__mod__),
            *("%r".__mod__, lambda key: f"{[key]}", lambda key: json.dumps([key], default=str)),
            *(lambda key: repr(issued_key(key)), lambda key: repr(copy.copy(key))),
            *(lambda key: str(attrs.asdict(issued_key(key))), dir),
            *(lambda key: str(attrs.astuple(issued_key(key))), lambda key: repr({key: key})),
        ],
    )
    def test_is_not_revealed_by_formatting(self, show):
        assert EXAMPLE[8:-4] not in str(show(PlainKey.parse(EXAMPLE)))

    @pytest.mark.parametrize("open_up", [vars, attrs.asdict, attrs.fields_dict, json.dumps, iter])
    def test_can_not_be_serialized(self, open_up):
        with pytest.raises((TypeError, attrs.exceptions.NotAnAttrsClassError)):
            open_up(PlainKey.parse(EXAMPLE))

    def test_is_not_in_a_traceback_that_shows_variables(self):
        key = PlainKey.generate()
        try:
            issued = issued_key(key)
            raise ValueError(issued, key)  # noqa: TRY301
        except ValueError as error:
            shown = traceback.TracebackException.from_exception(error, capture_locals=True)
        text = "".join(shown.format())
        assert "<PlainKey rfk_" in text
        assert key.reveal()[8:-4] not in text

    def test_is_not_in_a_log(self, caplog):
        key = PlainKey.generate()
        logging.getLogger("test").warning("issued %s %r", key, key)
        assert key.reveal() not in caplog.text

    def test_is_not_in_what_is_stored(self):
        plain = PlainKey.generate()
        stored = issued_key(plain).api_key
        assert plain.reveal() not in str(attrs.asdict(stored))
        assert repr(plain.digest) not in repr(stored)

    def test_equals_only_itself(self):
        assert PlainKey.parse(EXAMPLE) != PlainKey.parse(EXAMPLE)


class TestAGrant:
    def test_has_a_trimmed_name(self, granted):
        assert granted(name=" Cafe\u0301 ").name == "Caf\u00e9"

    def test_has_a_name_of_up_to_100_characters(self, granted):
        assert len(granted(name="n" * 100).name) == 100

    @pytest.mark.parametrize(
        ("name", "rule"),
        [
            ("", "blank"),
            (" \n", "blank"),
            ("n" * 101, "too_long"),
            ("a\nb", "invalid_characters"),
            ("a\0b", "invalid_characters"),
            ("a\u2028b", "invalid_characters"),
            ("a\ud800b", "invalid_characters"),
        ],
        ids=ascii,
    )
    def test_with_an_invalid_name_is_rejected(self, name, rule, granted, raises_violations):
        with raises_violations(f"name: {rule}"):
            granted(name=name)

    @pytest.mark.parametrize("lifetime", [MIN_LIFETIME, DEFAULT_LIFETIME, MAX_LIFETIME])
    def test_expires_after_its_lifetime(self, lifetime, granted, noon):
        assert granted(lifetime=lifetime).expires_at == noon + lifetime

    def test_without_a_lifetime_never_expires(self, granted):
        assert granted(lifetime=None).expires_at is None

    @pytest.mark.parametrize(
        "lifetime",
        [
            *(timedelta(), -DAY, timedelta.min, timedelta.max),
            *(MIN_LIFETIME - timedelta.resolution, MAX_LIFETIME + timedelta.resolution),
        ],
        ids=str,
    )
    def test_with_an_invalid_lifetime_is_rejected(self, lifetime, granted, raises_violations):
        with raises_violations("expires_in: out_of_range"):
            granted(lifetime=lifetime)

    def test_expires_at_a_whole_millisecond(self, granted, noon):
        assert granted(lifetime=SECOND + timedelta(microseconds=999)).expires_at == noon + SECOND

    def test_has_times_in_whole_milliseconds_for_any_clock(self, issued, granted, noon):
        finer = noon + timedelta(microseconds=999)
        assert granted(at=finer).created_at == noon
        key = attrs.evolve(issued(), last_used_at=finer, revoked_at=finer)
        assert (key.last_used_at, key.revoked_at) == (noon, noon)

    def test_has_an_access_with_one_of_these_stored_names(self):
        assert [access.value for access in Access] == ["read_write", "read_only"]

    def test_has_the_limits_of_the_contract(self):
        assert timedelta(seconds=1) == MIN_LIFETIME
        assert timedelta(days=90) == DEFAULT_LIFETIME
        assert timedelta(days=366) == MAX_LIFETIME
        assert timedelta(hours=24) == DEFAULT_GRACE_PERIOD
        assert timedelta(days=7) == MAX_GRACE_PERIOD

    def test_is_neither_used_nor_revoked_when_stored(self, granted):
        key = granted().with_id(ApiKeyId(5))
        assert (key.id, key.last_used_at, key.revoked_at) == (5, None, None)

    def test_has_a_credential_with_the_display_of_the_presented_key(self, granted):
        plain = PlainKey.generate()
        credential = granted().with_id(ApiKeyId(5)).to_found_key(7).to_credential(plain)
        assert credential == Credential(ACME, ApiKeyId(5), Access.READ_WRITE)
        assert (credential.catalog_revision, credential.key_display) == (7, plain.display)


class TestAKey:
    @pytest.mark.parametrize(
        ("lifetime", "age", "state"),
        [
            (DAY, timedelta(), KeyState.ACTIVE),
            (DAY, DAY - MILLISECOND, KeyState.ACTIVE),
            (DAY, DAY, KeyState.EXPIRED),
            (DAY, DAY + MILLISECOND, KeyState.EXPIRED),
            (None, 10_000 * DAY, KeyState.ACTIVE),
        ],
    )
    def test_is_active_before_its_expiry_if_it_has_one(self, lifetime, age, state, issued, noon):
        assert issued(lifetime=lifetime).state(noon + age) is state

    @pytest.mark.parametrize("age", [-DAY, timedelta(), 2 * DAY])
    def test_is_revoked_at_any_time_after_a_revocation(self, age, issued, noon):
        assert issued().revoked(noon).state(noon + age) is KeyState.REVOKED

    def test_is_revoked_once(self, issued, noon):
        revoked = issued().revoked(noon)
        assert revoked.revoked_at == noon
        assert revoked.revoked(noon + DAY) is revoked

    def test_takes_only_the_expiry_and_the_revocation_from_a_change(self, issued, noon):
        key = issued(lifetime=30 * DAY)
        changed = attrs.evolve(key, name="Other", access=Access.READ_ONLY, expires_at=noon + DAY)
        ended = key.with_validity_of(changed.revoked(noon + SECOND))
        assert (ended.expires_at, ended.revoked_at) == (noon + DAY, noon + SECOND)
        assert attrs.evolve(ended, expires_at=key.expires_at, revoked_at=None) == key

    def test_with_write_access_may_write(self):
        Credential(ACME, ApiKeyId(1), Access.READ_WRITE).require_write()

    def test_with_read_access_may_not_write(self):
        with pytest.raises(InsufficientAccess):
            Credential(ACME, ApiKeyId(1), Access.READ_ONLY).require_write()


class TestARotation:
    def test_creates_a_successor_with_the_same_access_and_lifetime(self, issued, noon):
        key, plain = issued(lifetime=30 * DAY, access=Access.READ_ONLY), PlainKey.generate()
        _, grant = key.rotated(plain, at=noon + DAY, grace=DEFAULT_GRACE_PERIOD)
        assert (grant.name, grant.access, grant.organization_id) == (key.name, key.access, ACME)
        assert (grant.created_at, grant.expires_at) == (noon + DAY, noon + 31 * DAY)
        assert (grant.digest, grant.display) == (plain.digest, plain.display)

    @pytest.mark.parametrize(
        "grace", [timedelta(), SECOND, DEFAULT_GRACE_PERIOD, MAX_GRACE_PERIOD], ids=str
    )
    @pytest.mark.parametrize("lifetime", [90 * DAY, None])
    def test_keeps_the_old_key_valid_for_the_grace_period(self, grace, lifetime, issued, noon):
        old, _ = issued(lifetime=lifetime).rotated(PlainKey.generate(), at=noon, grace=grace)
        assert old.expires_at == noon + grace
        assert old.state(noon + grace) is KeyState.EXPIRED
        assert old.state(noon + grace - MILLISECOND) is KeyState.ACTIVE

    def test_never_extends_the_lifetime_of_the_old_key(self, issued, noon):
        key = issued(lifetime=DAY)
        assert key.rotated(PlainKey.generate(), at=noon, grace=MAX_GRACE_PERIOD)[0] is key

    @pytest.mark.parametrize(
        "grace",
        [-timedelta.resolution, -DAY, MAX_GRACE_PERIOD + timedelta.resolution, timedelta.max],
        ids=str,
    )
    def test_with_an_invalid_grace_period_is_rejected(self, grace, issued, noon, raises_violations):
        with raises_violations("grace: out_of_range"):
            issued().rotated(PlainKey.generate(), at=noon, grace=grace)

    def test_of_a_revoked_or_expired_key_is_rejected(self, issued, noon):
        for key, at in ((issued().revoked(noon), noon), (issued(lifetime=DAY), noon + DAY)):
            with pytest.raises(ApiKeyNotActive):
                key.rotated(PlainKey.generate(), at=at, grace=DEFAULT_GRACE_PERIOD)

    @pytest.mark.parametrize("age", [timedelta(), 367 * DAY, 4_000 * DAY], ids=str)
    def test_of_a_key_that_never_expires_creates_one_that_never_expires(self, age, issued, noon):
        _, grant = issued(lifetime=None).rotated(
            PlainKey.generate(), at=noon + age, grace=DEFAULT_GRACE_PERIOD
        )
        assert grant.expires_at is None

    @given(st.data())
    def test_can_be_repeated_while_the_old_key_is_active(self, data):
        lifetime = data.draw(st.none() | st.timedeltas(MIN_LIFETIME, MAX_LIFETIME))
        at = data.draw(
            st.datetimes(timezones=st.just(UTC)).filter(lambda at: 1970 < at.year < 2100)
        )
        plain = PlainKey.generate()
        grant = grant_key(
            plain, ACME, name="Backend", access=Access.READ_WRITE, lifetime=lifetime, at=at
        )
        key = grant.with_id(ApiKeyId(1))
        for _ in range(data.draw(st.integers(1, 5))):
            at += data.draw(st.timedeltas(timedelta(), 500 * DAY))
            if key.state(at) is KeyState.ACTIVE:
                key, grant = key.rotated(
                    plain, at=at, grace=data.draw(st.timedeltas(timedelta(), MAX_GRACE_PERIOD))
                )
                assert grant.with_id(ApiKeyId(2)).state(at) is KeyState.ACTIVE

    def test_in_the_grace_period_of_a_key_without_expiry_creates_one_with_the_longest_lifetime(
        self, issued, noon
    ):
        late = noon + 400 * DAY
        old, _ = issued(lifetime=None).rotated(PlainKey.generate(), at=late, grace=DAY)
        _, grant = old.rotated(PlainKey.generate(), at=late + SECOND, grace=DAY)
        assert grant.expires_at == late + SECOND + MAX_LIFETIME


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        *((EXAMPLE, "[API key]"), (EXAMPLE[:-1] + "B", "[API key]"), (EXAMPLE[:9], "[API key]")),
        *((EXAMPLE[:8], EXAMPLE[:8]), ("rfk_", "rfk_"), (EXAMPLE[4:], EXAMPLE[4:])),
    ],
)
def test_complete_mistyped_and_truncated_keys_are_redacted(key, shown):
    assert redact_keys(f"<{key}> and {key}.") == f"<{shown}> and {shown}."
