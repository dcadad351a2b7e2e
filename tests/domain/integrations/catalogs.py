"""Generated organizations: definitions, syncs, set names and deletions in any order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NamedTuple

from attrs import evolve
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
)
from recipient_fields.domain.esp import BUILT_IN, Esp, derive_codes
from recipient_fields.domain.esp.errors import NoSafeForm
from recipient_fields.domain.fields.values import derive_key
from recipient_fields.domain.integrations import (
    EspField,
    EspNames,
    IntegrationDraft,
    RefusedField,
    SetName,
    SyncRun,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ORGANIZATION = OrganizationId(1)


class Theme(NamedTuple):
    """Keys and names that are similar, so that few of them have many relations."""

    keys: Sequence[str]
    names: Sequence[str]


THEMES = [
    Theme(["tier", "tier_2", "level"], ["tier", "Tier", "TIER", "Tier 2", "tier_2"]),
    Theme(
        ["loyalty_tier", "loyalty_tier_1", "loyalty_ti"],
        ["Loyalty Tier", "loyalty tier", "loyalty_tier", "LOYALTY_TIER", "LOYALTY_TI"],
    ),
    # No ESP has one of these names by convention, so several synced fields can be for one key.
    Theme(["shop_size", "shop_size_1"], ["Shop Size", "shop size", "Shop size", "SHOP SIZE"]),
    Theme(
        ["email", "email_address", "emailaddr"],
        ["email", "EMAIL", "Email", "email_address", "emailaddr"],
    ),
    Theme(
        ["first_name", "fname", "firstname"],
        ["FNAME", "first_name", "First Name", "FIRSTNAME", "FIRST_NAME"],
    ),
    Theme(
        ["birthday", "date_of_birth", "phone", "size", "date"],
        ["date_of_birth", "size", "DATE", "phone", "PHONE", "phone_number", "BIRTHDAY"],
    ),
]
NAMES = [name for theme in THEMES for name in theme.names]
ODD_CODES = [
    *("{{ tier }}", "{{customer.tier}}", "*|TIER|*", "%TIER%", "%%=v(@tier)=%%", "%%tier%%"),
    *("{{ person|lookup:'tier'|default:'x' }}", "{{contact.tier}}", "static", "{% if x %}{% endif"),
]
ODD_EXPRESSIONS = ["tier", "loyalty.tier", "contact.tier", "customer.tier", "$TIER", "@tier", "1"]


class Organization:
    """The fields and the integrations of an organization, as a storage would have them.

    It begins with fields of the API that have these keys.
    """

    def __init__(self, *esps, keys=()):
        self.fields: tuple[RecipientField, ...] = ()
        self.integrations = {
            IntegrationId(i): IntegrationDraft(esp=esp, name="Main", created_at=NOON).with_id(
                IntegrationId(i), ORGANIZATION
            )
            for i, esp in enumerate(esps, start=1)
        }
        self.theme, self.other_esp = THEMES[0], Esp("braze")
        self._ids = count(1)
        for key in keys:
            self.define(key)

    @property
    def names(self):
        return EspNames(self.fields, self.integrations.values())

    def define(self, key, by=API, **members):
        if any(each.key == key for each in self.fields):
            return None
        draft = FieldDraft(**{"name": key, "key": key, "data_type": DataType.TEXT, **members})
        field = draft.define(by=by, at=NOON).with_id(FieldId(next(self._ids)), ORGANIZATION)
        self.fields += (field,)
        return field

    def plan(self, integration_id, *reported):
        integration = self.integrations[integration_id]
        report = [
            EspField(name=each, data_type=DataType.TEXT) if isinstance(each, str) else each
            for each in reported
        ]
        return SyncRun.from_report(integration, report, at=NOON + timedelta(hours=1)).plan(
            integration, self.fields, integrations=self.integrations.values()
        )

    def sync(self, integration_id, *reported):
        return self.store(self.plan(integration_id, *reported))

    def store(self, plan):
        updated = {field.id: field for field in plan.updated}
        removed = {field.id for field in plan.removed}
        kept = [updated.get(each.id, each) for each in self.fields if each.id not in removed]
        created = [each.with_id(FieldId(next(self._ids)), ORGANIZATION) for each in plan.created]
        self.fields = (*kept, *created)
        self.integrations[plan.integration.id] = plan.integration
        return plan

    def delete(self, field):
        self.fields = tuple(each for each in self.fields if each.id != field.id)

    def set_name(self, integration_id, field, name, *, custom=False):
        integration = self.integrations[integration_id]
        names = {**integration.names, field.id: SetName(name, custom)}
        self.integrations[integration_id] = evolve(integration, names=names)

    def replace(self, field, **members):
        """Store other members, such as codes that an earlier version derived."""
        changed = evolve(field, **members)
        self.fields = tuple(changed if each.id == field.id else each for each in self.fields)

    def get(self, key):
        (field,) = (each for each in self.fields if each.key == key)
        return field


@st.composite
def own_codes(draw, names):
    """Draw no codes, or one or two: plain references of any dialect, or others."""
    esp, name = draw(st.sampled_from(BUILT_IN.esps)), draw(st.sampled_from(names))
    try:
        derived = derive_codes(esp, name, standard=draw(st.booleans()))
        plain = [derived.insertion_code, derived.value_expression]
    except NoSafeForm:
        plain = []
    insertion_codes = st.sampled_from([None, *plain[:1], *plain[:1], *ODD_CODES])
    expressions = st.sampled_from([None, *plain[1:], *plain[1:], *ODD_EXPRESSIONS])
    return {
        "custom_insertion_code": draw(insertion_codes),
        "custom_value_expression": draw(expressions),
    }


def reports(theme):
    reported = st.builds(
        EspField,
        name=st.sampled_from(theme.names),
        data_type=st.just(DataType.TEXT),
        standard=st.sampled_from([False, False, True]),
    )
    refused = st.builds(RefusedField, st.sampled_from(theme.names), st.just("It is a list."))
    fields = st.lists(reported, max_size=6, unique_by=lambda each: each.name)
    return st.builds(lambda some, others: [*some, *others], fields, st.lists(refused, max_size=1))


def act(draw, organization, theme):
    """Draw one action and do it."""
    kind = draw(st.sampled_from(["define", "sync", "sync", "set", "set", "delete", "older"]))
    integration_id = draw(st.sampled_from(sorted(organization.integrations)))
    if kind == "define":
        organization.define(
            draw(st.sampled_from(theme.keys)),
            draw(st.sampled_from([API, ADMINISTRATOR])),
            insertable=draw(st.sampled_from([True, True, True, False])),
            **draw(st.just({}) | own_codes(theme.names)),
        )
    elif kind == "sync":
        organization.sync(integration_id, *draw(reports(theme)))
    elif organization.fields:
        field = draw(st.sampled_from(organization.fields))
        if kind == "delete":
            organization.delete(field)
        elif kind == "older":
            if field.origin.integration_id is not None:
                organization.replace(field, **draw(own_codes(theme.names)))
        elif field.origin.integration_id != integration_id:
            name, custom = draw(st.sampled_from(theme.names)), draw(st.booleans())
            organization.set_name(integration_id, field, name, custom=custom)


def begin(draw, organization, theme):
    """Begin with relations that are rare among independent actions."""
    first, last = min(organization.integrations), max(organization.integrations)
    kind = draw(st.sampled_from(["nothing", "nothing", "suffix", "all keys", "custom"]))
    if kind == "suffix":  # The synced field with the lower id has a key with a suffix.
        key = theme.keys[0]
        name = draw(st.sampled_from([each for each in theme.names if derive_key(each) == key]))
        reported = EspField(name=name, data_type=DataType.TEXT)
        organization.define(key)
        organization.sync(first, reported)
        organization.delete(organization.get(key))
        organization.sync(last, reported)
    elif kind == "all keys":  # Several of the keys can mean one synced field.
        for key in theme.keys:
            organization.define(key)
        name = draw(st.sampled_from(theme.names))
        organization.sync(first, EspField(name=name, data_type=DataType.TEXT))
    elif kind == "custom":  # A custom field has the name of a standard field.
        key, name = draw(st.sampled_from(theme.keys)), draw(st.sampled_from(theme.names))
        organization.define(key)
        organization.set_name(first, organization.get(key), name, custom=True)
        reported = EspField(name=name, data_type=DataType.TEXT, standard=draw(st.booleans()))
        organization.sync(first, reported)


@st.composite
def organizations(draw, *first):
    frequent = [Esp("klaviyo"), Esp("braze"), Esp("mailchimp"), Esp("sfmc")]
    esps = st.sampled_from(frequent) | st.sampled_from(BUILT_IN.esps)
    organization = Organization(*first, *draw(st.lists(esps, min_size=1, max_size=3)))
    organization.theme = theme = draw(st.sampled_from(THEMES))
    organization.other_esp = draw(st.sampled_from(BUILT_IN.esps))
    begin(draw, organization, theme)
    for key in draw(st.lists(st.sampled_from(theme.keys), max_size=2)):
        organization.define(key)
    for _ in range(draw(st.integers(0, 12))):
        act(draw, organization, theme)
    return organization
