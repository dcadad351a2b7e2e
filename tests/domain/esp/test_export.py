"""Export replaces placeholders with insertion codes and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    DataType,
    FieldId,
    IntegrationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.domain.esp import (
    ContentNotExportable,
    Esp,
    Obstacle,
    Placeholder,
    RefusedPlaceholder,
    derive_snippet,
    export_content,
    exportable_fields,
    find_malformed_placeholders,
    find_placeholders,
)

from .strategies import ANY_TEXT

SYNC = sync_channel(IntegrationId(7))


@pytest.fixture(scope="session")
def make_field_with_code(make_field):
    """Make a field with this key and this insertion code."""

    def make(key: str, code: str | None = None, **members: object) -> RecipientField:
        return make_field(API, key=key, custom_insertion_code=code, **members)

    return make


@pytest.fixture(scope="session")
def make_synced_field(make_field):
    """Make a field with this key that was synced from an ESP with this name."""

    def make(key: str, name: str, esp: Esp = Esp.SALESFORCE) -> RecipientField:
        snippet = derive_snippet(esp, name)
        field = make_field(
            SYNC,
            key=key,
            esp_field_name=name,
            custom_insertion_code=snippet.insertion_code,
            custom_value_expression=snippet.value_expression,
        )
        return evolve(field, id=FieldId(len(key)))

    return make


@pytest.fixture(scope="session")
def catalog(make_field_with_code, make_synced_field):
    return [
        make_field_with_code("city", "{{customer.city}}"),
        make_field_with_code("nested", "<{{recipient.city}}{{recipient.nope}}\\1\\g<0>>"),
        make_synced_field("tier", "Loyalty Tier"),
        make_synced_field("points", "points"),
        make_synced_field("first_name", "FNAME", Esp.MAILCHIMP),
        make_field_with_code("secret", "{{customer.secret}}", insertable=False),
        make_field_with_code("bare"),
    ]


def refusals(content: str, fields: list[RecipientField]) -> tuple[RefusedPlaceholder, ...]:
    with pytest.raises(ContentNotExportable) as refused:
        export_content(content, fields)
    return refused.value.refused


def test_obstacles_are_sentences():
    assert [obstacle.value for obstacle in Obstacle] == [
        "There is no field with this key.",
        "This field is not insertable.",
        "This field has no insertion code.",
        "Another field of this content sets the same variable.",
    ]


def test_each_placeholder_is_replaced_with_the_code_of_its_field(catalog):
    content = "Hi {{recipient.first_name}} of {{recipient.city}}, {{recipient.city}}!"
    exported = "Hi *|FNAME|* of {{customer.city}}, {{customer.city}}!"
    assert export_content(content, catalog) == exported


def test_each_prelude_is_inserted_once_at_the_beginning_in_order_of_use(catalog):
    content = "<p>{{recipient.points}}, {{recipient.tier}}, {{recipient.points}}</p>"
    assert export_content(content, catalog) == (
        '%%[ SET @points = AttributeValue("points") ]%%'
        '%%[ SET @Loyalty_Tier = AttributeValue("Loyalty Tier") ]%%'
        "<p>%%=v(@points)=%%, %%=v(@Loyalty_Tier)=%%, %%=v(@points)=%%</p>"
    )


def test_preludes_of_unused_fields_are_not_inserted(catalog):
    assert export_content("{{recipient.tier}}", catalog).count("SET") == 1


def test_a_code_of_an_api_field_has_no_prelude(make_field):
    field = make_field(
        API, key="tier", custom_insertion_code="%%=v(@Tier)=%%", custom_value_expression="@Tier"
    )
    assert export_content("{{recipient.tier}}", [field]) == "%%=v(@Tier)=%%"


def test_a_field_of_another_dialect_has_no_prelude(make_synced_field):
    field = make_synced_field("tier", "Tier", Esp.CUSTOMER_IO)
    assert export_content("{{recipient.tier}}", [field]) == "{{customer.Tier}}"


def test_placeholders_in_inserted_codes_are_not_replaced(catalog):
    assert export_content("{{recipient.nested}}", catalog) == (
        "<{{recipient.city}}{{recipient.nope}}\\1\\g<0>>"
    )


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no placeholder",
        "{{ recipient.city }}",
        "{{recipient.city }}",
        "{recipient.city}",
        "{{{recipient.city}}}",
        "{{recipient.}}",
        "{{recipient}}",
        "{{recipients.city}}",
        "{{Recipient.city}}",
        "{{recipient.city.name}}",
        "{{recipient.city|upper}}",
        "{{recipient.ci\nty}}",
        "{{recipient.city}",
        "recipient.city}}",
        "{% if recipient.city %}",
        "{{city}} \r\n\t\u2028 &amp; %%=v(@x)=%% *|CITY|*",
    ],
)
def test_other_content_does_not_change(content, catalog):
    assert export_content(content, catalog) == content


@pytest.mark.parametrize(
    ("content", "exported"),
    [
        ('{"city":{{recipient.city}}}', '{"city":{{customer.city}}}'),
        ("{{{recipient.city}}", "{{{customer.city}}"),
        ("{{recipient.{{recipient.city}}", "{{recipient.{{customer.city}}"),
        ("{{recipient.city}}{{recipient.city}}", "{{customer.city}}{{customer.city}}"),
        ("{{{recipient.city}}}{{recipient.city}}", "{{{recipient.city}}}{{customer.city}}"),
    ],
)
def test_a_placeholder_is_found_in_any_context(content, exported, catalog):
    assert export_content(content, catalog) == exported


def test_every_placeholder_that_can_not_be_replaced_is_reported_with_its_position(catalog):
    content = (
        "é{{recipient.frist_name}}\r\n{{recipient.city}}\n\n"
        "  {{recipient.secret}}{{recipient.bare}}\n"
    )
    assert refusals(content, catalog) == (
        RefusedPlaceholder(
            Placeholder("frist_name", 1, 1, 2), Obstacle.UNKNOWN_FIELD, "first_name"
        ),
        RefusedPlaceholder(Placeholder("secret", 49, 4, 3), Obstacle.NOT_INSERTABLE),
        RefusedPlaceholder(Placeholder("bare", 69, 4, 23), Obstacle.NO_INSERTION_CODE),
    )


def test_the_message_contains_every_position(catalog):
    with pytest.raises(ContentNotExportable) as refused:
        export_content("{{recipient.nope}}\n{{recipient.nope}} {{recipient.bare}}", catalog)
    assert str(refused.value) == (
        "Line 1, column 1, nope: There is no field with this key."
        " Line 2, column 1, nope: There is no field with this key."
        " Line 2, column 20, bare: This field has no insertion code."
    )


@pytest.mark.parametrize("key", ["City", "größe", "1", "_", "key", "c__d"])
def test_a_key_that_no_field_can_have_is_unknown(key, catalog):
    (refused,) = refusals(f"{{{{recipient.{key}}}}}", catalog)
    assert (refused.placeholder.key, refused.obstacle) == (key, Obstacle.UNKNOWN_FIELD)


def test_a_variable_that_another_field_of_the_content_sets_is_rejected(make_synced_field):
    fields = [make_synced_field("one", "First Name"), make_synced_field("two", "first-name")]
    (refused,) = refusals("{{recipient.one}} {{recipient.two}} {{recipient.one}}", fields)
    assert refused == RefusedPlaceholder(Placeholder("two", 18, 1, 19), Obstacle.VARIABLE_TAKEN)
    assert export_content("{{recipient.two}}", fields).endswith("%%=v(@first_name)=%%")


def test_two_fields_with_the_same_esp_field_name_share_a_variable(make_synced_field):
    fields = [make_synced_field("one", "Tier"), make_synced_field("two", "Tier")]
    exported = export_content("{{recipient.one}}{{recipient.two}}", fields)
    assert exported.count("SET @Tier") == 1
    assert exported.count("%%=v(@Tier)=%%") == 2


def test_long_content_on_one_line_is_exported_quickly(catalog):
    content = "x{{recipient.city}}" * 50_000
    begin = perf_counter()
    assert export_content(content, catalog).count("{{customer.city}}") == 50_000
    assert perf_counter() - begin < 5


KEYS = ["city", "tier", "points", "first_name", "secret", "bare", "nope", "City"]
INSERTED = ["city", "tier", "points", "first_name"]
OTHER_TEXT = ANY_TEXT | st.sampled_from(["{", "{{", "}", "}}", "{{recipient.", "\n", "\r\n", "a"])
UNTOUCHED = OTHER_TEXT.filter(lambda text: "}" not in text and "{" not in text)


@given(content=st.lists(OTHER_TEXT).map("".join))
def test_content_without_placeholders_does_not_change(content, catalog):
    if not list(find_placeholders(content)):
        assert export_content(content, catalog) == content


@given(data=st.data())
def test_content_around_placeholders_does_not_change(data, catalog):
    texts = data.draw(st.lists(UNTOUCHED, min_size=1))
    keys = [data.draw(st.sampled_from(INSERTED)) for _ in texts]
    content = "".join(f"{t}{{{{recipient.{k}}}}}" for t, k in zip(texts, keys, strict=True))
    codes = {str(f.key): f.custom_insertion_code for f in catalog}
    preludes = {
        "tier": '%%[ SET @Loyalty_Tier = AttributeValue("Loyalty Tier") ]%%',
        "points": '%%[ SET @points = AttributeValue("points") ]%%',
    }
    exported = "".join(preludes.get(key, "") for key in dict.fromkeys(keys))
    exported += "".join(t + str(codes[k]) for t, k in zip(texts, keys, strict=True))
    assert export_content(content, catalog) == exported
    assert export_content(exported, catalog) == exported


def positions(pieces: list[tuple[str, str]]) -> Iterator[Placeholder]:
    """Yield the positions of the keys, counted character by character."""
    offset, line, column = 0, 1, 1
    for text, key in pieces:
        for character in text:
            offset, column = offset + 1, column + 1
            if character == "\n":
                line, column = line + 1, 1
        yield Placeholder(key, offset, line, column)
        length = len(f"{{{{recipient.{key}}}}}")
        offset, column = offset + length, column + length


@given(pieces=st.lists(st.tuples(UNTOUCHED, st.sampled_from(KEYS)), max_size=8))
def test_every_position_is_that_of_its_placeholder(pieces, catalog):
    content = "".join(f"{text}{{{{recipient.{key}}}}}" for text, key in pieces)
    places = list(positions(pieces))
    assert list(find_placeholders(content)) == places
    bad = [place for place in places if place.key not in INSERTED]
    if bad:
        assert [refused.placeholder for refused in refusals(content, catalog)] == bad
    else:
        export_content(content, catalog)
    for place in places:
        assert content.startswith(f"{{{{recipient.{place.key}}}}}", place.offset)


def test_a_number_field_is_exported_like_any_other(make_field_with_code):
    field = make_field_with_code("age", "{{customer.age}}", data_type=DataType.NUMBER)
    assert export_content("{{recipient.age}}", [field]) == "{{customer.age}}"


def test_one_email_can_contain_the_fields_of_only_one_integration(make_field):
    channels = (API, ADMINISTRATOR, SYNC, sync_channel(IntegrationId(8)))
    api, manual, synced, other = (make_field(channel) for channel in channels)
    fields = (other, synced, manual, api)
    assert exportable_fields(fields, IntegrationId(7)) == (synced, manual, api)
    assert exportable_fields(fields, None) == (manual, api)


@pytest.mark.parametrize(
    "inside",
    [
        *(
            " recipient.size ",
            "\trecipient.size",
            "recipient.size ",
            "Recipient.size",
            "RECIPIENT.SIZE",
        ),
        *("recipient.first-name", "recipient.size|upper", "recipient.", f"recipient.{'-' * 100}"),
    ],
)
def test_a_malformed_placeholder_is_found_with_its_position(inside):
    content = f"Hi {{{{recipient.city}}}},\n {{{{{inside}}}}}"
    assert list(find_malformed_placeholders(content)) == [Placeholder(inside, 24, 2, 2)]


@pytest.mark.parametrize(
    "content",
    [
        *("{{recipient.size}}", "{{{recipient.size}}}", "{{ contact.size }}", "{recipient.size }"),
        f"{{{{recipient.{'-' * 101}}}}}",
    ],
)
def test_other_content_is_not_a_malformed_placeholder(content):
    assert list(find_malformed_placeholders(content)) == []


def test_at_most_20_unknown_keys_have_a_suggestion(make_field_with_code):
    content = "".join(f"{{{{recipient.city_{n}}}}}" for n in range(10, 40))
    with pytest.raises(ContentNotExportable) as raised:
        export_content(content, [make_field_with_code("city_1", "code")])
    suggestions = [refused.suggestion for refused in raised.value.refused]
    assert suggestions == ["city_1"] * 20 + [None] * 10
