"""Errors: they report all violations at once, and never contain the invalid value."""

from __future__ import annotations

import sys
import traceback
from datetime import UTC, datetime, timedelta

import pytest

import recipient_fields.application
import recipient_fields.domain.conditions
import recipient_fields.domain.content
import recipient_fields.domain.esp
import recipient_fields.domain.integrations
from recipient_fields.application.fields.inputs import parse_replacement
from recipient_fields.domain import (
    API,
    Access,
    AllowedValues,
    CatalogChanged,
    CatalogTooLarge,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldName,
    InsertionCode,
    IntegrationId,
    InvalidField,
    InvalidInput,
    KeyRepeated,
    KeyTaken,
    OrganizationId,
    PasswordHashingBusy,
    PlainKey,
    RecipientFieldsError,
    Rule,
    SignInThrottled,
    StorageUnavailable,
    ValueExpression,
    VersionConflict,
    Violation,
    Violations,
    grant_key,
    parse_organization_name,
    sync_channel,
)
from recipient_fields.domain.esp import Esp, NotExpressible
from recipient_fields.domain.esp.errors import NotInsertable
from recipient_fields.domain.integrations import (
    EspFieldTaken,
    IntegrationDraft,
    IntegrationRequired,
    NoFieldSource,
    RemovalsNotConfirmed,
    SyncPlanChanged,
    SyncRun,
)

from ..support.messages import are_sentences

INVALID_TEXT = "hunter2"
LONG = INVALID_TEXT * 2_000
CORE = ("recipient_fields.domain", "recipient_fields.application")
CORE_S_ERRORS = (
    "recipient_fields.domain.errors",
    *(
        f"recipient_fields.domain.{room}.errors"
        for room in ("accounts", "esp", "fields", "integrations")
    ),
    "recipient_fields.domain.integrations.sync",
)
CONTRACT_S_CODES = (
    "required type unknown_value out_of_range blank too_long format reserved immutable read_only "
    "unknown_field empty too_many_items too_large duplicate_item not_applicable "
    "invalid_characters mismatch"
)


def leaves(error: type[Exception]) -> set[type[Exception]]:
    below = error.__subclasses__()
    return set().union(*map(leaves, below)) if below else {error}


CORE_S_OWN_WORDS = sorted(
    (
        e
        for e in leaves(RecipientFieldsError)
        if "__init__" in vars(e)
        and e.__module__ in CORE_S_ERRORS
        and e not in {NotExpressible, StorageUnavailable}  # Their callers pass the message.
    ),
    key=lambda error: error.__name__,
)


def test_the_rules_are_the_contract_s_member_codes():
    assert " ".join(rule.value for rule in Rule) == CONTRACT_S_CODES


def test_every_leaf_of_the_core_s_errors_is_importable_from_its_packages():
    """Except those in modules without `__all__`, which are for other modules of the project."""
    core = {
        error
        for error in leaves(RecipientFieldsError)
        if error.__module__.startswith(CORE) and hasattr(sys.modules[error.__module__], "__all__")
    }
    packages = (
        recipient_fields.domain,
        recipient_fields.domain.conditions,
        recipient_fields.domain.content,
        recipient_fields.domain.esp,
        recipient_fields.domain.integrations,
        recipient_fields.application,
    )
    exported = {name: getattr(package, name) for package in packages for name in package.__all__}
    assert core
    assert all(exported.get(error.__name__) is error for error in core)


@pytest.mark.parametrize("error", CORE_S_OWN_WORDS, ids=lambda error: error.__name__)
def test_the_messages_of_errors_are_sentences(error):
    draft = IntegrationDraft(esp=Esp("braze"), name="Main", created_at=datetime.now(UTC))
    integration = draft.with_id(IntegrationId(1), OrganizationId(1))
    plan = SyncRun.from_report(integration, (), at=datetime.now(UTC)).plan(integration, ())
    arguments = {
        EspFieldTaken: (FieldId(1), FieldId(2)),
        RemovalsNotConfirmed: (plan,),
        SyncPlanChanged: (plan,),
        IntegrationRequired: ("Braze",),
        KeyTaken: (FieldKey("size"), FieldId(5)),
        NotInsertable: ("This field has no code.",),
        CatalogChanged: ("1-1",),
        KeyRepeated: (FieldKey("size"),),
        FieldLimitReached: (3,),
        CatalogTooLarge: (8_388_608, 8_388_500),
        VersionConflict: ("1",),
        NoFieldSource: ("Attentive",),
        SignInThrottled: (600,),
        PasswordHashingBusy: (2,),
    }
    assert are_sentences(str(error(*arguments.get(error, ()))))


def test_every_violation_is_in_the_message():
    invalid = InvalidField([Violation(Rule.EMPTY, "One.", ("a", 1)), Violation(Rule.TYPE, "Two.")])
    assert str(invalid) == "a.1: One. Two."
    assert [v.rule for v in invalid.violations] == [Rule.EMPTY, Rule.TYPE]


def test_a_prefix_can_be_added_to_the_path_of_a_violation():
    seen = Violation(Rule.EMPTY, "One.", (1,), "hint").prefixed("recipient_field", "allowed_values")
    assert seen == Violation(Rule.EMPTY, "One.", ("recipient_field", "allowed_values", 1), "hint")


def test_violations_are_collected_from_several_values():
    violations = Violations()
    with violations.collect("name"):
        FieldName("")
    with violations.collect("key"):
        FieldKey("fine")
    with violations.collect("outer"), violations.collect("inner"):
        FieldKey("")
    assert [v.path for v in violations] == [("name",), ("inner",)]


def test_collecting_violations_does_not_catch_other_errors():
    with pytest.raises(KeyError), Violations().collect("name"):
        raise KeyError


def test_key_taken_contains_the_key_and_the_id_of_its_field():
    taken = KeyTaken(FieldKey("size"), FieldId(5))
    assert (taken.key, taken.existing_id) == ("size", 5)


def test_the_message_of_a_reached_limit_contains_the_limit():
    assert "limit of 3 API-managed fields" in str(FieldLimitReached(3))


@pytest.mark.parametrize(
    "refuse",
    [
        lambda: FieldName(LONG),
        lambda: FieldName(f"{INVALID_TEXT}\0"),
        lambda: FieldKey(f"{INVALID_TEXT}!"),
        lambda: FieldKey(f"sys_{INVALID_TEXT}"),
        lambda: FieldKey(LONG),
        lambda: FieldKey.derived_from(f"sys {INVALID_TEXT}"),
        lambda: InsertionCode(LONG),
        lambda: ValueExpression(f"{INVALID_TEXT}\ud800"),
        lambda: DataType.parse(INVALID_TEXT),
        lambda: AllowedValues(DataType.TEXT, [LONG, f" {INVALID_TEXT}", f"{INVALID_TEXT}\0"]),
        lambda: AllowedValues(DataType.TEXT, [INVALID_TEXT, INVALID_TEXT, {INVALID_TEXT: 1}]),
        lambda: AllowedValues(DataType.NUMBER, [INVALID_TEXT]),
        lambda: AllowedValues(DataType.DATE, [INVALID_TEXT]),
        lambda: AllowedValues(
            DataType.DATETIME, [INVALID_TEXT, f"2026-13-01T00:00:00Z{INVALID_TEXT}"]
        ),
        lambda: AllowedValues(DataType.BOOLEAN, [INVALID_TEXT]),
        lambda: AllowedValues(DataType.TEXT, INVALID_TEXT),
        lambda: FieldDraft(name=INVALID_TEXT, key=f"{INVALID_TEXT} ", data_type=DataType.TEXT),
        lambda: FieldChanges(custom_insertion_code=LONG),
        lambda: FieldDraft(name="Size", data_type="text", allowed_values=[5, INVALID_TEXT * 99]),
        lambda: parse_replacement(
            {
                "name": INVALID_TEXT,
                "data_type": INVALID_TEXT,
                "allowed_values": [INVALID_TEXT],
                "id": INVALID_TEXT,
            },
            "size",
        ).draft("size", by=API),
        lambda: sync_channel(IntegrationId(7)).origin(f"{INVALID_TEXT}\0"),
        lambda: parse_organization_name(f"{INVALID_TEXT}\n{INVALID_TEXT}"),
        lambda: grant_key(
            PlainKey.generate(),
            OrganizationId(1),
            name=LONG,
            access=Access.READ_ONLY,
            lifetime=timedelta(days=1),
            at=datetime(2026, 11, 20, tzinfo=UTC),
        ),
    ],
)
def test_no_message_repeats_what_was_sent(refuse):
    with pytest.raises(InvalidInput) as invalid:
        refuse()
    assert INVALID_TEXT not in f"{invalid.value} {invalid.value!r}"
    assert not any(INVALID_TEXT in violation.message for violation in invalid.value.violations)


def test_no_message_of_a_taken_key_repeats_it():
    assert INVALID_TEXT not in str(KeyTaken(FieldKey(INVALID_TEXT), FieldId(5)))


@pytest.mark.parametrize(
    "value", [f"{INVALID_TEXT}-11-20", "2026-02-31", "2026-11-20T09:15:00+24:00"]
)
@pytest.mark.parametrize("data_type", [DataType.DATE, DataType.DATETIME])
def test_messages_of_the_standard_library_are_not_part_of_the_error(data_type, value):
    with pytest.raises(InvalidField) as invalid:
        AllowedValues(data_type, [value])
    assert value not in "".join(traceback.format_exception(invalid.value.with_traceback(None)))
    assert invalid.value.__context__ is None
