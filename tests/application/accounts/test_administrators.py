"""The use cases of administrators: invitations, roles, passwords, sign-in and sessions."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher

from recipient_fields.adapters.passwords import Argon2PasswordHasher
from recipient_fields.application import (
    AUDIT,
    AdministratorService,
    IssuedInvitation,
    MissingExtra,
    SignedIn,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    AdministratorShared,
    Author,
    InvalidAdministrator,
    InvitationNotFound,
    LastAdministrator,
    LinkNotValid,
    LinkPurpose,
    OrganizationId,
    OrganizationNotFound,
    PasswordHashingBusy,
    Role,
    SecretToken,
    SessionId,
    SignInFailed,
    SignInThrottled,
    StorageUnavailable,
)
from recipient_fields.testing.examples import grant

EMAIL, PASSWORD = "dana@acme.example", "seven purple tractors"
ADDRESS = "192.0.2.1"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
UNKNOWN = "A" * 43


class CountingHasher(Argon2PasswordHasher):
    """A fast hasher that counts verifications, and that can be busy."""

    def __init__(self, time_cost: int = 1) -> None:
        super().__init__(PasswordHasher(time_cost=time_cost, memory_cost=8, parallelism=1))
        self.verifications = 0
        self.busy = False
        self.busy_verifying = False

    def hash(self, password: str, /) -> str:
        if self.busy:
            raise PasswordHashingBusy(2)
        return super().hash(password)

    def verify(self, password_hash: str | None, password: str, /) -> bool:
        if self.busy_verifying:
            raise PasswordHashingBusy(2)
        self.verifications += 1
        return super().verify(password_hash, password)


@pytest.fixture
def hasher():
    return CountingHasher()


@pytest.fixture
def administrators(storage, clock, hasher):
    return AdministratorService(
        administrators=storage.administrators, sessions=storage.sessions, hasher=hasher, clock=clock
    )


@pytest.fixture
def invitation(administrators, acme) -> IssuedInvitation:
    return administrators.invite(acme, EMAIL, Role.ADMIN)


@pytest.fixture
def dana(administrators, invitation) -> SignedIn:
    return accept(administrators, invitation)


def accept(administrators, invitation, password=PASSWORD, address=ADDRESS) -> SignedIn:
    return administrators.accept_invitation(
        invitation.token.reveal(), password, address=address, user_agent="Firefox"
    )


def set_password(administrators, link, password) -> SignedIn:
    return administrators.set_password(
        link.token.reveal(), password, address=ADDRESS, user_agent=""
    )


def sign_in(administrators, email=EMAIL, password=PASSWORD, address=ADDRESS) -> SignedIn:
    return administrators.sign_in(email, password, address=address, user_agent="Firefox")


def attempts(
    count: int, address: str = ADDRESS, *, email: str = EMAIL, password: str = "wrong"
) -> list[tuple[str, str, str]]:
    """Return attempts to sign in; `{}` in an address is the number of the attempt."""
    return [(email.format(n), password, address.format(n)) for n in range(count)]


def right(address: str = ADDRESS) -> list[tuple[str, str, str]]:
    return attempts(1, address, password=PASSWORD)


OTHERS = "{}@acme.example"
THROTTLING: dict[str, list[tuple[list[tuple[str, str, str]], Any]]] = {
    "of an account at one address permits another address": [
        (attempts(5), SignInFailed),
        (right("192.0.2.2"), None),
    ],
    "of an address does not lock accounts": [
        (attempts(20, "192.0.2.2", email=OTHERS), SignInFailed),
        (attempts(101, "192.0.2.2"), SignInThrottled),
        (right(), None),
    ],
    "of addresses and an account does not lock the account": [
        (attempts(21, "192.0.2.{}")[2:] * 20, (SignInFailed, SignInThrottled)),
        (right(), None),
    ],
    "counts an IPv6 network as one address": [
        (attempts(20, "2001:db8::{}", email=OTHERS), SignInFailed),
        (right("2001:db8::ffff"), SignInThrottled),
        (right("2001:db8:0:1::1"), None),
    ],
    "counts an IPv6 network as one address of an account": [
        (attempts(5, "2001:db8::{}"), SignInFailed),
        (right("2001:db8::ffff"), SignInThrottled),
    ],
    "counts IPv4 addresses in IPv6 notation separately": [
        (attempts(21, "::ffff:192.0.2.{}", email=OTHERS), SignInFailed)
    ],
    "ends with a success": [(attempts(4), SignInFailed), (right(), None)] * 3,
    "accepts any text as an address": [
        (right("") + right("unix:") + right("fe80::1%eth0"), None),
    ],
}
"""Attempts to sign in one after another, and the error of each, or None."""


class TestInvitations:
    def test_of_an_address_that_another_organization_has_registered_open_nothing_for_it(
        self, administrators, acme, rival
    ):
        """An administrator of `acme` registers the address of a person at `rival`."""
        theirs = accept(administrators, administrators.invite(acme, EMAIL, Role.ADMIN))
        invitation = administrators.invite(rival, EMAIL, Role.ADMIN)

        for session in (theirs, sign_in(administrators)):
            found = administrators.authenticate(session.token.reveal())
            assert found.administrator.role_in(rival) is None
        with pytest.raises(SignInFailed):
            accept(administrators, invitation, "the owner's own password")
        set_password(administrators, administrators.reset(EMAIL), "nine green boats")
        assert administrators.list_administrators(rival) == ()
        owner = accept(administrators, invitation, "nine green boats")
        assert owner.administrator.role_in(rival) is Role.ADMIN
        assert administrators.authenticate(theirs.token.reveal()) is None
        with pytest.raises(SignInFailed):
            sign_in(administrators)

    def test_have_a_link_that_works_for_24_hours(self, administrators, clock, acme, invitation):
        token = invitation.token.reveal()
        assert administrators.find_invitation(token) == invitation.invitation
        assert invitation.invitation.expires_at == clock.now + 24 * HOUR
        assert administrators.list_invitations(acme) == (invitation.invitation,)
        clock.move(24 * HOUR)
        for use in (
            lambda: administrators.find_invitation(token),
            lambda: accept(administrators, invitation),
        ):
            with pytest.raises(LinkNotValid):
                use()
        assert administrators.list_invitations(acme) == (invitation.invitation,)

    def test_are_accepted_once_with_a_new_password(self, administrators, acme, invitation, dana):
        assert dana.administrator.role_in(acme) is Role.ADMIN
        assert dana.session.user_agent == "Firefox"
        assert administrators.list_invitations(acme) == ()
        with pytest.raises(LinkNotValid):
            accept(administrators, invitation)
        sign_in(administrators)

    def test_are_accepted_with_the_password_of_an_account_and_end_its_sessions(
        self, administrators, acme, rival, dana
    ):
        invitation = administrators.invite(rival, EMAIL.upper(), Role.VIEWER)
        assert administrators.authenticate(dana.token.reveal()) is not None
        both = accept(administrators, invitation)
        assert both.administrator.role_in(acme) is Role.ADMIN
        assert both.administrator.role_in(rival) is Role.VIEWER
        assert both.administrator.email.text == EMAIL
        assert administrators.authenticate(dana.token.reveal()) is None
        assert administrators.list_sessions(dana.administrator.id) == (both.session,)

    def test_are_the_same_whether_or_not_the_address_has_an_account(
        self, administrators, rival, dana
    ):
        issued = [
            administrators.invite(rival, email, Role.VIEWER)
            for email in (EMAIL.upper(), "NEW@ACME.EXAMPLE")
        ]
        for each in issued:
            assert isinstance(each, IssuedInvitation)
            with pytest.raises(InvalidAdministrator) as rejected:
                accept(administrators, each, "short", "192.0.2.2")
            assert [found.path for found in rejected.value.violations] == [("password",)]
        assert administrators.list_administrators(rival) == ()
        shown = {(each.invitation.email.text, each.invitation.id) for each in issued}
        assert shown == {(EMAIL.upper(), 2), ("NEW@ACME.EXAMPLE", 3)}

    def test_cost_the_same_calls_whether_or_not_the_address_has_an_account(
        self, administrators, storage, rival, dana, monkeypatch
    ):
        def fail(*_: object) -> None:
            raise AssertionError("reads accounts of other organizations")

        monkeypatch.setattr(storage.administrators, "find", fail)
        administrators.invite(rival, EMAIL, Role.VIEWER)

    def test_limit_attempts_at_the_password_of_an_account(
        self, administrators, rival, hasher, dana
    ):
        invitation = administrators.invite(rival, EMAIL, Role.VIEWER)
        for _ in range(5):
            with pytest.raises(SignInFailed):
                accept(administrators, invitation, "another good password")
        with pytest.raises(SignInThrottled):
            accept(administrators, invitation)
        assert hasher.verifications == 1 + 5
        accept(administrators, invitation, address="192.0.2.2")

    @pytest.mark.parametrize("has_account", [True, False])
    def test_count_no_attempt_whose_password_was_not_hashed(
        self, administrators, acme, rival, hasher, invitation, has_account
    ):
        if has_account:
            accept(administrators, invitation)
            invitation = administrators.invite(rival, EMAIL, Role.VIEWER)
        hasher.busy, hasher.busy_verifying = not has_account, has_account
        for _ in range(25):
            with pytest.raises(PasswordHashingBusy):
                accept(administrators, invitation)
        hasher.busy = hasher.busy_verifying = False
        accept(administrators, invitation)

    def test_do_not_set_the_password_of_an_account_without_one(
        self, administrators, storage, acme, rival
    ):
        """Earlier versions created accounts without a password."""
        grant(storage.administrators, acme, EMAIL)
        invitation = administrators.invite(rival, EMAIL, Role.ADMIN)
        with pytest.raises(SignInFailed):
            accept(administrators, invitation)
        set_password(administrators, administrators.reset(EMAIL), PASSWORD)
        assert administrators.list_administrators(rival) == ()
        accept(administrators, invitation)

    def test_are_not_accepted_by_links_that_sign_in_or_set_a_password(
        self, administrators, rival, dana
    ):
        administrators.invite(rival, EMAIL, Role.ADMIN)
        reset = administrators.reset(EMAIL)
        link = administrators.create_sign_in_link(dana.administrator.id)
        with pytest.raises(LinkNotValid):
            accept(administrators, link)
        sessions = [
            administrators.sign_in_with_link(link.token.reveal(), user_agent=""),
            set_password(administrators, reset, "eight orange tractors"),
        ]
        assert [each.administrator.role_in(rival) for each in sessions] == [None, None]

    def test_end_the_links_of_the_account_when_they_are_accepted(
        self, administrators, acme, rival, dana
    ):
        reset = administrators.reset_in(acme, dana.administrator.id)
        link = administrators.create_sign_in_link(dana.administrator.id)
        accept(administrators, administrators.invite(rival, EMAIL, Role.ADMIN))
        with pytest.raises(LinkNotValid):
            set_password(administrators, reset, "eight orange tractors")
        with pytest.raises(LinkNotValid):
            administrators.sign_in_with_link(link.token.reveal(), user_agent="")
        with pytest.raises(AdministratorShared):
            administrators.reset_in(acme, dana.administrator.id)

    def test_that_are_accepted_during_a_reset_prevent_its_link(
        self, administrators, storage, acme, rival, dana, monkeypatch
    ):
        add_link = storage.administrators.add_link

        def add_link_later(*arguments: Any) -> Administrator:
            monkeypatch.setattr(storage.administrators, "add_link", add_link)
            accept(administrators, administrators.invite(rival, EMAIL, Role.ADMIN))
            return add_link(*arguments)

        monkeypatch.setattr(storage.administrators, "add_link", add_link_later)
        with pytest.raises(AdministratorShared):
            administrators.reset_in(acme, dana.administrator.id)

    @pytest.mark.parametrize("has_account", [True, False])
    def test_fail_if_the_account_changes_at_the_same_time(
        self, administrators, storage, acme, rival, invitation, monkeypatch, has_account
    ):
        if has_account:
            accept(administrators, invitation)
        reset = administrators.reset(EMAIL) if has_account else None
        pending = administrators.invite(rival, EMAIL, Role.ADMIN)
        accept_invitation = storage.administrators.accept_invitation

        def accept_later(*arguments: Any) -> Administrator:
            monkeypatch.setattr(storage.administrators, "accept_invitation", accept_invitation)
            if reset is not None:
                set_password(administrators, reset, "eight orange tractors")
            else:
                accept(administrators, invitation, "eight orange tractors")
            return accept_invitation(*arguments)

        monkeypatch.setattr(storage.administrators, "accept_invitation", accept_later)
        with pytest.raises(SignInFailed):
            accept(administrators, pending)
        assert administrators.list_administrators(rival) == ()
        accept(administrators, pending, "eight orange tractors")

    def test_are_replaced_by_the_next_one_with_its_role(self, administrators, acme, invitation):
        again = administrators.invite(acme, EMAIL.upper(), Role.VIEWER)
        assert again.invitation.id == invitation.invitation.id
        with pytest.raises(LinkNotValid):
            accept(administrators, invitation)
        assert accept(administrators, again).administrator.role_in(acme) is Role.VIEWER

    def test_can_be_withdrawn(self, administrators, acme, rival, invitation):
        which = invitation.invitation.id
        assert administrators.get_invitation(acme, which) == invitation.invitation
        for call in (
            lambda: administrators.get_invitation(rival, which),
            lambda: administrators.withdraw_invitation(rival, which),
        ):
            with pytest.raises(InvitationNotFound):
                call()
        withdrawn = administrators.withdraw_invitation(acme, which)
        assert withdrawn == invitation.invitation
        with pytest.raises(LinkNotValid):
            accept(administrators, invitation)

    def test_follow_a_revocation(self, administrators, acme, invitation, dana):
        administrators.revoke(acme, dana.administrator.id)
        again = administrators.invite(acme, EMAIL, Role.VIEWER)
        assert administrators.list_administrators(acme) == ()
        with pytest.raises(SignInFailed):
            sign_in(administrators)
        accept(administrators, again, "eight orange tractors")

    def test_of_an_administrator_of_the_organization_change_the_role(
        self, administrators, acme, dana
    ):
        accept(administrators, administrators.invite(acme, "alex@x", Role.ADMIN))
        changed = administrators.invite(acme, EMAIL.upper(), Role.VIEWER)
        assert changed == dana.administrator.with_role(acme, Role.VIEWER)
        assert administrators.list_invitations(acme) == ()
        found = administrators.authenticate(dana.token.reveal())
        assert found.administrator == changed

    def test_require_a_valid_email_and_an_organization(self, administrators, acme):
        with pytest.raises(InvalidAdministrator):
            administrators.invite(acme, "dana", Role.ADMIN)
        with pytest.raises(OrganizationNotFound):
            administrators.invite(OrganizationId(99), EMAIL, Role.ADMIN)


class TestRoles:
    def test_change_for_the_next_request(self, administrators, acme, dana):
        alex = administrators.invite(acme, "alex@acme.example", Role.ADMIN)
        accept(administrators, alex)
        administrators.change_role(acme, dana.administrator.id, Role.VIEWER)
        found = administrators.authenticate(dana.token.reveal())
        assert found.administrator.role_in(acme) is Role.VIEWER

    def test_of_the_last_admin_stay(self, administrators, acme, dana):
        viewer = administrators.invite(acme, "alex@acme.example", Role.VIEWER)
        accept(administrators, viewer)
        administrators.invite(acme, "pending@acme.example", Role.ADMIN)
        which = dana.administrator.id
        for change in (
            lambda: administrators.change_role(acme, which, Role.VIEWER),
            lambda: administrators.invite(acme, EMAIL, Role.VIEWER),
            lambda: administrators.revoke(acme, which, keep_last=True),
        ):
            with pytest.raises(LastAdministrator):
                change()
        assert administrators.get_administrator(acme, which).role_in(acme) is Role.ADMIN
        administrators.revoke(acme, which)

    def test_that_are_revoked_end_the_sessions_at_once(self, administrators, acme, dana):
        administrators.revoke(acme, dana.administrator.id)
        assert administrators.authenticate(dana.token.reveal()) is None
        with pytest.raises(SignInFailed):
            sign_in(administrators)

    def test_of_another_organization_s_administrators_are_not_found(
        self, administrators, rival, dana
    ):
        which = dana.administrator.id
        for call in (
            lambda: administrators.get_administrator(rival, which),
            lambda: administrators.change_role(rival, which, Role.VIEWER),
            lambda: administrators.revoke(rival, which),
            lambda: administrators.reset_in(rival, which),
        ):
            with pytest.raises(AdministratorNotFound):
                call()


class TestPasswords:
    def test_are_set_once_by_a_link_within_24_hours_and_sign_in(self, administrators, clock, dana):
        another = "eight orange tractors"
        link = administrators.reset(EMAIL)
        assert link.expires_at == clock.now + 24 * HOUR
        found = administrators.find_link(link.token.reveal())
        assert (found.purpose, found.administrator) == (
            LinkPurpose.SET_PASSWORD,
            dana.administrator,
        )
        signed_in = set_password(administrators, link, another)
        found = administrators.authenticate(signed_in.token.reveal())
        assert found.session == signed_in.session
        with pytest.raises(LinkNotValid):
            set_password(administrators, link, PASSWORD)
        sign_in(administrators, password=another)
        late = administrators.reset(EMAIL)
        clock.move(24 * HOUR)
        with pytest.raises(LinkNotValid):
            set_password(administrators, late, PASSWORD)

    @pytest.mark.parametrize("password", ["short", EMAIL.upper(), "1qaz2wsx3edc"])
    def test_that_are_weak_are_rejected_and_keep_the_link(self, administrators, dana, password):
        link = administrators.reset(EMAIL)
        with pytest.raises(InvalidAdministrator) as rejected:
            set_password(administrators, link, password)
        assert [each.path for each in rejected.value.violations] == [("password",)]
        set_password(administrators, link, PASSWORD)

    def test_that_are_reset_end_all_sessions_and_replace_the_old_one(
        self, administrators, acme, dana
    ):
        administrators.reset(EMAIL)
        last = administrators.reset_in(acme, dana.administrator.id)
        sign_in(administrators)
        another = "eight orange tractors"
        signed_in = set_password(administrators, last, another)
        assert administrators.authenticate(dana.token.reveal()) is None
        assert administrators.list_sessions(dana.administrator.id) == (signed_in.session,)
        with pytest.raises(SignInFailed):
            sign_in(administrators)
        sign_in(administrators, password=another)

    def test_that_are_set_begin_the_count_of_attempts_again(self, administrators, dana):
        for number in range(5):
            with pytest.raises(SignInFailed):
                sign_in(administrators, password="wrong", address=f"192.0.2.{number}")
        reset = administrators.reset(EMAIL)
        set_password(administrators, reset, PASSWORD)
        sign_in(administrators)

    def test_of_unknown_accounts_can_not_be_reset(self, administrators, dana):
        with pytest.raises(AdministratorNotFound):
            administrators.reset("eve@acme.example")

    @pytest.mark.parametrize("token", ["", "x", UNKNOWN])
    def test_are_not_hashed_for_an_unknown_link(self, administrators, hasher, token):
        hasher.busy = True
        for use in (
            lambda: administrators.find_link(token),
            lambda: administrators.set_password(token, PASSWORD, address=ADDRESS, user_agent=""),
            lambda: administrators.sign_in_with_link(token, user_agent=""),
            lambda: administrators.accept_invitation(
                token, PASSWORD, address=ADDRESS, user_agent=""
            ),
        ):
            with pytest.raises(LinkNotValid):
                use()

    def test_require_the_extra(self, storage, clock, acme) -> None:
        service = AdministratorService(
            administrators=storage.administrators, sessions=storage.sessions, clock=clock
        )
        invited = service.invite(acme, EMAIL, Role.ADMIN)
        with pytest.raises(MissingExtra, match=r"recipient-fields\[console\]"):
            accept(service, invited)
        with pytest.raises(MissingExtra):
            sign_in(service)


class TestSignIn:
    def test_begins_a_session_of_a_new_token(self, administrators, dana):
        signed_in = sign_in(administrators, email=EMAIL.upper())
        assert signed_in.token.reveal() != dana.token.reveal()
        assert administrators.list_sessions(dana.administrator.id) == (
            dana.session,
            signed_in.session,
        )

    def test_with_a_link_works_once(self, administrators, dana):
        link = administrators.create_sign_in_link(dana.administrator.id)
        token = link.token.reveal()
        assert link.administrator == dana.administrator
        with pytest.raises(LinkNotValid):
            administrators.set_password(token, PASSWORD, address=ADDRESS, user_agent="")
        signed_in = administrators.sign_in_with_link(token, user_agent="")
        assert administrators.authenticate(signed_in.token.reveal()) is not None
        with pytest.raises(LinkNotValid):
            administrators.sign_in_with_link(token, user_agent="")
        reset = administrators.reset(EMAIL)
        with pytest.raises(LinkNotValid):
            administrators.sign_in_with_link(reset.token.reveal(), user_agent="")

    def test_with_a_link_requires_an_account(self, administrators):
        with pytest.raises(AdministratorNotFound):
            administrators.create_sign_in_link(AdministratorId(99))

    def test_fails_in_the_same_way_for_every_reason(self, administrators, acme, hasher, dana):
        administrators.invite(acme, "new@acme.example", Role.VIEWER)
        verified = hasher.verifications
        failures = [
            (EMAIL, "wrong"),
            (EMAIL, ""),
            (EMAIL, "x" * 1_025),
            (EMAIL, f"{PASSWORD}\0"),
            ("eve@acme.example", PASSWORD),
            ("new@acme.example", PASSWORD),
            ("new@acme.example", ""),
            ("no address", PASSWORD),
            ("", ""),
        ]
        messages = set()
        for number, (email, password) in enumerate(failures, start=1):
            with pytest.raises(SignInFailed) as failed:
                sign_in(administrators, email, password, f"192.0.2.{number}")
            messages.add(str(failed.value))
            assert hasher.verifications == verified + number
        assert len(messages) == 1

    def test_accepts_every_normal_form_of_a_password(self, administrators, invitation):
        password = "größe größe größe"
        accept(administrators, invitation, password)
        sign_in(administrators, password=password.replace("ö", "o\u0308"))

    def test_stores_a_new_hash_if_the_parameters_have_changed(
        self, administrators, storage, clock, acme, dana
    ):
        stronger = CountingHasher(time_cost=2)
        service = AdministratorService(
            administrators=storage.administrators,
            sessions=storage.sessions,
            hasher=stronger,
            clock=clock,
        )
        stronger.busy = True
        sign_in(service)
        before = storage.administrators.get(acme, dana.administrator.id)
        assert before.password_hash == dana.administrator.password_hash
        stronger.busy = False
        session = sign_in(service).session
        after = storage.administrators.get(acme, dana.administrator.id)
        assert not stronger.needs_rehash(after.password_hash)
        assert session in service.list_sessions(dana.administrator.id)
        sign_in(service)


class TestThrottling:
    @pytest.mark.parametrize(
        "addresses",
        [[ADDRESS] * 6, [*(f"192.0.2.{number}" for number in range(100)), "198.51.100.1"]],
        ids=["5 attempts per account and address", "100 attempts per account"],
    )
    def test_permits_in_15_minutes(self, administrators, clock, hasher, dana, addresses):
        *permitted, last = addresses
        for address in permitted:
            with pytest.raises(SignInFailed):
                sign_in(administrators, password="wrong", address=address)
        clock.move(MINUTE)
        with pytest.raises(SignInThrottled) as throttled:
            sign_in(administrators, EMAIL.upper(), address=last)
        assert throttled.value.retry_after == 14 * 60
        assert hasher.verifications == 1 + len(permitted)
        clock.move(14 * MINUTE)
        sign_in(administrators)

    def test_permits_20_attempts_per_address_in_15_minutes(self, administrators, clock, dana):
        for number in range(20):
            with pytest.raises(SignInFailed):
                sign_in(administrators, f"{number}@acme.example")
        with pytest.raises(SignInThrottled):
            sign_in(administrators)
        sign_in(administrators, address="192.0.2.2")
        clock.move(15 * MINUTE)
        sign_in(administrators)

    def test_counts_no_successful_attempt_of_an_address(self, administrators, dana):
        for _ in range(25):
            sign_in(administrators)
        for number in range(20):
            sign_in(administrators)
            with pytest.raises(SignInFailed):
                sign_in(administrators, f"{number}@acme.example")
        with pytest.raises(SignInThrottled):
            sign_in(administrators)

    def test_counts_attempts_in_progress(self, administrators, hasher, dana, monkeypatch):
        verify, throttled = hasher.verify, []

        def verify_after_others(*arguments: str) -> bool:
            monkeypatch.setattr(hasher, "verify", verify)
            for number in range(20):
                try:
                    sign_in(administrators, f"{number}@acme.example")
                except (SignInFailed, SignInThrottled) as refused:
                    throttled.append(isinstance(refused, SignInThrottled))
            return verify(*arguments)

        monkeypatch.setattr(hasher, "verify", verify_after_others)
        sign_in(administrators)
        assert throttled == [False] * 19 + [True]

    def test_counts_no_attempt_whose_password_was_not_checked(self, administrators, hasher, dana):
        hasher.busy_verifying = True
        for _ in range(25):
            with pytest.raises(PasswordHashingBusy):
                sign_in(administrators)
        hasher.busy_verifying = False
        sign_in(administrators)

    @pytest.mark.parametrize("story", THROTTLING.values(), ids=THROTTLING)
    def test_counts_attempts(self, administrators, dana, story):
        for step, error in story:
            for attempt in step:
                with nullcontext() if error is None else pytest.raises(error):
                    sign_in(administrators, *attempt)


class TestSessions:
    def test_record_their_use_once_per_minute(self, administrators, storage, clock, dana):
        token, began = dana.token.reveal(), clock.now
        for seconds, recorded in ((59, 0), (1, 60), (30, 60), (30, 120)):
            clock.move(timedelta(seconds=seconds))
            assert administrators.authenticate(token) is not None
            (session,) = storage.sessions.all(dana.administrator.id)
            assert session.last_used_at == began + timedelta(seconds=recorded)

    def test_stay_while_they_are_used_for_up_to_12_hours(self, administrators, clock, dana):
        token = dana.token.reveal()
        for _ in range(24):
            clock.move(29 * MINUTE)
            assert administrators.authenticate(token) is not None
        clock.move(24 * MINUTE)
        assert administrators.authenticate(token) is None

    def test_end_after_30_idle_minutes_and_are_deleted(self, administrators, storage, clock, dana):
        clock.move(30 * MINUTE)
        assert administrators.list_sessions(dana.administrator.id) == ()
        assert administrators.authenticate(dana.token.reveal()) is None
        assert storage.sessions.all(dana.administrator.id) == ()

    def test_that_have_ended_are_deleted_at_the_next_sign_in(
        self, administrators, storage, clock, dana
    ):
        clock.move(30 * MINUTE)
        signed_in = sign_in(administrators)
        assert storage.sessions.all(dana.administrator.id) == (signed_in.session,)

    @pytest.mark.parametrize("token", ["", "x", UNKNOWN, f"{UNKNOWN}\n"])
    def test_are_not_found_by_another_token(self, administrators, dana, token):
        assert administrators.authenticate(token) is None
        administrators.sign_out(token)
        assert administrators.authenticate(dana.token.reveal()) is not None

    def test_can_be_ended_one_by_one_and_all_at_once(self, administrators, dana):
        which = dana.administrator.id
        second, third, fourth = (sign_in(administrators) for _ in range(3))
        administrators.sign_out(dana.token.reveal())
        assert administrators.end_session(which, second.session.id)
        assert not administrators.end_session(which, second.session.id)
        assert administrators.list_sessions(which) == (third.session, fourth.session)
        assert administrators.end_all_sessions(which) == 2
        assert administrators.authenticate(third.token.reveal()) is None

    def test_serve_requests_while_their_use_can_not_be_recorded(
        self, administrators, storage, clock, dana, caplog, monkeypatch
    ):
        def fail(*_: object) -> None:
            raise StorageUnavailable("read-only")

        monkeypatch.setattr(storage.sessions, "record_use", fail)
        clock.move(MINUTE)
        assert administrators.authenticate(dana.token.reveal()) is not None
        assert "Can't record the use of session 1: read-only" in caplog.messages

    def test_use_a_form_once(self, administrators, dana):
        form, session = SecretToken.generate().reveal(), dana.session.id
        assert administrators.use_form(session, form)
        assert not administrators.use_form(session, form)
        assert not administrators.use_form(session, "no token")
        assert not administrators.use_form(SessionId(99), SecretToken.generate().reveal())


class TestTheAuditLog:
    def test_records_every_change_and_sign_in_without_secrets(
        self, administrators, acme, invitation, caplog
    ):
        caplog.set_level("INFO", logger=AUDIT)
        token = invitation.token.reveal()
        signed_in = accept(administrators, invitation)
        dana = administrators.by(Author(ADMINISTRATOR, name=EMAIL))
        alex = dana.invite(acme, "alex@acme.example", Role.VIEWER)
        alex = accept(administrators, alex).administrator
        withdrawn = dana.invite(acme, "kim@acme.example", Role.VIEWER)
        dana.withdraw_invitation(acme, withdrawn.invitation.id)
        sign_in(administrators)
        with pytest.raises(SignInFailed):
            sign_in(administrators, password="wrong password")
        with pytest.raises(SignInFailed):
            sign_in(administrators, email="eve@acme.example")
        dana.change_role(acme, alex.id, Role.ADMIN)
        dana.end_all_sessions(signed_in.administrator.id)
        reset = administrators.reset(EMAIL)
        set_password(administrators, reset, "eight orange tractors")
        dana.revoke(acme, alex.id)

        records = [record for record in caplog.records if record.name == AUDIT]
        assert [record.levelno for record in records] == [logging.INFO] * len(records)
        assert [record.getMessage() for record in records] == [
            (
                f"Administrator accepted an invitation: by {EMAIL}, administrator 1, email {EMAIL},"
                f" organization 1, role admin, address {ADDRESS}"
            ),
            (
                f"Administrator invited: by {EMAIL}, email alex@acme.example,"
                " organization 1, role viewer"
            ),
            (
                "Administrator accepted an invitation: by alex@acme.example, administrator 2,"
                f" email alex@acme.example, organization 1, role viewer, address {ADDRESS}"
            ),
            (
                f"Administrator invited: by {EMAIL}, email kim@acme.example,"
                " organization 1, role viewer"
            ),
            (
                f"Administrator invitation withdrawn: by {EMAIL}, email kim@acme.example,"
                " organization 1, role viewer"
            ),
            (
                f"Administrator signed in: by {EMAIL}, administrator 1, email {EMAIL},"
                f" address {ADDRESS}"
            ),
            (
                f"Administrator failed to sign in: by unknown, administrator 1, email {EMAIL},"
                f" address {ADDRESS}"
            ),
            f"Sign-in failed: by unknown, address {ADDRESS}",
            (
                f"Administrator role changed: by {EMAIL}, administrator 2, email alex@acme.example,"
                " organization 1, role admin"
            ),
            f"Administrator signed out everywhere: by {EMAIL}, administrator 1, sessions 2",
            f"Administrator reset: by operator, administrator 1, email {EMAIL}",
            f"Administrator set a password: by {EMAIL}, administrator 1, email {EMAIL}",
            (
                f"Administrator revoked: by {EMAIL}, administrator 2, email alex@acme.example,"
                " organization 1"
            ),
        ]
        logged = repr([vars(record) for record in records])
        for secret in (PASSWORD, "wrong password", token, signed_in.token.reveal(), "argon2"):
            assert secret not in logged

    def test_records_throttled_sign_ins_without_the_email(self, administrators, dana, caplog):
        for _ in range(5):
            with pytest.raises(SignInFailed):
                sign_in(administrators, password="wrong")
        caplog.set_level("INFO", logger=AUDIT)
        caplog.clear()
        with pytest.raises(SignInThrottled):
            sign_in(administrators)
        assert caplog.messages == [f"Sign-in throttled: by unknown, address {ADDRESS}"]
