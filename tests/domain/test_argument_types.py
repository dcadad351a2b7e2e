"""An argument of a wrong type is an error that names it, in public functions and classes.

Use cases call what is in `INSIDE` with what they have checked, and storages with what they
have stored: these check nothing.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from types import GeneratorType
from typing import Any, cast

import pytest

from recipient_fields import domain
from recipient_fields.domain import (
    API,
    Administrator,
    AdministratorId,
    AllowedValues,
    Author,
    Catalog,
    CatalogChanges,
    DataType,
    EmailAddress,
    FieldChanges,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldName,
    InsertionCode,
    IntegrationId,
    Membership,
    OrganizationId,
    PlainKey,
    RecipientFieldsError,
    RecipientSchema,
    RecipientTexts,
    Role,
    Session,
    SessionId,
    TextFormats,
    ValueExpression,
    conditions,
    content,
    esp,
    integrations,
    view_of,
)
from recipient_fields.domain.conditions import TextPosition, parse_condition
from recipient_fields.domain.content import parse_content
from recipient_fields.domain.content.tree import Lines
from recipient_fields.domain.data_paths import DataPath
from recipient_fields.domain.esp import BUILT_IN, Esp, ExportOptions, NameProposal
from recipient_fields.domain.esp.code_warnings import code_warnings
from recipient_fields.domain.integrations import (
    ConversionOptions,
    FieldCodes,
    IntegrationDraft,
    SetName,
    SyncPlan,
)

PACKAGES = (domain, conditions, content, esp, integrations)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ONE = OrganizationId(1)
DRAFT = FieldDraft(name="Tier", data_type=DataType.TEXT)
FIELD = DRAFT.define(by=API, at=NOON).with_id(FieldId(1), ONE)
CODES = FieldCodes.of([FIELD])
SCHEMA = RecipientSchema.of([FIELD])
INTEGRATION = IntegrationDraft(esp=Esp("braze"), name="Main", created_at=NOON).with_id(
    IntegrationId(1), ONE
)
BRAZE = BUILT_IN[Esp("braze")]
MEMBERSHIPS = (Membership(ONE, Role.ADMIN),)
ADMINISTRATOR = Administrator(
    id=AdministratorId(1),
    email=EmailAddress("dana@example.com"),
    password_hash=None,
    created_at=NOON,
    memberships=MEMBERSHIPS,
)
SESSION = Session(
    id=SessionId(1),
    administrator_id=AdministratorId(1),
    digest=b"",
    created_at=NOON,
    last_used_at=NOON,
    user_agent="",
)
SAMPLES: Mapping[str, object] = {
    "Esp": BRAZE.esp,
    "Profiles": BUILT_IN,
    "AdjacentText": BRAZE.adjacent_text,
    "Administrator": ADMINISTRATOR,
    "AllowedValues": AllowedValues(DataType.TEXT, ["x"]),
    "Any": str,
    "Author": Author(API),
    "Catalog": Catalog(ONE, 1, (FIELD,)),
    "CatalogChanges": CatalogChanges(),
    "CatalogView": view_of(Catalog(ONE, 1, ())),
    "Channel": API,
    "Collection": ("tier",),
    "ConditionLanguage": BRAZE.conditions,
    "Condition": parse_condition("tier is set"),
    "Content": parse_content("{{recipient.tier}}"),
    "ConversionOptions": ConversionOptions(),
    "Creation": BRAZE.names.creation,
    "DataPath": DataPath("event.items"),
    "DecimalMark": ".",
    "EmailAddress": ADMINISTRATOR.email,
    "EspNames": CODES.names,
    "ExportOptions": ExportOptions(),
    "FieldChanges": FieldChanges(),
    "CodeSource": CODES,
    "FieldDefinition": FIELD,
    "FieldDraft": DRAFT,
    "FieldKey": FieldKey("tier"),
    "FieldName": FieldName("Tier"),
    "FieldReference": "tier",
    "FilterLanguage": BRAZE.filters,
    "Insertion": BRAZE.insertion,
    "InsertionCode": InsertionCode("x"),
    "Integration": INTEGRATION,
    "Iterable": ("tier",),
    "Lines": Lines("x"),
    "Mapping": {},
    "Names": BRAZE.names,
    "NameProposal": NameProposal(INTEGRATION.id, FIELD.key, "tier_2"),
    "Origin": FIELD.origin,
    "PlainKey": PlainKey.generate(),
    "Profile": BRAZE,
    "Field": FIELD,
    "RecipientField": FIELD,
    "RecipientSchema": SCHEMA,
    "RecipientTexts": RecipientTexts(SCHEMA),
    "Sequence": ("tier",),
    "Session": SESSION,
    "SortValue": "tier",
    "SyncPlan": SyncPlan(
        integration=INTEGRATION, changes=CatalogChanges(), unchanged=0, refused=()
    ),
    "Strength": BRAZE.names.strength,
    "SurfaceRules": BRAZE.surfaces,
    "Target": Esp("braze"),
    "TextFormats": TextFormats(),
    "TextPosition": TextPosition(1, 1),
    "Value": "x",
    "ValueExpression": ValueExpression("x"),
    "Vocabulary": BRAZE.vocabulary,
    "bool": True,
    "bytes": b"",
    "datetime": NOON,
    "float": 1.5,
    "frozenset": frozenset(),
    "int": 1,
    "object": None,
    "str": "tier",
    "timedelta": timedelta(days=1),
    "tuple": (),
}
"""A right argument for each type, by the first word of its annotation."""
OTHER_SAMPLES: Mapping[str, object] = {
    "Administrator.memberships": MEMBERSHIPS,
    "HistoryRecord.after": FIELD,
    "NamedField.esp_name": SetName("TIER"),
    "RecipientSchema.fields": {"tier": FIELD},
    "Change.after": FIELD,
    "date_literal.text": "2026-11-20",
    "grant_key.lifetime": timedelta(days=1),
    "member_reader.members": domain.FIELD_MEMBERS,
    "parse_condition.text": "tier is set",
    "parse_date.text": "2026-11-20",
    "parse_instant.text": "2026-11-20T09:15:00Z",
    "require_boolean.value": True,
    "require_string.value": "tier",
    **dict.fromkeys(("EspNames.integrations", "without_counterparts.integrations"), ()),
    **dict.fromkeys(("define_fields.drafts", "plan_fields.drafts", "undo.records"), ()),
    **dict.fromkeys(("plan_restorations.catalog", "plan_restorations.removed"), ()),
    **dict.fromkeys(("records_before.oldest", "records_to_free.oldest"), ()),
}
"""Right arguments of some functions and classes, whose values depend on each other."""
UNCHECKED = re.compile(r"object\b|Any\b|Callable\b|CatalogView\b|[A-Z]\b")
"""Any object, type variables, functions and ports: only a call shows whether they are right."""
INSIDE = {
    *("decide", "require", "plan_creation", "plan_restoration", "require_addable", "require_room"),
    *(
        "EspConnection",
        "from_epoch_milliseconds",
        "item_count_violation",
        "list_size",
        "repeated_violations",
    ),
}
CONVERTED = {"datetime": {"at"}, "str": {"text", "name"}, "Collection": {"words"}}
"""What messages call the attributes of classes that share a converter."""
CONVERTING = {"grant_key", "parse_organization_name"}
"""Functions that call such a converter."""


class Wrong:
    """An object of no type that a function accepts."""


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions, and the classes that people create, by name."""
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if name in INSIDE:
                continue
            if inspect.isfunction(value):
                yield name, value
            elif inspect.isclass(value):
                is_list = issubclass(value, list)
                is_protocol = getattr(value, "_is_protocol", False)
                if not (issubclass(value, Enum | Exception) or is_list or is_protocol):
                    yield name, value


CALLABLES = dict(public_callables())


def annotation_of(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r".*ForwardRef\('(.*)'\).*", r"\1 | None", text)


def first_word(annotation: str) -> str:
    return re.findall(r"\w+", annotation)[0]


def sample(name: str, parameter: inspect.Parameter) -> object:
    """Return a right argument. A new type needs an entry in SAMPLES."""
    if f"{name}.{parameter.name}" in OTHER_SAMPLES:
        return OTHER_SAMPLES[f"{name}.{parameter.name}"]
    annotation = annotation_of(parameter)
    word = first_word(annotation)
    if re.fullmatch(r"(Iterable|Collection)\[(Recipient)?Field\]", annotation):
        return (FIELD,)
    if word == "Callable":
        return lambda *_: False
    if word.endswith("Id"):
        return 1
    kind = next((getattr(each, word) for each in PACKAGES if hasattr(each, word)), None)
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return next(iter(kind))
    return None if "None" in annotation else SAMPLES[word]


def call(name: str, arguments: dict[str, object]) -> None:
    result = CALLABLES[name](**arguments)
    if isinstance(result, GeneratorType):
        list(result)


def failure(name: str, arguments: dict[str, object]) -> Exception | None:
    try:
        call(name, arguments)
    except Exception as error:  # noqa: BLE001
        return error
    return None


@pytest.mark.parametrize("name", CALLABLES)
def test_an_error_names_the_argument_of_a_wrong_type(name):
    parameters = inspect.signature(CALLABLES[name]).parameters.values()
    right = {each.name: sample(name, each) for each in parameters if each.default is each.empty}
    usual = failure(name, right)
    assert usual is None or isinstance(usual, RecipientFieldsError), usual
    for parameter in parameters:
        annotation = annotation_of(parameter)
        if UNCHECKED.match(annotation):
            continue
        error = failure(name, {**right, parameter.name: Wrong()})
        if error is None or type(error) is type(usual):
            continue  # Nothing depends on it yet, or an earlier argument is refused.
        named = {parameter.name}
        if inspect.isclass(CALLABLES[name]) or name in CONVERTING:
            named |= CONVERTED.get(first_word(annotation), set())
        assert isinstance(error, TypeError | RecipientFieldsError), (parameter.name, error)
        assert set(re.findall(r"\w+", str(error))) & named, (parameter.name, error)
        assert "Wrong" in str(error) or isinstance(error, RecipientFieldsError)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (domain.derive_key, (5,), "name must be a str, not int."),
        (domain.parse_organization_name, (None,), "name must be a str, not NoneType."),
        (Author, ("api",), "channel must be a Channel, not str."),
        (AllowedValues, ("text", ["gold"]), "data_type must be a DataType, not str."),
        (code_warnings, (b"x", None), "insertion_code must be a str or None, not bytes."),
        (esp.derive_codes, ("braze", "tier"), "esp must be an Esp, not str."),
        (
            partial(cast(Any, Author), API, id=b"x"),
            (),
            "id must be an int or a str or None, not bytes.",
        ),
        (partial(cast(Any, Author), API, name=5), (), "name must be a str or None, not int."),
        (Membership, (ONE, 1), "role must be a Role or a str, not int."),
    ],
)
def test_the_error_says_what_is_expected_and_what_came(function, arguments, message):
    with pytest.raises(TypeError) as rejected:
        function(*arguments)

    assert str(rejected.value) == message
