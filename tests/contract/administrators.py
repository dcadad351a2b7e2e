"""Cases for each method of AdministratorRepository."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TypeAlias

import pytest
from attrs import asdict, evolve

from recipient_fields.application import (
    AdministratorRepository,
    AdministratorsCheck,
    ConsoleStorage,
    OrganizationRepository,
)
from recipient_fields.domain import (
    MILLISECOND,
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    EmailAddress,
    FoundLink,
    Invitation,
    InvitationId,
    InvitationNotFound,
    LastAdministrator,
    LinkNotValid,
    LinkPurpose,
    Membership,
    OrganizationId,
    OrganizationNotFound,
    Role,
    fold_case,
    require_remaining_admin,
)

from .assertions import exact, raising
from .concurrency import (
    ConcurrentLoad,
    assert_deleted_with,
    assert_not_kept,
    assert_one_succeeded,
    race,
)
from .examples import (
    INSTANTS,
    LATER,
    NEVER_ASSIGNED,
    NOW,
    a_digest,
    a_link,
    an_invitation_draft,
    grant,
    in_pairs,
    must_not_be_called,
    permit_change,
    permit_organization,
    set_password_hash,
    store_link,
)

Call: TypeAlias = Callable[[AdministratorRepository, OrganizationId, AdministratorId], object]

BY_ADMINISTRATOR_ID: dict[str, Call] = {
    "get": lambda each, ours, which: each.get(ours, which),
    "change_role": lambda each, ours, which: each.change_role(
        ours, which, Role.VIEWER, must_not_be_called
    ),
    "revoke": lambda each, ours, which: each.revoke(ours, which, must_not_be_called),
}
"""Every method that takes an administrator's id and raises AdministratorNotFound."""

by_administrator_id: pytest.MarkDecorator = pytest.mark.parametrize(
    "call", BY_ADMINISTRATOR_ID.values(), ids=BY_ADMINISTRATOR_ID
)

Removal: TypeAlias = Callable[
    [AdministratorRepository, OrganizationId, AdministratorId, AdministratorsCheck], object
]

REMOVALS: dict[str, Removal] = {
    "demotion": lambda each, ours, which, check: each.change_role(ours, which, Role.VIEWER, check),
    "revocation": lambda each, ours, which, check: each.revoke(ours, which, check),
}
"""Every method that takes the role `admin` from an administrator."""

EMAILS = (
    "dana@acme.example",
    "Größe@straße.example",
    "日本語@例え.example",
    'o\'hara+"x"%s:name@acme.example',
    f"{'x' * 254}@acme.example",
)


class AdministratorCases(ConcurrentLoad):
    """Cases for granting, changing and revoking the roles of administrators."""

    @in_pairs(email=EMAILS, role=Role, at=[each for each in INSTANTS if each < max(INSTANTS)])
    def test_a_new_administrator_is_stored_unchanged(
        self,
        administrators: AdministratorRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        email: str,
        role: Role,
        at: datetime,
    ) -> None:
        address = _own_address(ours, email)
        password_hash = "$argon2id$ 'hash'"  # noqa: S105 (no password)
        draft = an_invitation_draft(address, role=role, expires_at=max(INSTANTS))
        administrators.invite(ours, draft)
        added = administrators.accept_invitation(ours, draft.digest, at, password_hash)
        expected = exact(
            Administrator(
                id=added.id,
                email=address,
                password_hash=password_hash,
                created_at=at,
                memberships=(Membership(ours, role),),
            )
        )
        assert exact(added) == expected
        assert exact(administrators.get(ours, added.id)) == expected
        assert exact(administrators.find(address)) == expected
        assert exact(administrators.all(ours)) == (expected,)
        assert administrators.all(theirs) == ()

    def test_administrators_are_ordered_by_folded_email(
        self, administrators: AdministratorRepository, ours: OrganizationId
    ) -> None:
        names = ["b", "C", "a", "Ä", "z", "😀", "\ufb03", "_"]
        added = [grant(administrators, ours, f"{name}@{ours}.example") for name in names]
        expected = tuple(sorted(added, key=lambda each: each.email.folded))
        assert administrators.all(ours) == expected

    def test_an_account_is_found_without_regard_to_case(
        self, administrators: AdministratorRepository, ours: OrganizationId
    ) -> None:
        added = grant(administrators, ours, f"Größe@{ours}.Example")
        for spelling in (f"GRÖSSE@{ours}.EXAMPLE", f"gro\u0308ße@{ours}.example"):
            found = administrators.find(EmailAddress(spelling))
            assert exact(found) == exact(added)
        assert administrators.find(EmailAddress(f"groesse@{ours}.example")) is None

    def test_an_account_can_belong_to_several_organizations(
        self,
        administrators: AdministratorRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        dana: Administrator,
    ) -> None:
        both = grant(administrators, theirs, dana.email.text.upper(), Role.VIEWER)
        assert exact(both) == exact(dana.with_role(theirs, Role.VIEWER))
        for organization_id in (ours, theirs):
            assert exact(administrators.all(organization_id)) == (exact(both),)
            assert exact(administrators.get(organization_id, both.id)) == exact(both)
        assert exact(administrators.find(dana.email)) == exact(both)

    def test_memberships_are_ordered_by_the_id_of_the_organization(
        self,
        administrators: AdministratorRepository,
        organizations: OrganizationRepository,
        ours: OrganizationId,
    ) -> None:
        # In an empty storage, these ids have one or two digits, and another order as texts.
        ids = [ours, *(organizations.add("ACME", NOW).id for _ in range(10))]
        for each in reversed(ids):
            dana = grant(administrators, each, f"dana@{ours}.example")
        assert [each.organization_id for each in dana.memberships] == sorted(ids)
        assert exact(administrators.find(dana.email)) == exact(dana)

    def test_an_account_that_joins_another_organization_loses_its_links(
        self,
        administrators: AdministratorRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        dana: Administrator,
    ) -> None:
        eve = grant(administrators, ours, f"eve@{ours}.example")
        links = [store_link(administrators, dana, purpose=purpose) for purpose in LinkPurpose]
        kept = store_link(administrators, eve)
        draft = an_invitation_draft(dana.email)
        administrators.invite(theirs, draft)
        assert [administrators.find_link(each.digest, NOW) is None for each in links] == [False] * 2
        administrators.accept_invitation(theirs, draft.digest, NOW, None)
        assert [administrators.find_link(each.digest, NOW) for each in links] == [None] * 2
        assert administrators.find_link(kept.digest, NOW) is not None

    def test_a_change_of_a_role_applies_to_one_organization(
        self,
        administrators: AdministratorRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        dana: Administrator,
    ) -> None:
        both = grant(administrators, theirs, dana.email.text)
        expected = both.with_role(ours, Role.VIEWER)
        changed = administrators.change_role(ours, dana.id, Role.VIEWER, permit_change)
        assert exact(changed) == exact(expected)
        assert exact(administrators.get(theirs, dana.id)) == exact(expected)

    def test_checks_receive_the_administrators_before_and_after_the_change(
        self, administrators: AdministratorRepository, ours: OrganizationId, dana: Administrator
    ) -> None:
        passed: list[tuple[set[Administrator], set[Administrator]]] = []

        def check(before: tuple[Administrator, ...], after: tuple[Administrator, ...]) -> None:
            assert len(set(after)) == len(after)
            passed.append((set(before), set(after)))

        eve = grant(administrators, ours, f"eve@{ours}.example")
        viewer = administrators.change_role(ours, eve.id, Role.VIEWER, check)
        assert passed[-1] == ({dana, eve}, {dana, viewer})
        changed = administrators.change_role(ours, eve.id, Role.ADMIN, check)
        assert passed[-1] == ({dana, viewer}, {dana, changed})
        assert administrators.revoke(ours, eve.id, check) == changed
        assert passed[-1] == ({dana, changed}, {dana})

    def test_a_check_that_raises_stores_nothing(
        self, storage: ConsoleStorage, ours: OrganizationId, dana: Administrator
    ) -> None:
        administrators = storage.administrators
        session = storage.sessions.add(dana, bytes(31) + b"c", NOW, "")

        check = raising(LastAdministrator())
        for call in (
            partial(administrators.change_role, ours, dana.id, Role.VIEWER, check),
            partial(administrators.revoke, ours, dana.id, check),
        ):
            with pytest.raises(LastAdministrator):
                call()
        assert administrators.all(ours) == (dana,)
        assert storage.sessions.all(dana.id) == (session,)
        storage.sessions.delete_all(dana.id)

    def test_revoking_the_last_membership_deletes_the_account(
        self, storage: ConsoleStorage, ours: OrganizationId, dana: Administrator
    ) -> None:
        administrators = storage.administrators
        store_link(administrators, dana)
        session = storage.sessions.add(dana, a_digest(), NOW, "")
        assert exact(administrators.revoke(ours, dana.id, permit_change)) == exact(dana)
        assert administrators.all(ours) == ()
        assert administrators.find(dana.email) is None
        assert storage.sessions.find(session.digest) is None
        assert storage.sessions.all(dana.id) == ()
        again = grant(administrators, ours)
        assert again.id > dana.id
        assert not again.has_password

    def test_revoking_one_of_two_memberships_keeps_the_account_without_sessions(
        self,
        storage: ConsoleStorage,
        ours: OrganizationId,
        theirs: OrganizationId,
        dana: Administrator,
    ) -> None:
        administrators = storage.administrators
        both = grant(administrators, theirs, dana.email.text, Role.VIEWER)
        link = store_link(administrators, dana)
        session = storage.sessions.add(both, a_digest(), NOW, "")
        assert exact(administrators.revoke(ours, dana.id, permit_change)) == exact(both)
        kept = both.without(ours)
        assert administrators.all(ours) == ()
        assert administrators.all(theirs) == (kept,)
        assert storage.sessions.find(session.digest) is None
        found = administrators.find_link(link.digest, NOW)
        assert found is not None
        assert found.administrator == kept

    def test_deleting_an_organization_deletes_memberships_and_accounts_without_others(
        self,
        storage: ConsoleStorage,
        ours: OrganizationId,
        theirs: OrganizationId,
        dana: Administrator,
    ) -> None:
        administrators = storage.administrators
        both = grant(administrators, ours, f"both@{ours}.example")
        both = grant(administrators, theirs, both.email.text, Role.VIEWER)
        digests = [a_digest() for _ in range(2)]
        session = storage.sessions.add(both, digests[0], NOW, "")
        storage.sessions.add(dana, digests[1], NOW, "")
        store_link(administrators, dana)
        assert storage.organizations.delete(ours, permit_organization).administrators == 2
        kept = both.without(ours)
        assert administrators.all(theirs) == (kept,)
        assert administrators.find(dana.email) is None
        assert storage.sessions.all(both.id) == (session,)
        assert [storage.sessions.find(digest) is None for digest in digests] == [False, True]

    @by_administrator_id
    def test_an_id_that_was_never_assigned_has_no_administrator(
        self,
        administrators: AdministratorRepository,
        ours: OrganizationId,
        dana: Administrator,
        call: Call,
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(AdministratorNotFound):
                call(administrators, ours, AdministratorId(never_assigned))
            with pytest.raises(AdministratorNotFound):
                call(administrators, OrganizationId(never_assigned), dana.id)
            with pytest.raises(AdministratorNotFound):
                administrators.add_link(
                    a_link(dana, administrator_id=AdministratorId(never_assigned))
                )
            administrators.replace_password_hash(AdministratorId(never_assigned), "old", "new")
            assert administrators.all(ours) == (dana,)

    def test_listing_and_inviting_require_an_organization(
        self, administrators: AdministratorRepository, dana: Administrator
    ) -> None:
        for never_assigned in NEVER_ASSIGNED:
            unknown = OrganizationId(never_assigned)
            with pytest.raises(OrganizationNotFound):
                administrators.all(unknown)
            with pytest.raises(OrganizationNotFound):
                administrators.invitations(unknown)
            with pytest.raises(OrganizationNotFound):
                administrators.invite(unknown, an_invitation_draft(dana.email))

    @by_administrator_id
    def test_another_organizations_administrator_is_not_found(
        self,
        administrators: AdministratorRepository,
        theirs: OrganizationId,
        dana: Administrator,
        call: Call,
    ) -> None:
        for _ in range(2):
            with pytest.raises(AdministratorNotFound):
                call(administrators, theirs, dana.id)
            # The result is the same if the organization has an administrator.
            if not administrators.all(theirs):
                grant(administrators, theirs, f"eve@{theirs}.example")
        assert administrators.find(dana.email) == dana

    def test_one_of_several_concurrent_acceptances_creates_the_account(
        self, administrators: AdministratorRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        email = EmailAddress(f"dana@{ours}.example")
        drafts = {each: an_invitation_draft(email) for each in (ours, theirs)}
        for organization_id, draft in drafts.items():
            administrators.invite(organization_id, draft)
        outcomes = race(
            *[
                partial(
                    administrators.accept_invitation, each, drafts[each].digest, NOW, f"hash {each}"
                )
                for each in (ours, theirs) * 2
            ]
        )
        # The account has the password of the first one, so the other invitation stays.
        [created] = [each for each in outcomes if isinstance(each, Administrator)]
        refusals = {type(each) for each in outcomes if each is not created}
        assert refusals <= {LinkNotValid, AdministratorNotFound}
        assert administrators.find(email) == created
        [joined] = created.memberships
        for organization_id, draft in drafts.items():
            found = administrators.find_invitation(draft.digest, NOW)
            assert (found is None) is (organization_id == joined.organization_id)

    @pytest.mark.parametrize("other", REMOVALS.values(), ids=REMOVALS)
    @pytest.mark.parametrize("first", REMOVALS.values(), ids=REMOVALS)
    def test_one_of_two_removals_at_once_keeps_the_last_admin(
        self,
        administrators: AdministratorRepository,
        ours: OrganizationId,
        first: Removal,
        other: Removal,
    ) -> None:
        one, two = (grant(administrators, ours, f"{n}@{ours}.example") for n in range(2))
        check = keep_admin(ours)
        other_call = self._other_call(other, administrators, ours, two.id, check)
        first(administrators, ours, one.id, other_call.before(check))
        assert isinstance(other_call.result(), LastAdministrator)
        [kept] = [each for each in administrators.all(ours) if each.role_in(ours) is Role.ADMIN]
        assert kept == two

    def test_a_revocation_during_a_change_of_a_role_is_not_lost(
        self, administrators: AdministratorRepository, ours: OrganizationId, dana: Administrator
    ) -> None:
        other_call = self._other_call(administrators.revoke, ours, dana.id, permit_change)
        check = other_call.before(permit_change)
        administrators.change_role(ours, dana.id, Role.VIEWER, check)
        assert isinstance(other_call.result(), Administrator)
        assert administrators.all(ours) == ()

    def test_an_account_that_joins_and_is_revoked_concurrently_has_its_memberships(
        self, administrators: AdministratorRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        email = EmailAddress(f"dana@{ours}.example")
        for _ in range(10):
            dana = grant(administrators, ours, email.text)
            draft = an_invitation_draft(email, role=Role.VIEWER)
            administrators.invite(theirs, draft)
            joined, revoked = race(
                partial(administrators.accept_invitation, theirs, draft.digest, NOW, None),
                partial(administrators.revoke, ours, dana.id, permit_change),
            )
            assert isinstance(joined, Administrator)
            assert isinstance(revoked, Administrator)
            assert administrators.all(ours) == ()
            [kept] = administrators.all(theirs)
            assert kept.memberships == (Membership(theirs, Role.VIEWER),)
            administrators.revoke(theirs, kept.id, permit_change)


class InvitationCases:
    """Cases for pending memberships."""

    @in_pairs(email=EMAILS, role=Role, at=INSTANTS)
    def test_an_invitation_is_stored_unchanged_and_gives_no_access(
        self,
        administrators: AdministratorRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        email: str,
        role: Role,
        at: datetime,
    ) -> None:
        address = _own_address(ours, email)
        draft = an_invitation_draft(address, role=role, created_at=at, expires_at=at)
        invited = administrators.invite(ours, draft)
        assert invited is not None
        expected = exact(
            Invitation(id=invited.id, organization_id=ours, **asdict(draft, recurse=False))
        )
        assert exact(invited) == expected
        assert exact(administrators.invitations(ours)) == (expected,)
        assert administrators.invitations(theirs) == ()
        assert administrators.all(ours) == ()
        assert administrators.find(draft.email) is None

    def test_invitations_are_ordered_by_folded_email(
        self, administrators: AdministratorRepository, ours: OrganizationId
    ) -> None:
        names = ["b", "C", "a", "Ä", "z", "😀", "\ufb03", "_"]
        added = [
            administrators.invite(ours, an_invitation_draft(f"{name}@acme.example"))
            for name in names
        ]
        found = administrators.invitations(ours)
        assert set(found) == set(added)
        assert [each.email.folded for each in found] == sorted(
            f"{fold_case(name)}@acme.example" for name in names
        )

    def test_an_invitation_replaces_the_one_for_the_same_address(
        self, administrators: AdministratorRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        email = EmailAddress("Größe@acme.example")
        first, second = an_invitation_draft(email), an_invitation_draft(email)
        replaced = administrators.invite(ours, first)
        other = administrators.invite(theirs, second)
        assert replaced is not None
        draft = an_invitation_draft(
            "GRÖSSE@acme.example",
            role=Role.VIEWER,
            created_at=LATER,
            expires_at=LATER + MILLISECOND,
        )
        replacing = administrators.invite(ours, draft)
        assert replacing is not None
        assert exact(replacing) == exact(
            Invitation(id=replaced.id, organization_id=ours, **asdict(draft, recurse=False))
        )
        assert exact(administrators.invitations(ours)) == (exact(replacing),)
        assert administrators.find_invitation(first.digest, NOW) is None
        assert administrators.find_invitation(second.digest, NOW) == other

    def test_an_account_of_another_organization_is_not_changed_by_an_invitation(
        self, storage: ConsoleStorage, theirs: OrganizationId, dana: Administrator
    ) -> None:
        administrators = storage.administrators
        link = store_link(administrators, dana)
        session = storage.sessions.add(dana, a_digest(), NOW, "")
        draft = an_invitation_draft(dana.email.text.upper())
        invited = administrators.invite(theirs, draft)
        assert invited is not None
        assert invited.email.text == dana.email.text.upper()
        assert administrators.all(theirs) == ()
        with pytest.raises(AdministratorNotFound):
            administrators.get(theirs, dana.id)
        assert exact(administrators.find(dana.email)) == exact(dana)
        assert administrators.find_link(link.digest, NOW) is not None
        assert storage.sessions.find(session.digest) is not None

    def test_an_administrator_of_the_organization_is_not_invited(
        self, administrators: AdministratorRepository, ours: OrganizationId, dana: Administrator
    ) -> None:
        draft = an_invitation_draft(dana.email.text.upper(), role=Role.VIEWER)
        assert administrators.invite(ours, draft) is None
        assert administrators.invitations(ours) == ()
        assert administrators.find_invitation(draft.digest, NOW) is None
        assert exact(administrators.all(ours)) == (exact(dana),)

    def test_an_invitation_that_has_expired_is_listed_and_not_accepted(
        self, administrators: AdministratorRepository, ours: OrganizationId
    ) -> None:
        draft = an_invitation_draft("eve@acme.example", expires_at=LATER)
        invited = administrators.invite(ours, draft)
        assert administrators.find_invitation(draft.digest, LATER - MILLISECOND) == invited
        for at in (LATER, LATER + MILLISECOND):
            assert administrators.find_invitation(draft.digest, at) is None
            with pytest.raises(LinkNotValid):
                administrators.accept_invitation(ours, draft.digest, at, "hash")
        assert administrators.invitations(ours) == (invited,)
        assert administrators.all(ours) == ()

    def test_a_withdrawn_invitation_is_not_accepted(
        self, administrators: AdministratorRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        draft = an_invitation_draft("eve@acme.example")
        invited = administrators.invite(ours, draft)
        assert invited is not None
        for organization_id, invitation_id in (
            (theirs, invited.id),
            *((ours, InvitationId(each)) for each in NEVER_ASSIGNED),
        ):
            with pytest.raises(InvitationNotFound):
                administrators.withdraw_invitation(organization_id, invitation_id)
        assert exact(administrators.withdraw_invitation(ours, invited.id)) == exact(invited)
        with pytest.raises(InvitationNotFound):
            administrators.withdraw_invitation(ours, invited.id)
        assert administrators.invitations(ours) == ()
        with pytest.raises(LinkNotValid):
            administrators.accept_invitation(ours, draft.digest, NOW, "hash")
        again = administrators.invite(ours, draft)
        assert again is not None
        assert again.id > invited.id

    @pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32, b"", bytes(31), bytes(33)])
    def test_an_unknown_digest_finds_no_invitation(
        self, administrators: AdministratorRepository, ours: OrganizationId, digest: bytes
    ) -> None:
        administrators.invite(ours, an_invitation_draft("eve@acme.example"))
        assert administrators.find_invitation(digest, NOW) is None
        with pytest.raises(LinkNotValid):
            administrators.accept_invitation(ours, digest, NOW, "hash")

    def test_an_invitation_is_accepted_in_its_organization_only(
        self, administrators: AdministratorRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        draft = an_invitation_draft("eve@acme.example")
        administrators.invite(ours, draft)
        for other in (theirs, *map(OrganizationId, NEVER_ASSIGNED)):
            with pytest.raises(LinkNotValid):
                administrators.accept_invitation(other, draft.digest, NOW, "hash")
        assert administrators.find_invitation(draft.digest, NOW) is not None

    def test_an_account_accepts_with_its_password_hash_only(
        self, administrators: AdministratorRepository, theirs: OrganizationId, dana: Administrator
    ) -> None:
        dana = set_password_hash(administrators, dana, "hash")
        draft = an_invitation_draft(dana.email)
        invited = administrators.invite(theirs, draft)
        for wrong in ("other", "", None):
            with pytest.raises(AdministratorNotFound):
                administrators.accept_invitation(theirs, draft.digest, NOW, wrong)
        assert administrators.invitations(theirs) == (invited,)
        assert exact(administrators.find(dana.email)) == exact(dana)
        administrators.accept_invitation(theirs, draft.digest, NOW, "hash")
        assert administrators.invitations(theirs) == ()

    def test_an_accepted_invitation_ends_the_sessions_and_links_of_the_account(
        self,
        storage: ConsoleStorage,
        ours: OrganizationId,
        theirs: OrganizationId,
        dana: Administrator,
    ) -> None:
        administrators = storage.administrators
        eve = grant(administrators, ours, f"eve@{ours}.example")
        kept = storage.sessions.add(eve, a_digest(), NOW, "")
        ended = storage.sessions.add(dana, a_digest(), NOW, "")
        link = store_link(administrators, dana)
        both = grant(administrators, theirs, dana.email.text, Role.VIEWER)
        assert exact(both) == exact(dana.with_role(theirs, Role.VIEWER))
        assert storage.sessions.find(ended.digest) is None
        assert administrators.find_link(link.digest, NOW) is None
        assert storage.sessions.all(eve.id) == (kept,)

    def test_two_invitations_are_accepted_independently(
        self, administrators: AdministratorRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        email = EmailAddress(f"dana@{ours}.example")
        drafts = {each: an_invitation_draft(email) for each in (ours, theirs)}
        pending = {each: administrators.invite(each, draft) for each, draft in drafts.items()}
        dana = administrators.accept_invitation(ours, drafts[ours].digest, NOW, "hash")
        assert dana.memberships == (Membership(ours, Role.ADMIN),)
        assert administrators.invitations(theirs) == (pending[theirs],)
        dana = administrators.accept_invitation(theirs, drafts[theirs].digest, NOW, "hash")
        assert [each.organization_id for each in dana.memberships] == [ours, theirs]

    def test_exactly_one_concurrent_acceptance_of_an_invitation_succeeds(
        self, administrators: AdministratorRepository, ours: OrganizationId
    ) -> None:
        draft = an_invitation_draft(f"dana@{ours}.example")
        administrators.invite(ours, draft)
        accept = partial(administrators.accept_invitation, ours, draft.digest, NOW, "hash")
        winner = assert_one_succeeded(race(*[accept] * 4), Administrator, LinkNotValid)
        assert administrators.all(ours) == (winner,)

    def test_concurrent_invitations_of_an_address_leave_one(
        self, administrators: AdministratorRepository, ours: OrganizationId
    ) -> None:
        drafts = [an_invitation_draft(f"dana@{ours}.example") for _ in range(4)]
        invited = race(*[partial(administrators.invite, ours, draft) for draft in drafts])
        [last] = administrators.invitations(ours)
        assert last in invited
        assert {each.id for each in invited} == {last.id}


class LinkCases:
    """Cases for passwords and links."""

    @pytest.mark.parametrize("purpose", LinkPurpose)
    def test_a_link_is_found_until_it_expires(
        self, administrators: AdministratorRepository, dana: Administrator, purpose: LinkPurpose
    ) -> None:
        link = a_link(dana, purpose=purpose)
        assert exact(administrators.add_link(link)) == exact(dana)
        expected = FoundLink(administrator=dana, purpose=purpose, expires_at=LATER)
        for at in (NOW, LATER - MILLISECOND):
            assert exact(administrators.find_link(link.digest, at)) == exact(expected)
        for at in (LATER, LATER + MILLISECOND):
            assert administrators.find_link(link.digest, at) is None
            with pytest.raises(LinkNotValid):
                administrators.redeem_link(link.digest, purpose, at, None)

    @pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32, b"", bytes(31), bytes(33)])
    def test_an_unknown_digest_finds_no_link(
        self, administrators: AdministratorRepository, dana: Administrator, digest: bytes
    ) -> None:
        store_link(administrators, dana)
        assert administrators.find_link(digest, NOW) is None
        with pytest.raises(LinkNotValid):
            administrators.redeem_link(digest, LinkPurpose.SET_PASSWORD, NOW, "hash")

    def test_a_new_link_replaces_those_of_its_purpose(
        self, administrators: AdministratorRepository, ours: OrganizationId, dana: Administrator
    ) -> None:
        eve = grant(administrators, ours, f"eve@{ours}.example")
        links = [
            store_link(administrators, administrator, purpose=purpose)
            for administrator, purpose in (
                (dana, LinkPurpose.SET_PASSWORD),
                (dana, LinkPurpose.SIGN_IN),
                (eve, LinkPurpose.SET_PASSWORD),
                (dana, LinkPurpose.SET_PASSWORD),
            )
        ]
        found = [administrators.find_link(link.digest, NOW) is not None for link in links]
        assert found == [False, True, True, True]

    def test_a_redeemed_link_stores_the_password_and_ends_all_sessions(
        self, storage: ConsoleStorage, ours: OrganizationId, dana: Administrator
    ) -> None:
        administrators = storage.administrators
        eve = grant(administrators, ours, f"eve@{ours}.example")
        theirs = storage.sessions.add(eve, a_digest(), NOW, "")
        storage.sessions.add(dana, a_digest(), NOW, "")
        link = store_link(administrators, dana)
        password_hash = "$argon2id$ 'hash'"  # noqa: S105 (no password)
        expected = evolve(dana, password_hash=password_hash)
        redeemed = administrators.redeem_link(link.digest, link.purpose, NOW, password_hash)
        assert exact(redeemed) == exact(expected)
        assert exact(administrators.get(ours, dana.id)) == exact(expected)
        assert administrators.get(ours, eve.id) == eve
        assert storage.sessions.all(dana.id) == ()
        assert storage.sessions.all(eve.id) == (theirs,)
        assert administrators.find_link(link.digest, NOW) is None
        with pytest.raises(LinkNotValid):
            administrators.redeem_link(link.digest, link.purpose, NOW, "other")

    def test_a_link_that_is_redeemed_without_a_password_keeps_sessions_and_the_password(
        self, storage: ConsoleStorage, dana: Administrator
    ) -> None:
        administrators = storage.administrators
        dana = set_password_hash(administrators, dana, "hash")
        session = storage.sessions.add(dana, a_digest(), NOW, "")
        link = store_link(administrators, dana, purpose=LinkPurpose.SIGN_IN)
        assert administrators.redeem_link(link.digest, link.purpose, NOW, None) == dana
        assert storage.sessions.all(dana.id) == (session,)
        assert administrators.find_link(link.digest, NOW) is None

    def test_a_link_of_another_purpose_is_not_redeemed(
        self, administrators: AdministratorRepository, ours: OrganizationId, dana: Administrator
    ) -> None:
        link = store_link(administrators, dana, purpose=LinkPurpose.SIGN_IN)
        with pytest.raises(LinkNotValid):
            administrators.redeem_link(link.digest, LinkPurpose.SET_PASSWORD, NOW, "hash")
        assert administrators.find_link(link.digest, NOW) is not None
        assert administrators.all(ours) == (dana,)

    def test_exactly_one_concurrent_redemption_of_a_link_succeeds(
        self, administrators: AdministratorRepository, ours: OrganizationId, dana: Administrator
    ) -> None:
        link = store_link(administrators, dana)
        outcomes = race(
            *[
                partial(administrators.redeem_link, link.digest, link.purpose, NOW, f"hash {n}")
                for n in range(4)
            ]
        )
        winner = assert_one_succeeded(outcomes, Administrator, LinkNotValid)
        assert administrators.get(ours, dana.id) == winner

    def test_a_password_hash_is_replaced_only_if_it_is_the_expected_one(
        self, administrators: AdministratorRepository, ours: OrganizationId, dana: Administrator
    ) -> None:
        administrators.replace_password_hash(dana.id, "old", "new")
        assert administrators.get(ours, dana.id) == dana
        dana = set_password_hash(administrators, dana, "old")
        administrators.replace_password_hash(dana.id, "other", "new")
        assert administrators.get(ours, dana.id) == dana
        new = "new"
        administrators.replace_password_hash(dana.id, "old", new)
        assert administrators.get(ours, dana.id) == evolve(dana, password_hash=new)


def _own_address(organization_id: OrganizationId, email: str) -> EmailAddress:
    """Return the address with a prefix: the storage can have accounts of other cases."""
    prefix = f"{organization_id}."
    return EmailAddress(prefix + email[-(254 - len(prefix)) :])


def keep_admin(organization_id: OrganizationId) -> AdministratorsCheck:
    """Return a check that rejects changes after which the organization has no admin."""
    return partial(require_remaining_admin, organization_id)


Addition: TypeAlias = Callable[[AdministratorRepository, OrganizationId], object]

ADDITIONS: dict[str, Addition] = {
    "administrators.invite": lambda administrators, ours: administrators.invite(
        ours, an_invitation_draft("dana@acme.example")
    ),
    "administrators.accept_invitation": grant,
}
"""Every method that adds an invitation or a membership."""


class AccountConcurrencyCases(ConcurrentLoad):
    """Cases for accounts that are added while their organization is deleted."""

    @pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
    def test_an_account_added_during_the_deletion_of_its_organization_is_not_kept(
        self, storage: ConsoleStorage, ours: OrganizationId, addition: Addition
    ) -> None:
        adding = partial(addition, storage.administrators, ours)
        assert_not_kept(storage, ours, adding, self.max_wait)

    @pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
    def test_deleting_an_organization_deletes_accounts_that_are_added_concurrently(
        self, storage: ConsoleStorage, ours: OrganizationId, addition: Addition
    ) -> None:
        adding = partial(addition, storage.administrators, ours)
        assert_deleted_with(storage, ours, [adding] * self.threads)
