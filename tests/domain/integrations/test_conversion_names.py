"""The names of a template become keys, and keys the names of the other ESP."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from attrs import evolve

from recipient_fields.domain import (
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    define_fields,
)
from recipient_fields.domain.integrations import (
    ConversionOptions,
    FieldCodes,
    IntegrationDraft,
    Outcome,
    SetName,
    convert,
)

from ...support.stories import stories
from .conversion_stories import braze, by_hand, told

STORIES = """
# the standard fields of Salesforce and Iterable need no names
sfmc to braze: %%emailaddr%% %%FirstName%% %%=v([lastname])=%% %%firstname%%
  => {{${email_address}}} {{${first_name}}} {{${last_name}}} {{${first_name}}}
iterable to braze: {{email}} {{firstName}} {{lastName}}
  => {{${email_address}}} {{${first_name}}} {{${last_name}}}
  caveat 11: …
  caveat 25: …
# the standard fields of HubSpot are those of the target
hubspot to braze: {{ contact.firstname }} {{ contact.email }}
  => {{${first_name}}} {{${email_address}}}
# a name with capital letters has the key of its words
customerio to braze: {{ customer.firstName }} => {{${first_name}}}
customerio to braze: {{ customer.FirstName }} => {{${first_name}}}
customerio to braze: {{ customer.first_name }} => {{${first_name}}}
# a name with and without its root is one field
  without: one field
iterable: {{email}}{{profile.email}} => {{recipient.email}}{{recipient.email}}
hubspot: {{ contact.email }}{{ personalization_token('email') }}
  => {{recipient.email}}{{recipient.email}}
# two names with one key are not confused
  by hand: …Another name has the key city…
braze: {{ ${city} }}{{ custom_attribute.${city} }}
  => {{recipient.city}}{{ custom_attribute.${city} }}
braze, city means city: {{ ${city} }}{{ custom_attribute.${city} }}
  => {{recipient.city}}{{ custom_attribute.${city} }}
# two names have one key if a file of names says so
sfmc, Town means city, Place means city: %%Town%%%%Place%% => {{recipient.city}}{{recipient.city}}
# two names can be two fields
  by hand: Another name has the key …
klaviyo: {{ first_name }}{{ person.FirstName }} => {{recipient.first_name}}{{ person.FirstName }}
sfmc: %%Shoe_Size%%%%ShoeSize%% => {{recipient.shoe_size}}%%ShoeSize%%
# event data is written for the way in which the message is sent
klaviyo to braze: {{ event.total }} => {{event_properties.${total}}}
  without: 0.1
klaviyo to braze, sent_by=context: {{ event.total }} => {{context.${total}}}
# the data of a second event stays by hand
braze: {{event_properties.${a}}} {{api_trigger_properties.${b}}}
  => {{event.a}} {{api_trigger_properties.${b}}}
  by hand: …one event, here of `event_properties`…
# the way of the source selects the event data
braze, sent_by_source=api_trigger_properties: {{event_properties.${a}}}
     {{api_trigger_properties.${b}}}
  => {{event_properties.${a}}} {{event.b}}
  by hand: Content has data of one event, here of `api_trigger_properties`. This tag reads…
# a member of bare event data has its path
iterable, bare=event: {{order.a.[b c]}} => {{event.order.a["b c"]}}
# event data of several parts is read
onesignal: {{ message.custom_data.a.b }} => {{event.a.b}}
# event data with a name that the target refuses needs another one
klaviyo to braze: {{ event|lookup:'$value'|default:'' }}
  by hand: …Send the value with another name.
klaviyo to braze, event.$value means event.value: {{ event|lookup:'$value'|default:'' }}
  => {{event_properties.${value}}}
klaviyo to sfmc: {{ event|lookup:'$value'|default:'' }}
  by hand: …Send the value with another name.
klaviyo to sfmc, event.$value means event.value: {{ event|lookup:'$value'|default:'' }}
  => %%[ SET @value = AttributeValue("value") ]%%%%=v(@value)=%%
# a name that only accounts usually have has a caveat
sfmc: %%firstname%% => caveat: …usually have…
iterable: {{firstName}} => caveat: …usually have…
sfmc, FirstName means first_name: %%FirstName%% => without: usually have
sfmc: %%emailaddr%% => without: usually have
mailchimp: *|FNAME|* => without: usually have
mailchimp, MERGE1 means first_name: *|MERGE1|* => without: usually have
# a name that can be a field or event data is by hand until it is said
iterable: {{total}}
  by hand: `total` can be a field or event data. Say which with a file of names, or for all such
     names with the option `bare`.
iterable, bare=field: {{total}} => {{recipient.total}}
iterable, bare=event: {{total}} => {{event.total}}
iterable, total means event.order.total: {{total}} => {{event.order.total}}
iterable, total means spent: {{total}} => {{recipient.spent}}
sendgrid: {{total}}
  by hand: `total` can be a field or event data. Say which with a file of names, or for all such
     names with the option `bare`.
sendgrid, bare=field: {{total}} => {{recipient.total}}
sendgrid, bare=event: {{total}} => {{event.total}}
sendgrid, total means event.order.total: {{total}} => {{event.order.total}}
sendgrid, total means spent: {{total}} => {{recipient.spent}}
# a merge tag with an unknown word before a colon is no field
  by hand: …is no name of a field at Mailchimp…
mailchimp to braze: *|QRCODE:abc|*
mailchimp to braze: *|RAW:BIO|*
mailchimp to braze: *|FNAME:there|*
mailchimp to braze: *|UPPER:RAW:BIO|*
mailchimp to braze: *|IF:FNAME:there|*x*|END:IF|*
# the telephone number and the id of users have the names of iterable
braze to iterable, surface=html: {{${phone_number}}} {{${user_id}}} => {{phoneNumber}} {{userId}}
  caveat: …
  caveat 21: …
iterable to braze, surface=html: {{phoneNumber}} {{userId}}
  => {{${phone_number} | escape}} {{${user_id} | escape}}
  caveat: …
  caveat 17: …
klaviyo to iterable, surface=html: {{ person.phone_number }} => {{phoneNumber}}
  caveat: …
"""


@stories(STORIES)
def test_a_conversion(story):
    told(story)


@pytest.mark.parametrize(
    ("esp", "name"), [("iterable", "firstName"), ("sendgrid", "first_name"), ("sendgrid", "email")]
)
@pytest.mark.parametrize("bare", [None, "field", "event"])
def test_a_standard_name_is_a_field_whatever_bare_names_are(esp, name, bare):
    options = ConversionOptions(bare=bare)

    converted = convert(f"{{{{{name}}}}}", read=esp, write="portable", options=options)

    assert converted.content == f"{{{{recipient.{'email' if name == 'email' else 'first_name'}}}}}"


def test_event_data_without_a_code_can_have_a_name():
    source, options = "{{journey.size_of_shoe}}", ConversionOptions(sent_by="context")

    ((_, reason),) = by_hand(convert(source, read="customerio", write="braze", options=options))
    name, _, path = reason.split("`")[1].partition(": ")
    options = evolve(options, names={name: path})
    converted = convert(source, read="customerio", write="braze", options=options)

    assert "with a file of names" in reason
    assert converted.content == "{{context.${size_of_shoe}}}"


def test_names_say_which_keys_are_meant():
    converted = convert(
        "{{ person.TIER }}",
        read="klaviyo",
        write="portable",
        options=ConversionOptions(names={"TIER": "loyalty_tier"}),
    )

    assert converted.content == "{{recipient.loyalty_tier}}"
    assert converted.names == {"TIER": "loyalty_tier"}


@pytest.mark.parametrize(
    ("source", "name", "alias"),
    [
        ("%%[SET @e = Email]%%%%=v(@e)=%% %%emailaddr%%", "Email", "emailaddr"),
        ("%%FirstName%% %%first_name%%", "FirstName", "first_name"),
    ],
)
def test_two_names_that_mean_a_standard_field_are_one_with_a_caveat(source, name, alias):
    converted = convert(source, read="sfmc", write="braze")

    first, second = converted.content.split(" ")
    assert first == second
    caveat = (
        f"`{name}` and `{alias}` are read as one field. If they are two, give one of them another"
        " key in a file of names."
    )
    assert caveat in converted.tags[-1].reasons
    assert [each.name for each in converted.fields] == [name]


def test_a_name_that_is_only_assumed_is_a_caveat():
    first, tier = braze("{{ first_name }}{{ person.tier }}").tags

    assert first.outcome is Outcome.CONVERTED
    assert "The name of tier at Braze is assumed." in tier.reasons[0]


@pytest.mark.parametrize("target", ["sfmc", "iterable"])
def test_a_name_that_is_usual_but_no_field_of_the_esp_is_assumed(target):
    converted = convert("{{ first_name }}{{ email }}", read="klaviyo", write=target)

    first, email = converted.tags
    assert any(each.startswith("The name of first_name at ") for each in first.reasons)
    assert not any("is assumed" in each for each in email.reasons)


@pytest.fixture
def codes() -> FieldCodes:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    fields = define_fields(
        [
            FieldDraft(name="Tier", key="loyalty_tier", data_type=DataType.TEXT),
            FieldDraft(name="Vip", key="vip", data_type=DataType.BOOLEAN),
        ]
    )
    klaviyo, braze = (
        IntegrationDraft(esp=esp, name="Main", created_at=at).with_id(
            IntegrationId(number), OrganizationId(1)
        )
        for number, esp in enumerate(("klaviyo", "braze"), start=1)
    )
    klaviyo = evolve(klaviyo, names={FieldId(1): SetName("TIER")})
    braze = evolve(braze, names={FieldId(1): SetName("Loyalty")})
    return FieldCodes.of(fields, [klaviyo, braze])


def test_with_an_organization_the_names_and_types_are_its_own(codes):
    source = "{{ person.TIER }}{% if person.vip %}x{% endif %}"

    converted = convert(source, read=IntegrationId(1), write=IntegrationId(2), codes=codes)

    assert converted.content == (
        "{{custom_attribute.${Loyalty}}}{% if custom_attribute.${vip} %}x{% endif %}"
    )
    assert "No tag shows" not in str([each.reasons for each in converted.tags])


def test_a_name_that_no_field_has_stays_by_hand(codes):
    converted = convert("{{ person.shoe }}", read="klaviyo", write="portable", codes=codes)

    assert converted.content == "{{ person.shoe }}"
    assert "There is no field with the key shoe." in by_hand(converted)[0][1]
