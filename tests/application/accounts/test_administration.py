"""The use cases of organizations and API keys."""

from __future__ import annotations

from datetime import timedelta

import pytest
from attrs import evolve

from recipient_fields.application import AUDIT
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    ApiKeyNotFound,
    Author,
    Credential,
    InvalidApiKey,
    KeyState,
    OrganizationChanged,
    OrganizationContents,
    OrganizationId,
    OrganizationNotFound,
    PlainKey,
    Rejection,
)

UNKNOWN_ORGANIZATION = OrganizationId(404)
EMPTY = OrganizationContents(fields=0, api_keys=0, integrations=0, administrators=0)
SECOND, DAY, WEEK = timedelta(seconds=1), timedelta(days=1), timedelta(days=7)
TICK = timedelta.resolution


@pytest.fixture
def issue(administration, acme):
    return lambda **members: administration.issue_key(acme, **{"name": "Backend", **members})


class TestOrganizations:
    def test_are_created_with_an_empty_catalog(self, administration, service, clock):
        acme = administration.create_organization(" Acme ")
        assert (acme.name, acme.created_at) == ("Acme", clock.now)
        assert service.list_fields(acme.id).fields == ()

    def test_can_be_renamed(self, administration, acme, clock):
        before = administration.get_organization(acme)
        clock.move(DAY)
        assert administration.rename_organization(acme, " Globex ") == evolve(before, name="Globex")
        assert administration.get_organization(acme).name == "Globex"

    @pytest.mark.parametrize(
        "call",
        [
            lambda service, organization: service.get_organization(organization),
            lambda service, organization: service.rename_organization(organization, "Globex"),
            lambda service, organization: service.delete_organization(organization),
            lambda service, organization: service.delete_organization(organization, expected=EMPTY),
        ],
        ids=["get", "rename", "delete", "delete expecting"],
    )
    def test_that_do_not_exist_are_not_found(self, call, administration, acme):
        with pytest.raises(OrganizationNotFound):
            call(administration, UNKNOWN_ORGANIZATION)
        assert [each.id for each in administration.list_organizations()] == [acme]


class TestDeletingAnOrganization:
    def test_deletes_its_keys_and_keeps_those_of_others(
        self, issue, administration, validator, acme, rival
    ):
        ours, theirs = issue(), administration.issue_key(rival, name="Backend")
        deleted = administration.delete_organization(acme)
        assert deleted == evolve(EMPTY, api_keys=1)
        assert isinstance(validator.validate(ours.plain.reveal()), Rejection)
        assert isinstance(validator.validate(theirs.plain.reveal()), Credential)

    def test_with_the_expected_contents_deletes_it(self, issue, administration, acme):
        issue()
        expected = evolve(EMPTY, api_keys=1)
        assert administration.delete_organization(acme, expected=expected) == expected
        assert administration.list_organizations() == ()

    def test_with_other_contents_than_expected_deletes_nothing(self, issue, administration, acme):
        issued = issue()
        with pytest.raises(OrganizationChanged):
            administration.delete_organization(acme, expected=EMPTY)
        assert administration.list_keys(acme) == (issued.api_key,)


class TestIssuingAKey:
    def test_creates_a_key_that_expires_after_90_days_by_default(self, issue, clock):
        assert issue().api_key.expires_at == clock.now + 90 * DAY

    def test_creates_a_key_that_can_read_and_write_by_default(self, issue):
        assert issue().api_key.access is Access.READ_WRITE
        assert issue(access=Access.READ_ONLY).api_key.access is Access.READ_ONLY

    def test_creates_a_key_that_never_expires_without_a_lifetime(self, issue):
        assert issue(lifetime=None).api_key.expires_at is None

    def test_returns_the_full_key_and_stores_its_digest(self, issue, storage):
        issued = issue()
        assert PlainKey.parse(issued.plain.reveal()) is not None
        assert storage.api_keys.find(issued.plain.digest).id == issued.api_key.id
        assert issued.plain.reveal() not in f"{issued!r} {issued}"

    def test_with_an_invalid_name_stores_nothing(self, issue, administration, acme):
        with pytest.raises(InvalidApiKey):
            issue(name="")
        assert administration.list_keys(acme) == ()

    def test_for_an_unknown_organization_is_rejected(self, administration):
        with pytest.raises(OrganizationNotFound):
            administration.issue_key(UNKNOWN_ORGANIZATION, name="Backend")


class TestFindingAKey:
    def test_returns_a_key_of_the_organization(self, issue, administration, acme):
        issued = issue()
        assert administration.get_key(acme, issued.api_key.id) == issued.api_key

    @pytest.mark.parametrize(
        "call",
        [
            lambda service, organization, which: service.get_key(organization, which),
            lambda service, organization, which: service.revoke_key(organization, which),
            lambda service, organization, which: service.rotate_key(organization, which),
        ],
        ids=["get", "revoke", "rotate"],
    )
    def test_of_another_organization_finds_nothing_and_changes_nothing(
        self, call, issue, administration, acme, rival
    ):
        key = issue().api_key
        for organization in (rival, UNKNOWN_ORGANIZATION):
            with pytest.raises(ApiKeyNotFound):
                call(administration, organization, key.id)
        assert administration.list_keys(acme) == (key,)


class TestRevokingAKey:
    def test_takes_effect_at_once(self, issue, administration, validator, clock, acme):
        issued = issue()
        revoked = administration.revoke_key(acme, issued.api_key.id)
        assert (revoked.revoked_at, revoked.state(clock.now)) == (clock.now, KeyState.REVOKED)
        assert isinstance(validator.validate(issued.plain.reveal()), Rejection)

    def test_twice_changes_nothing(self, issue, administration, clock, acme):
        key_id = issue().api_key.id
        revoked = administration.revoke_key(acme, key_id)
        clock.move(DAY)
        assert administration.revoke_key(acme, key_id) == revoked


class TestRotatingAKey:
    def test_creates_a_successor_of_the_same_kind(self, issue, administration, acme, clock):
        old = issue(access=Access.READ_ONLY, lifetime=30 * DAY).api_key
        clock.move(DAY)
        successor, _ = administration.rotate_key(acme, old.id)
        new = successor.api_key
        assert (new.name, new.access, new.organization_id) == (old.name, old.access, acme)
        assert new.expires_at == clock.now + 30 * DAY
        assert new.id != old.id

    def test_leaves_both_keys_valid_for_24_hours(
        self, issue, administration, validator, clock, acme
    ):
        old = issue()
        new, replaced = administration.rotate_key(acme, old.api_key.id)
        assert replaced.expires_at == clock.now + DAY
        clock.move(DAY - SECOND)
        assert validator.validate(old.plain.reveal()) == old.api_key.to_found_key(0).to_credential(
            old.plain
        )
        clock.move(SECOND)
        assert isinstance(validator.validate(old.plain.reveal()), Rejection)
        assert validator.validate(new.plain.reveal()) == new.api_key.to_found_key(0).to_credential(
            new.plain
        )

    def test_stores_what_it_returns(self, issue, administration, acme):
        new, replaced = administration.rotate_key(acme, issue().api_key.id)
        assert administration.list_keys(acme) == (replaced, new.api_key)

    def test_without_a_grace_period_expires_the_old_key_at_once(
        self, issue, administration, validator, acme
    ):
        old = issue()
        new, _ = administration.rotate_key(acme, old.api_key.id, grace=timedelta())
        assert isinstance(validator.validate(old.plain.reveal()), Rejection)
        assert validator.validate(new.plain.reveal()) == new.api_key.to_found_key(0).to_credential(
            new.plain
        )


class TestTheAuditLog:
    @pytest.fixture
    def new_records(self, caplog):
        """Return the new audit records, without their actor and key."""
        caplog.set_level("INFO", logger=AUDIT)

        def since(key):
            records, caplog.records[:] = caplog.records[:], []
            about = {"by": "operator", "organization": key.organization_id}
            about |= {"key_id": key.id, "display": key.display}
            for record in records:
                assert (record.name, record.levelname) == (AUDIT, "INFO")
                assert about.items() <= record.facts.items()
                facts = [f"{name} {record.facts[name]}" for name in record.facts if name != "act"]
                assert record.getMessage() == f"API key {record.facts['act']}: {', '.join(facts)}"
            return [{n: v for n, v in r.facts.items() if n not in about} for r in records]

        return since

    def test_has_a_documented_name(self):
        assert AUDIT == "recipient_fields.audit"

    def test_records_the_creation_of_a_key(self, issue, new_records):
        assert new_records(issue().api_key) == [{"act": "created"}]

    def test_records_the_rotation_of_a_key_with_its_successor(
        self, issue, administration, new_records, acme
    ):
        old = issue().api_key
        new_records(old)
        successor, replaced = administration.rotate_key(acme, old.id)
        assert new_records(replaced) == [{"act": "rotated", "successor": successor.api_key.id}]

    def test_records_the_deletion_of_an_organization_once(
        self, issue, administration, acme, caplog
    ):
        issue()
        caplog.set_level("INFO", logger=AUDIT)
        caplog.clear()
        administration.delete_organization(acme)
        (record,) = caplog.records
        assert record.facts == {
            "act": "deleted",
            "by": "operator",
            "organization": acme,
            "fields": 0,
            "api_keys": 1,
            "integrations": 0,
            "administrators": 0,
        }
        assert record.getMessage() == (
            f"Organization deleted: by operator, organization {acme}, fields 0, api_keys 1,"
            " integrations 0, administrators 0"
        )

    @pytest.mark.parametrize("name", ["dana@acme.example", None])
    def test_has_the_name_of_the_author(self, issue, administration, acme, caplog, name):
        caplog.set_level("INFO", logger=AUDIT)
        key = issue().api_key
        changed = administration.by(Author(ADMINISTRATOR, name=name))
        successor, _ = changed.rotate_key(acme, key.id)
        changed.revoke_key(acme, key.id)
        issued = changed.issue_key(acme, name="Other")
        changed.delete_organization(acme)
        authors = [record.facts["by"] for record in caplog.records]
        assert authors == ["operator", *[name or "unknown"] * 4]
        assert [each.api_key.created_by for each in (successor, issued)] == [name, name]

    def test_does_not_record_a_deletion_that_fails(self, issue, administration, acme, caplog):
        issue()
        caplog.set_level("INFO", logger=AUDIT)
        caplog.clear()
        with pytest.raises(OrganizationChanged):
            administration.delete_organization(acme, expected=EMPTY)
        assert caplog.records == []

    def test_records_the_revocation_of_a_key_once(
        self, issue, administration, new_records, clock, acme
    ):
        key = administration.revoke_key(acme, issue().api_key.id)
        assert new_records(key)[-1] == {"act": "revoked"}
        clock.move(SECOND)
        administration.revoke_key(acme, key.id)
        assert new_records(key) == []
