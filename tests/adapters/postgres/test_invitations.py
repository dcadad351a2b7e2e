"""Invitations beside processes of the version that has none."""

from __future__ import annotations

from contextlib import closing

import pytest

from recipient_fields.adapters.postgres import PostgresStorage, migrate
from recipient_fields.domain import (
    AdministratorId,
    EmailAddress,
    LinkNotValid,
    LinkPurpose,
    Membership,
    OrganizationId,
    Role,
)
from recipient_fields.testing.examples import NOW, an_invitation_draft

from ...support.postgres import execute
from ...support.upgrading import undo_statements

DANA = EmailAddress("dana@acme.example")
ACME = "INSERT INTO organizations (name, revision, created_at) VALUES ('Acme', 1, now())"
GRANT = f"""
    INSERT INTO administrators (email, folded_email, created_at)
    VALUES ('{DANA}', '{DANA.folded}', now());
    INSERT INTO administrator_memberships VALUES (1, 1, 'viewer');
"""
"""A role that a process without invitations grants."""
LINK = f"""
    INSERT INTO administrator_links
    VALUES (1, 'set_password', '\\x{bytes(32).hex()}', '{NOW}'::timestamptz + interval '1 day')
"""


def test_roles_and_links_from_before_the_upgrade_stay(empty_database):
    migrate(empty_database)
    execute(empty_database, undo_statements()["0010_invitations"])
    execute(empty_database, ACME)
    execute(empty_database, GRANT)
    execute(empty_database, LINK)

    migrate(empty_database)

    with closing(PostgresStorage(empty_database)) as storage:
        (dana,) = storage.administrators.all(OrganizationId(1))
        assert dana.id == AdministratorId(1)
        assert dana.memberships == (Membership(OrganizationId(1), Role.VIEWER),)
        purpose = LinkPurpose.SET_PASSWORD
        dana = storage.administrators.redeem_link(bytes(32), purpose, NOW, "hash")
        assert storage.sessions.add(dana, bytes(32), NOW, "").administrator_id == dana.id


def test_a_role_that_an_old_process_grants_is_not_changed_by_an_invitation(database, storage, ours):
    draft = an_invitation_draft(DANA, role=Role.ADMIN)
    storage.administrators.invite(ours, draft)
    execute(database, GRANT)

    dana = storage.administrators.accept_invitation(ours, draft.digest, NOW, None)

    assert dana.memberships == (Membership(ours, Role.VIEWER),)
    assert storage.administrators.invitations(ours) == ()


def test_an_invitation_to_an_organization_that_an_old_process_deletes_has_no_effect(
    database, storage, ours
):
    draft = an_invitation_draft(DANA)
    storage.administrators.invite(ours, draft)
    execute(database, "DELETE FROM organizations")

    with pytest.raises(LinkNotValid):
        storage.administrators.accept_invitation(ours, draft.digest, NOW, None)
    assert storage.administrators.find(DANA) is None
