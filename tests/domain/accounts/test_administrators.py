"""Administrators: email addresses, roles, passwords, sessions and tokens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    IDLE_TIMEOUT,
    LINK_LIFETIME,
    MAX_SESSION_AGE,
    MILLISECOND,
    Administrator,
    AdministratorId,
    AdministratorShared,
    EmailAddress,
    InvalidAdministrator,
    Invitation,
    InvitationId,
    LastAdministrator,
    Membership,
    OrganizationId,
    PasswordHashingBusy,
    Role,
    Rule,
    SecretToken,
    Session,
    SessionId,
    SignInThrottled,
    clean_user_agent,
    normalize_password,
    require_password,
    require_remaining_admin,
    require_unshared,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OURS, THEIRS = OrganizationId(1), OrganizationId(2)
DANA = EmailAddress("Dana@Acme.example")


def administrator(number: int = 1, *memberships: Membership) -> Administrator:
    return Administrator(
        id=AdministratorId(number),
        email=EmailAddress(f"{number}@acme.example"),
        password_hash="$argon2id$secret",
        created_at=NOW,
        memberships=memberships or (Membership(OURS, Role.ADMIN),),
    )


class TestEmailAddresses:
    @pytest.mark.parametrize(
        "text", ["a@b", "dana@acme.example", "日本語@例え", 'o"h(a)r,a+x@[::1]', f"{'x' * 252}@b"]
    )
    def test_keep_their_spelling(self, text):
        assert str(EmailAddress(text)) == EmailAddress(f" {text}\n").text == text

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ("", Rule.BLANK),
            (" \n", Rule.BLANK),
            ("dana", Rule.FORMAT),
            ("@acme.example", Rule.FORMAT),
            ("dana@", Rule.FORMAT),
            ("a@b@c", Rule.FORMAT),
            (f"{'x' * 253}@b", Rule.TOO_LONG),
            ("da na@acme.example", Rule.INVALID_CHARACTERS),
            ("dana@acme\n.example", Rule.INVALID_CHARACTERS),
            ("dana\0@acme.example", Rule.INVALID_CHARACTERS),
            ("dana\u202e@acme.example", Rule.INVALID_CHARACTERS),
            ("dana@acme\u200b.example", Rule.INVALID_CHARACTERS),
            ("dana\u00a0@acme.example", Rule.INVALID_CHARACTERS),
            ("dana\ud800@acme.example", Rule.INVALID_CHARACTERS),
        ],
        ids=ascii,
    )
    def test_that_break_a_rule_are_rejected(self, text, rule):
        with pytest.raises(InvalidAdministrator) as rejected:
            EmailAddress(text)
        (violation,) = rejected.value.violations
        assert (violation.rule, violation.path) == (rule, ("email",))

    def test_are_equal_if_they_differ_only_in_case(self) -> None:
        for spelling in ("dana@acme.example", "DANA@ACME.EXAMPLE"):
            assert EmailAddress(spelling) == DANA
            assert hash(EmailAddress(spelling)) == hash(DANA)
        assert EmailAddress("gro\u0308ße@x") == EmailAddress("GRÖSSE@x")
        assert EmailAddress("dana@acme.examples") != DANA

    @given(st.text(max_size=300))
    def test_are_one_line_that_parses_to_itself_or_rejected(self, text):
        try:
            email = EmailAddress(text)
        except InvalidAdministrator:
            return
        assert email.text.isprintable()
        assert len(email.text) <= 254
        assert EmailAddress(email.text).text == email.text


class TestRoles:
    def test_only_admins_may_change(self) -> None:
        assert [role for role in Role if role.may_change] == [Role.ADMIN]

    def test_belong_to_organizations(self) -> None:
        dana = administrator(1).with_role(THEIRS, Role.VIEWER)
        assert dana.memberships == (
            Membership(OURS, Role.ADMIN),
            Membership(THEIRS, Role.VIEWER),
        )
        roles = [dana.role_in(each) for each in (OURS, THEIRS, OrganizationId(3))]
        assert roles == [Role.ADMIN, Role.VIEWER, None]
        assert dana.with_role(OURS, Role.VIEWER).role_in(OURS) is Role.VIEWER
        assert dana.without(THEIRS) == administrator(1)
        assert administrator(1).without(OURS) is None

    def test_an_administrator_has_memberships_in_order(self) -> None:
        ours, theirs = Membership(OURS, Role.ADMIN), Membership(THEIRS, Role.ADMIN)
        for memberships in ((), (theirs, ours), (ours, ours)):
            with pytest.raises(ValueError, match="by ascending organization"):
                attrs.evolve(administrator(), memberships=memberships)

    def test_a_change_keeps_the_last_admin(self) -> None:
        admin = administrator(1)
        viewer = administrator(2, Membership(OURS, Role.VIEWER))
        other = administrator(3, Membership(OURS, Role.VIEWER), Membership(THEIRS, Role.ADMIN))
        for after in ((), (viewer,), (viewer, other)):
            with pytest.raises(LastAdministrator):
                require_remaining_admin(OURS, (admin, viewer), after)
        require_remaining_admin(OURS, (admin, viewer), (admin,))
        require_remaining_admin(OURS, (viewer,), ())
        require_remaining_admin(OURS, (), (viewer,))

    def test_an_account_of_several_organizations_is_not_of_one_alone(self) -> None:
        own, shared = administrator(1), administrator(2).with_role(THEIRS, Role.VIEWER)
        with pytest.raises(AdministratorShared):
            require_unshared(shared)
        require_unshared(own)

    def test_an_invitation_adds_its_role_and_changes_no_other(self) -> None:
        invitation = Invitation(
            id=InvitationId(1),
            organization_id=THEIRS,
            email=DANA,
            role=Role.ADMIN,
            digest=bytes(32),
            created_at=NOW,
            expires_at=NOW + LINK_LIFETIME,
        )
        viewer = administrator(1).with_role(THEIRS, Role.VIEWER)
        assert administrator(1).joining(invitation) == administrator(1).with_role(
            THEIRS, Role.ADMIN
        )
        assert viewer.joining(invitation) == viewer
        ages = (LINK_LIFETIME - MILLISECOND, LINK_LIFETIME)
        assert [invitation.is_expired(NOW + age) for age in ages] == [False, True]

    def test_a_hash_is_not_shown(self) -> None:
        assert "secret" not in repr(administrator())
        assert administrator().has_password


def guessable(password: str, email: EmailAddress) -> bool:
    return password == "1qaz2wsx3edc" and email == DANA


class TestPasswords:
    @pytest.mark.parametrize(
        ("password", "rule"),
        [
            ("", Rule.OUT_OF_RANGE),
            ("x" * 11, Rule.OUT_OF_RANGE),
            ("x" * 1_025, Rule.TOO_LONG),
            (" " * 12, Rule.BLANK),
            ("dana@acme.example", Rule.RESERVED),
            (" DANA@ACME.EXAMPLE ", Rule.RESERVED),
            ("1qaz2wsx3edc", Rule.RESERVED),
        ],
    )
    def test_that_break_a_rule_are_rejected(self, password, rule):
        with pytest.raises(InvalidAdministrator) as rejected:
            require_password(password, DANA, is_guessable=guessable)
        (violation,) = rejected.value.violations
        assert (violation.rule, violation.path) == (rule, ("password",))

    @pytest.mark.parametrize("password", ["x" * 12, "x" * 1_024, " a b c d e f ", "😀" * 12])
    def test_may_be_anything_else(self, password):
        assert require_password(password, DANA, is_guessable=guessable) == password

    def test_are_the_same_in_every_normal_form(self) -> None:
        composed = "größe größe größe"
        decomposed = composed.replace("ö", "o\u0308")
        assert require_password(decomposed, DANA, is_guessable=guessable) == composed
        assert normalize_password(decomposed) == composed
        assert normalize_password("o\u0308" * 513) == "o\u0308" * 513


class TestSessions:
    def session(self, created_at: datetime, last_used_at: datetime) -> Session:
        return Session(
            id=SessionId(1),
            administrator_id=AdministratorId(1),
            digest=bytes(32),
            created_at=created_at,
            last_used_at=last_used_at,
            user_agent="",
        )

    def test_end_after_30_minutes_without_use(self) -> None:
        assert timedelta(minutes=30) == IDLE_TIMEOUT
        session = self.session(NOW, NOW)
        assert session.is_active(NOW)
        assert session.is_active(NOW + IDLE_TIMEOUT - MILLISECOND)
        assert not session.is_active(NOW + IDLE_TIMEOUT)

    def test_end_after_12_hours_of_use(self) -> None:
        assert timedelta(hours=12) == MAX_SESSION_AGE
        end = NOW + MAX_SESSION_AGE
        assert self.session(NOW, end - MILLISECOND).is_active(end - MILLISECOND)
        assert not self.session(NOW, end).is_active(end)

    def test_links_end_after_24_hours(self) -> None:
        assert timedelta(hours=24) == LINK_LIFETIME

    def test_a_user_agent_is_one_line_of_at_most_255_characters(self) -> None:
        assert clean_user_agent("a\r\nb\0\u2028\ud800c") == "abc"
        assert clean_user_agent("x" * 300) == "x" * 255


class TestTokens:
    def test_are_different_each_time(self) -> None:
        assert len({SecretToken.generate().reveal() for _ in range(100)}) == 100

    def test_are_found_by_their_digest(self) -> None:
        token = SecretToken.generate()
        parsed = SecretToken.parse(token.reveal())
        assert parsed is not None
        assert parsed.digest == token.digest
        assert len(token.digest) == 32

    @pytest.mark.parametrize(
        "text", ["", "x" * 42, "x" * 44, "x" * 42 + "=", "x" * 42 + "\n", "ö" * 43, "x" * 43 + "\n"]
    )
    def test_of_another_format_are_rejected(self, text):
        assert SecretToken.parse(text) is None

    def test_are_not_shown(self) -> None:
        token = SecretToken.generate()
        assert token.reveal() not in f"{token} {token!r}"


@pytest.mark.parametrize(
    ("seconds", "wait"), [(1, "1 minute."), (60, "1 minute."), (61, "2 minutes.")]
)
def test_a_throttled_sign_in_names_the_minutes_to_wait(seconds, wait):
    error = SignInThrottled(seconds)
    assert error.retry_after == seconds
    assert str(error) == f"Too many sign-in attempts. Try again in {wait}"


def test_a_busy_process_names_the_seconds_to_wait() -> None:
    assert PasswordHashingBusy(2).retry_after == 2
