"""Use cases reject wrong arguments, such as an object that is passed in place of its id."""

from __future__ import annotations

from inspect import getmembers, isfunction, signature

import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import (
    AdministrationService,
    AdministratorService,
    Core,
    IntegrationService,
    RecipientFieldService,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    Batch,
    Credential,
    DataType,
    FieldChanges,
    FieldDraft,
    Role,
)
from recipient_fields.domain.content import parse_content
from recipient_fields.domain.esp import Esp
from recipient_fields.testing.examples import grant

from ..support.administrators import administrators_of

SERVICES = {
    "fields": RecipientFieldService,
    "integrations": IntegrationService,
    "administration": AdministrationService,
    "administrators": AdministratorService,
}
IDENTIFIERS = {
    "OrganizationId",
    "IntegrationId",
    "ApiKeyId",
    "FieldReference",
    "AdministratorId",
    "InvitationId",
    "SessionId",
}


def parameters() -> list[tuple[str, str, str]]:
    """Return the service, method and name of each parameter that is an id or a reference."""
    return [
        (attribute, method, name)
        for attribute, service in SERVICES.items()
        for method, function in getmembers(service, isfunction)
        if not method.startswith("_")
        for name, parameter in signature(function).parameters.items()
        if parameter.annotation in IDENTIFIERS
    ]


@pytest.fixture
def core():
    return Core.over(MemoryStorage())


@pytest.fixture
def owners(core):
    """Return the object that has the id, by the parameter's name."""
    organization = core.administration.create_organization("Acme")
    field = core.fields.create_field(
        organization.id, FieldDraft(name="City", data_type=DataType.TEXT)
    )
    administrator = grant(administrators_of(core), organization.id)
    invited = core.administrators.invite(organization.id, "eve@acme.example", Role.ADMIN)
    token = core.administrators.create_sign_in_link(administrator.id).token.reveal()
    return {
        "organization_id": organization,
        "integration_id": core.integrations.create_integration(
            organization.id, esp=Esp("mailchimp"), name="Main list"
        ),
        "key_id": core.administration.issue_key(organization.id, name="Backend").api_key,
        "reference": field,
        "administrator_id": administrator,
        "invitation_id": invited.invitation,
        "session_id": core.administrators.sign_in_with_link(token, user_agent="").session,
    }


def call(core, owners, service, method, name, value):
    """Call the method with valid ids, except for `value`. Other arguments are None."""
    use_case = getattr(getattr(core, service), method)
    arguments = {
        other: owners[other].id if parameter.annotation in IDENTIFIERS else None
        for other, parameter in signature(use_case).parameters.items()
        if parameter.default is parameter.empty
    }
    return use_case(**{**arguments, name: value})


def test_the_parameters_to_test_are_found() -> None:
    assert len(parameters()) > 20
    assert ("fields", "list_fields", "organization_id") in parameters()


@pytest.mark.parametrize(("service", "method", "name"), parameters())
def test_an_object_in_place_of_its_id_is_a_type_error_with_a_hint(
    core, owners, service, method, name
) -> None:
    owner = owners[name]
    with pytest.raises(TypeError) as error:
        call(core, owners, service, method, name, owner)
    assert f"{name} must be" in str(error.value)
    assert f"not {type(owner).__name__}. Pass " in str(error.value)


@pytest.mark.parametrize("wrong", [None, 1.0, b"1", "1"], ids=repr)
def test_an_organization_is_identified_by_an_integer_alone(core, wrong) -> None:
    with pytest.raises(TypeError) as error:
        core.fields.list_fields(wrong)
    assert str(error.value) == (
        f"organization_id must be an int, not {type(wrong).__name__}. Pass organization.id."
    )


def test_a_field_is_identified_by_its_id_or_its_key(core, owners) -> None:
    organization, field = owners["organization_id"], owners["reference"]
    for reference in (field.id, field.key, "city"):
        assert core.fields.get_field(organization.id, reference) == field
    with pytest.raises(TypeError):
        core.fields.replace_field(organization.id, field, FieldChanges(name="City"))
    with pytest.raises(TypeError) as error:
        core.fields.get_field(organization.id, field)
    assert str(error.value) == (
        "reference must be a field's id or key, not RecipientField. Pass field.id or field.key."
    )


def test_a_rejected_object_changes_nothing(core, owners) -> None:
    organization = owners["organization_id"]
    before = core.fields.list_fields(organization.id)
    for arguments in ((organization, "city"), (organization.id, owners["reference"])):
        with pytest.raises(TypeError):
            core.fields.delete_field(*arguments)
    assert core.fields.list_fields(organization.id) == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda core, ours: core.fields.create_field(ours, {"name": "City"}),
            "draft must be a FieldDraft, not dict.",
        ),
        (
            lambda core, ours: core.fields.update_field(ours, "city", {"name": "City"}),
            "changes must be a FieldChanges, not dict.",
        ),
        (
            lambda core, ours: core.fields.replace_or_create_field(ours, {}),
            "draft must be a FieldDraft, not dict.",
        ),
        (
            lambda core, ours: core.fields.delete_field(ours, "city", "v1"),
            "precondition must be a Precondition, not str.",
        ),
        (
            lambda core, ours: core.fields.find_fields(ours, {"limit": 1}),
            "query must be a FieldQuery, not dict.",
        ),
        (lambda core, ours: core.fields.apply_batch(ours, []), "batch must be a Batch, not list."),
        (
            lambda core, ours: core.fields.list_changes(ours, None),
            "query must be a HistoryQuery, not NoneType.",
        ),
        (
            lambda core, ours: core.fields.by(ADMINISTRATOR),
            "author must be an Author, not Channel.",
        ),
        (lambda core, ours: core.integrations.by("ada"), "author must be an Author, not str."),
        (
            lambda core, ours: core.integrations.apply_with_names(ours, [], {}),
            "batch must be a Batch, not list.",
        ),
        (
            lambda core, ours: core.integrations.apply_with_names(ours, Batch(()), []),
            "names must be a Mapping, not list.",
        ),
        (lambda core, ours: core.administration.by("ada"), "author must be an Author, not str."),
        (lambda core, ours: core.administrators.by("ada"), "author must be an Author, not str."),
        (
            lambda core, ours: core.content.export_content(ours, "Hello", Esp("braze")),
            "content must be a Content, not str. Pass parse_content(text).",
        ),
        (
            lambda core, ours: core.content.check_content(ours, "Hello"),
            "content must be a Content, not str. Pass parse_content(text).",
        ),
        (
            lambda core, ours: core.content.compile_condition(ours, "a = 1", "braze", then=""),
            "condition must be a Condition, not str. Pass parse_condition(text).",
        ),
    ],
)
def test_another_object_in_place_of_an_argument_is_rejected(core, call, message):
    ours = core.administration.create_organization("Acme").id

    with pytest.raises(TypeError) as rejected:
        call(core, ours)

    assert str(rejected.value) == message


def test_an_esp_can_be_a_text(core):
    ours = core.administration.create_organization("Acme").id

    assert core.integrations.create_integration(ours, esp="braze", name="Main").esp == Esp("braze")
    assert core.content.export_content(ours, parse_content("Hi"), "braze").content == "Hi"


def test_a_text_of_no_esp_is_rejected(core):
    ours = core.administration.create_organization("Acme").id

    with pytest.raises(ValueError, match=r"'brase' is no Esp\. Use one of sfmc, mailchimp, "):
        core.integrations.create_integration(ours, esp="brase", name="Main")
    with pytest.raises(ValueError, match="'brase' is no Esp"):
        core.content.export_content(ours, parse_content("Hi"), "brase")


def test_the_access_of_a_key_can_be_a_text(core):
    ours = core.administration.create_organization("Acme").id

    issued = core.administration.issue_key(ours, name="Backend", access="read_only")

    assert issued.api_key.access is Access.READ_ONLY
    assert core.validator.validate(issued.plain.reveal()).access is Access.READ_ONLY
    with pytest.raises(ValueError, match=r"'read' is no Access\. Use one of read_write, read_only"):
        core.administration.issue_key(ours, name="Backend", access="read")
    assert Credential(ours, None, "read_only").access is Access.READ_ONLY


def test_a_role_can_be_a_text(core):
    ours = core.administration.create_organization("Acme").id
    administrator = grant(administrators_of(core), ours)

    assert (
        core.administrators.invite(ours, "eve@acme.example", "viewer").invitation.role
        is Role.VIEWER
    )
    grant(administrators_of(core), ours, "other@acme.example")
    changed = core.administrators.change_role(ours, administrator.id, "viewer")
    assert changed.role_in(ours) is Role.VIEWER
    for call in (
        lambda: core.administrators.invite(ours, "eve@acme.example", "owner"),
        lambda: core.administrators.change_role(ours, administrator.id, "owner"),
    ):
        with pytest.raises(ValueError, match=r"'owner' is no Role\. Use one of admin, viewer\."):
            call()
