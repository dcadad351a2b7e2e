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
iterable: {{email}}{{profile.email}} => {{recipient.email}}{{recipient.email}}
  without: one field
hubspot: {{ contact.email }}{{ personalization_token('email') }}
  => {{recipient.email}}{{recipient.email}}
  without: one field
# two names with one key are not confused
braze: {{ ${city} }}{{ custom_attribute.${city} }}
  => {{recipient.city}}{{ custom_attribute.${city} }}
  by hand: …Another name has the key city…
braze, city means city: {{ ${city} }}{{ custom_attribute.${city} }}
  => {{recipient.city}}{{ custom_attribute.${city} }}
  by hand: …Another name has the key city…
# two names have one key if a file of names says so
sfmc, Town means city, Place means city: %%Town%%%%Place%% => {{recipient.city}}{{recipient.city}}
# two names can be two fields
klaviyo: {{ first_name }}{{ person.FirstName }} => {{recipient.first_name}}{{ person.FirstName }}
  by hand: Another name has the key …
sfmc: %%Shoe_Size%%%%ShoeSize%% => {{recipient.shoe_size}}%%ShoeSize%%
  by hand: Another name has the key …
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
"""


@stories(STORIES)
def test_a_conversion(story):
    told(story)


@pytest.mark.parametrize(
    ("esp", "name", "names", "is_named"),
    [
        ("sfmc", "%%firstname%%", {}, True),
        ("iterable", "{{firstName}}", {}, True),
        ("sfmc", "%%FirstName%%", {"FirstName": "first_name"}, False),
        ("sfmc", "%%emailaddr%%", {}, False),
        ("mailchimp", "*|FNAME|*", {}, False),
        ("mailchimp", "*|MERGE1|*", {"MERGE1": "first_name"}, False),
    ],
)
def test_a_name_that_only_accounts_usually_have_has_a_caveat(esp, name, names, is_named):
    converted = convert(name, read=esp, write="portable", options=ConversionOptions(names=names))

    assert ("usually have" in str(converted.tags[0].reasons)) is is_named
    assert by_hand(converted) == []


@pytest.mark.parametrize("esp", ["iterable", "sendgrid"])
@pytest.mark.parametrize(
    ("options", "content"),
    [
        ({}, None),
        ({"bare": "field"}, "{{recipient.total}}"),
        ({"bare": "event"}, "{{event.total}}"),
        ({"names": {"total": "event.order.total"}}, "{{event.order.total}}"),
        ({"names": {"total": "spent"}}, "{{recipient.spent}}"),
    ],
)
def test_a_name_that_can_be_a_field_or_event_data_is_by_hand_until_it_is_said(
    esp, options, content
):
    converted = convert(
        "{{total}}", read=esp, write="portable", options=ConversionOptions(**options)
    )

    assert converted.content == (content or "{{total}}")
    reason = (
        "`total` can be a field or event data. Say which with a file of names, or for all such"
        " names with the option `bare`."
    )
    assert by_hand(converted) == ([] if content else [(1, reason)])


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


@pytest.mark.parametrize(
    "source",
    [
        *("*|QRCODE:abc|*", "*|RAW:BIO|*", "*|FNAME:there|*", "*|UPPER:RAW:BIO|*"),
        "*|IF:FNAME:there|*x*|END:IF|*",
    ],
)
def test_a_merge_tag_with_an_unknown_word_before_a_colon_is_no_field(source):
    converted = convert(source, read="mailchimp", write="braze")

    assert source in converted.content
    ((_, reason),) = by_hand(converted)
    assert "is no name of a field at Mailchimp" in reason


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


@pytest.mark.parametrize(
    ("read", "source", "write", "expected"),
    [
        ("braze", "{{${phone_number}}} {{${user_id}}}", "iterable", "{{phoneNumber}} {{userId}}"),
        ("iterable", "{{phoneNumber}} {{userId}}", "braze", "{{${phone_number}}} {{${user_id}}}"),
        ("klaviyo", "{{ person.phone_number }}", "iterable", "{{phoneNumber}}"),
    ],
)
def test_the_telephone_number_and_the_id_of_users_have_the_names_of_iterable(
    read, source, write, expected
):
    options = ConversionOptions(surface="html")

    converted = convert(source, read=read, write=write, options=options)

    assert converted.content.replace(" | escape", "") == expected
    assert all(each.outcome is Outcome.CAVEAT for each in converted.tags)


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
