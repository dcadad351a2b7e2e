"""Conditions and loops of a template become those of content, or of another ESP."""

from __future__ import annotations

import pytest

from recipient_fields.domain import DataType
from recipient_fields.domain.integrations import ConversionOptions, Outcome, convert

from ...support.stories import stories
from .conversion_stories import braze, by_hand, other_reasons, told

WITHOUT_CAVEATS = """
# a loop becomes content
klaviyo: {% for x in event.items %}{{ x.a }}{% if not forloop.last %},{% endif %}{% endfor %}
  => {{#each event.items as x}}{{x.a}}{{#if loop is not last}},{{/if}}{{/each}}
klaviyo: {% for x in event|lookup:'Order Items' %}{{ x|lookup:'A b' }}{% empty %}-{% endfor %}
  => {{#each event["Order Items"] as x}}{{x["A b"]}}{{else}}-{{/each}}
klaviyo: {% for x in event.a %}{{forloop.counter}}{% for y in x.b %}{{y}}{% endfor%}{%endfor%}
  => {{#each event.a as x}}{{loop.number}}{{#each x.b as y}}{{y}}{{/each}}{{/each}}
braze: {% assign l = event_properties.${a} %}{% for x in l %}{{ x.b | upcase }}{% endfor %}
  => {{#each event.a as x}}{{x.b | upper}}{{/each}}
braze: {% for x in context.${a} %}{% assign y = x.b %}{{ y.c }}{% else %}-{% endfor %}
  => {{#each event.a as x}}{{x.b.c}}{{else}}-{{/each}}
braze: {% for x in context.${a} %}{{ x.b }}{% for x in x.c %}{{ x.d }}{% endfor %}{% endfor %}
  => {{#each event.a as x}}{{x.b}}{{#each x.c as x2}}{{x2.d}}{{/each}}{{/each}}
braze: a {%- for x in context.${a} -%} b {%- endfor -%} c
  => a {{~#each event.a as x~}} b {{~/each~}} c
braze: {% for x in context.${a} %} {% endfor %}b => b
customerio: {% for x in event.a %}{{ x.b }}{% endfor %} => {{#each event.a as x}}{{x.b}}{{/each}}
onesignal: {% for x in message.custom_data.a %}{{ x.b }}{% endfor %}
  => {{#each event.a as x}}{{x.b}}{{/each}}
hubspot: {% if custom.a %}{% for x in custom.a %}{{ x.b }}{% endfor %}{% else %}-{% endif %}
  => {{#each event.a as x}}{{x.b}}{{else}}-{{/each}}
hubspot: {% if custom.a %}{% for x in custom.a %}{{ x.b }}{% endfor %}{% endif %}
  => {{#each event.a as x}}{{x.b}}{{/each}}
hubspot: {% for x in custom.a %}{{ x.b }}{{ loop.index }}{% endfor %}
  => {{#each event.a as x}}{{x.b}}{{loop.number}}{{/each}}
brevo: {% for x in params.a %}{{ x.b }}{% empty %}-{% endfor %}
  => {{#each event.a as x}}{{x.b}}{{else}}-{{/each}}
sendgrid, d means event.d, e means event.e: {{#each a}}{{this.b}}{{c}}{{../d}}{{@root.e}}
    {{#if @first}}!{{/if}}{{else}}-{{/each}}
  => {{#each event.a as item}}{{item.b}}{{item.c}}{{event.d}}{{event.e}}{{#if loop is first}}!
    {{/if}}{{else}}-{{/each}}
sendgrid, d means event.d: {{#each a}}{{#each this.b}}{{this}}{{../c}}{{../../d}}{{/each}}{{/each}}
    {{a.[0].c}}
  => {{#each event.a as item}}{{#each item.b as item2}}{{item2}}{{item.c}}{{event.d}}{{/each}}
    {{/each}}{{event.a[0].c}}
iterable: {{#each a as |x|}}{{x.b}}{{c}}{{/each}} => {{#each event.a as x}}{{x.b}}{{x.c}}{{/each}}
# another comparison has no caveat about texts
sfmc: %%=IIF(Visits > 3, 'a', 'b')=%% => {{#if recipient.visits > 3}}a{{else}}b{{/if}}
klaviyo: {% if first_name == 'Ann' %}a{% endif %} => {{#if recipient.first_name = "Ann"}}a{{/if}}
# a birthday has no caveat for the same ESP
mailchimp to mailchimp: *|BIRTHDAY|* => *|BIRTHDAY|*
"""


@stories(WITHOUT_CAVEATS)
def test_a_conversion_without_caveats(story):
    assert other_reasons(told(story)) == []


STORIES = """
# another loop and what hides in one stay by hand
braze: {% for x in context.${a} limit: 3 %}x{% endfor %} => by hand: …loops over whole lists…
braze: {% for x in (1..3) %}x{% endfor %} => by hand: …lists of event data only…
klaviyo: {% for x in person.list %}x{% endfor %} => by hand: …lists of event data only…
klaviyo: {% for a, b in event.x %}x{% endfor %} => by hand: …loops over whole lists…
sendgrid: {{#each a}}x{{else if b}}y{{/each}} => by hand: …loops over whole lists…
sendgrid: {{#each a}}{{@index}}{{/each}} => {{#each event.a as item}}{{@index}}{{/each}}
  by hand: …the state of a loop…
iterable: {{#each a}}{{profile.b}}{{/each}} => {{#each event.a as item}}{{profile.b}}{{/each}}
  by hand: …reads this name in its item…
iterable: {{#each a}}{{unsubscribeUrl}}{{/each}}
  => {{#each event.a as item}}{{unsubscribeUrl}}{{/each}}
  by hand: …reads this name in its item…
braze: {{event_properties.${items}.size}} => by hand: …reads `size` of a list…
braze: {{event_properties.${items}.first.name}} => by hand: …reads `first` of a list…
customerio: {{event.items.last}} => by hand: …reads `last` of a list…
sendgrid: {{#each a}}{{this.b.length}}{{/each}}
  => {{#each event.a as item}}{{this.b.length}}{{/each}}
  by hand: …reads `length` of a list…
# a tag by hand in a loop keeps no other tag that reads the item
klaviyo to braze: {% for item in event.Items %}{{ item.Name|title }}: {{ item.Quantity }} {{
     item.Name }}{% endfor %}
  => {% for item in event_properties.${Items} %}{{ item.Name|title }}: {{item.Quantity}}
     {{item.Name}}{% endfor %}
  by hand 30: …
# a name of Handlebars that begins with a hyphen removes no white space
sendgrid to customerio: {{#each lines}}$ {{-price}} b {{~name~}} c{{/each}}
  => {% for item in event.lines %}$ {{item["-price"]}} b{{item.name}}c{% endfor %}
# a block stays one if the default of the target is a block for fewer values
braze to customerio: {% if ${city} %}{{${city}}}{% else %}there{% endif %}
  => {% if customer.city %}{{customer.city}}{% else %}there{% endif %}
  without: This code reads
# a block that is no default does not show the type of its value
klaviyo to braze: {% if person.vip %}{{ person.n }}{% else %}none{% endif %}{% if person.n %}x
    {% endif %}
  caveat 59: No tag shows the type of n…
# an exact block of an unknown type is no default
klaviyo to braze, exact: {% if person.points %}{{ person.points }}{% else %}none{% endif %}
  => {% if custom_attribute.${points} and custom_attribute.${points} != empty and
     custom_attribute.${points} != 0 %}{{custom_attribute.${points}}}{% else %}none{% endif %}
# a truth test of Handlebars stays short in Handlebars
  without: No tag shows
sendgrid to iterable: {{#each a}}{{#if this.gift}}gift{{/if}}{{/each}}
  => {{#each a as |item|}}{{#if item.gift}}gift{{/if}}{{/each}}
iterable to sendgrid, bare=event: {{#if gift}}{{#unless code}}x{{/unless}}{{else}}y{{/if}}
  => {{#if gift}}{{#if code}}{{else}}x{{/if}}{{else}}y{{/if}}
klaviyo to sendgrid: {% if event.total and event.total > 3 %}a{% else %}b{% endif %}
  => {{#if total}}{{#greaterThan total 3}}a{{else}}b{{/greaterThan}}{{else}}b{{/if}}
sendgrid to iterable, bare=event: {{#if total}}a{{/if}}{{#greaterThan total 3}}b{{/greaterThan}}
  => {{#if total}}a{{/if}}{{#if total}}{{#ifGt total 3}}b{{/ifGt}}{{/if}}
# a caveat names the values that differ
braze: {% if ${city} %}x{% endif %}{{ ${city} | upcase }}
  caveat: …reads an empty text in city as no value…
braze: {% if ${city} != '' %}x{% endif %} => caveat: …reads a missing value in city as no value…
braze: {% if ${city} != blank %}x{% endif %} => caveat: …white space only…
# a test of an unknown type names the values that differ
klaviyo to braze: {% if person.a %}x{% endif %}
  => {% if custom_attribute.${a} and custom_attribute.${a} != "" %}x{% endif %}
  caveat: No tag shows the type of a. This code reads 0, an empty list and an empty object in a as a
     value, and Klaviyo as none…
braze to klaviyo: {% if custom_attribute.${a} %}x{% endif %}
  => {% if person|lookup:'a' %}x{% endif %}
  caveat: No tag shows the type of a. This code reads 0, an empty text, an empty list and an empty
     object in a as no value, and Braze as…
klaviyo to hubspot: {% if person.a %}x{% endif %} => {% if contact.a %}x{% endif %}
  caveat: No tag shows the type of a. This code reads the text "false" in a as no value, and Klaviyo
     as one…
klaviyo: {% if person.a %}x{% endif %} => {{#if recipient.a is set}}x{{/if}}
  caveat: No tag shows the type of a. This code reads false, 0, an empty list and an empty object in
     a as a value, and Klaviyo as none…
# an exact test of an unknown type is long or stays by hand
klaviyo to braze, exact: {% if person.a %}x{% endif %}
  => {% if custom_attribute.${a} and custom_attribute.${a} != empty and custom_attribute.${a} != 0
     %}x{% endif %}
  without: No tag shows
klaviyo, exact: {% if person.a %}x{% endif %} => by hand: …No tag shows the type of a. Give it…
# a standard field is a text but a birthday
braze: {% if ${first_name} %}x{% endif %}
  caveat: This code reads an empty text in first_name as no value, and Braze as one.
  without: No tag shows
braze: {% if ${date_of_birth} %}x{% endif %} => caveat: …No tag shows the type of birthday…
# a comparison with empty is one of lists in Liquid
customerio to braze: {% if event.guests == empty %}alone{% else %}many{% endif %}
  => {% if event_properties.${guests} == empty %}alone{% else %}many{% endif %}
customerio: {% if event.guests == empty %}alone{% else %}many{% endif %}
  caveat: No tag shows the type of event.guests. This code reads an empty list and an empty object
     in event.guests as a value, and Customer.io as none.
  caveat: No tag shows the type of event.guests. This code reads a missing value in event.guests as
     no value, and Customer.io as one.
customerio: {% if event.guests == empty %}alone{% else %}many{% endif %}{{ event.guests | upcase }}
  => {{#if event.guests is not set}}alone{{else}}many{{/if}}{{event.guests | upper}}
  caveat: …This code reads a missing value in event.guests as no…
# caveats about comparisons of numbers are those of the source
klaviyo: {% if person.n == 3 %}a{% endif %} => caveat: …a number that is stored as text…
klaviyo: {% if person.n > 3 %}a{% endif %} => caveat: …a number that is stored as text…
mailchimp: *|IF:N=3|*a*|END:IF|* => caveat: …whether 3 equals 3.0…
# texts have no order
klaviyo: {% if person.a > 'x' %}b{% endif %}
  by hand: Texts have no order here. Write this condition for the other ESP.
# tags that contradict each other stay
klaviyo to braze: {% if person.n > 3 %}a{% endif %}{% if person.n == 'x' %}b{% endif %}
  => {% assign n_number = custom_attribute.${n} | plus: 0 %}{% if n_number > 3 %}a{% endif %}
    [BY HAND: line 1]{% if person.n == 'x' %}b{% endif %}[END BY HAND]
  by hand 34: …reads the field n as a text, but other tags read it as a number…
# a test of a field is not copied for an ESP that stores texts only
braze to onesignal: {% if ${a} == ${b} %}c{% endif %}
  by hand: No condition of content means the same. Write this condition for the other ESP.
braze to customerio: {% if ${a} == ${b} %}c{% endif %}
  => {% if customer.a == customer.b %}c{% endif %}
# a text of Mailchimp can contain the word and
mailchimp: *|IF:TEAM=Tom and Jerry|*x*|END:IF|* => {{#if recipient.team = "Tom and Jerry"}}x{{/if}}
# the word of the audience of Mailchimp is no field
mailchimp to braze: *|IF:LIST|*x*|END:IF|* => by hand: Only Mailchimp tests the audience.…
# joined tests which Mailchimp does not have are no text
  by hand: No source says how Mailchimp reads several tests…
mailchimp to braze: *|IF:TIER=gold && CITY=Berlin|*x*|END:IF|*
mailchimp to braze: *|IF:TIER && CITY|*x*|END:IF|*
mailchimp to braze: *|IF:AGE>=18 and AGE<30|*x*|END:IF|*
mailchimp to braze: *|IF:A=b OR A=c|*x*|END:IF|*
mailchimp to braze: *|IF:A=1 || B=2|*x*|END:IF|*
# digits that no number shows are text
mailchimp: *|IF:ZIP=01234|*a*|END:IF|* => {{#if recipient.zip = "01234"}}a{{/if}}
mailchimp: *|IF:ZIP=1.10|*a*|END:IF|* => {{#if recipient.zip = "1.10"}}a{{/if}}
mailchimp: *|IF:ZIP=75001|*a*|END:IF|* => {{#if recipient.zip = 75001}}a{{/if}}
mailchimp: *|IF:ZIP=0|*a*|END:IF|* => {{#if recipient.zip = 0}}a{{/if}}
mailchimp: *|IF:ZIP=-1.5|*a*|END:IF|* => {{#if recipient.zip = -1.5}}a{{/if}}
# a birthday without a year has a caveat
  caveat: …a month and a day without a year, such as 11/29…
mailchimp to braze: *|BIRTHDAY|*
mailchimp to braze: *|IF:BIRTHDAY=11/29|*x*|END:IF|*
mailchimp: *|BIRTHDAY|*
braze to mailchimp: {{${date_of_birth}}}
"""


@stories(STORIES)
def test_a_conversion(story):
    told(story)


PRESENCES = """
# a test whether a value is set stays as short as its meaning permits
customerio to braze: {% if customer.a %}x{% endif %} => {% if custom_attribute.${a} %}x{% endif %}
customerio to braze: {% unless customer.a %}x{% endunless %}
  => {% unless custom_attribute.${a} %}x{% endunless %}
customerio to braze: {% unless customer.a %}x{% else %}y{% endunless %}
  => {% if custom_attribute.${a} %}y{% else %}x{% endif %}
customerio to braze: {% if customer.a != blank %}x{% endif %}
  => {% if custom_attribute.${a} != blank %}x{% endif %}
customerio to braze: {% if customer.a == nil %}x{% endif %}
  => {% if custom_attribute.${a} == nil %}x{% endif %}
customerio to braze: {% if customer.a and customer.a != '' %}x{% endif %}
  => {% if custom_attribute.${a} and custom_attribute.${a} != "" %}x{% endif %}
customerio to braze: {% if customer.a != nil and customer.a != '' %}x{% endif %}
  => {% if custom_attribute.${a} != nil and custom_attribute.${a} != "" %}x{% endif %}
customerio to braze: {% if customer.a %}x{% endif %}{{ customer.a | upcase }}
  => {% if custom_attribute.${a} %}x{% endif %}{{custom_attribute.${a} | upcase}}
customerio to braze: {% if customer.b == true %}x{% endif %}{% if customer.b %}y{% endif %}
  => {% assign b_text = custom_attribute.${b} | downcase %}{% if b_text == "true" %}x{% endif %}
    {% if custom_attribute.${b} %}y{% endif %}
klaviyo to brevo: {% if person.a %}x{% endif %} => {% if contact.A %}x{% endif %}
klaviyo to brevo: {% if not person.a %}x{% else %}y{% endif %}
  => {% if contact.A %}y{% else %}x{% endif %}
klaviyo to braze: {% if person.n > 3 %}x{% endif %}{% if not person.n %}y{% endif %}
  => {% assign n_number = custom_attribute.${n} | plus: 0 %}{% if n_number > 3 %}x{% endif %}
    {% unless custom_attribute.${n} and custom_attribute.${n} != 0 %}y{% endunless %}
sendgrid to iterable, bare=field: {{#if a}}x{{/if}} => {{#if a}}x{{/if}}
sendgrid to iterable, bare=field: {{#unless a}}x{{/unless}} => {{#if a}}{{else}}x{{/if}}
"""


@stories(PRESENCES)
@pytest.mark.parametrize("exact", [False, True])
def test_a_test_of_a_value_is_as_short_as_its_meaning_permits(story, exact):
    converted = told(story, exact=exact)
    assert not any("as no" in reason for tag in converted.tags for reason in tag.reasons)


DEFAULTS = """
# a block with a value and a text is a default
mailchimp to braze: *|IF:FNAME|**|FNAME|**|ELSE:|*there*|END:IF|*
  => {{${first_name} | default: 'there'}}
mailchimp to braze: *|IF:CITY|**|CITY|**|ELSE:|*your town*|END:IF|*
  => {{${city} | default: 'your town'}}
sendgrid to braze: {{#if first_name}}{{first_name}}{{else}}there{{/if}}
  => {{${first_name} | default: 'there'}}
sendgrid to braze: {{#unless first_name}}there{{else}}{{first_name}}{{/unless}}
  => {{${first_name} | default: 'there'}}
braze to klaviyo: {% if ${city} %}{{ ${city} }}{% else %}there{% endif %}
  => {{ person.City|default:'there' }}
braze to klaviyo: {% if ${city} != blank %}{{ ${city} }}{% else %}there{% endif %}
  => {{ person.City|default:'there' }}
sfmc to braze: %%[ IF EMPTY([City]) THEN ]%%home%%[ ELSE ]%%%%=v([City])=%%%%[ ENDIF ]%%
  => {{${city} | default: 'home'}}
"""


@stories(DEFAULTS)
def test_a_block_that_is_a_default(story):
    converted = told(story)
    assert len(converted.tags) == 4
    assert not any("No tag shows" in reason for tag in converted.tags for reason in tag.reasons)


@pytest.mark.parametrize(
    "source",
    [
        "{% if first_name %}{{ first_name }}{% else %}<b>there</b>{% endif %}",
        "{% if first_name %}Hi {{ first_name }}{% else %}there{% endif %}",
        "{% if first_name %}{{ last_name }}{% else %}there{% endif %}",
        "{% if not first_name %}{{ first_name }}{% else %}there{% endif %}",
        "{% if person.n > 3 %}{% endif %}{% if person.n %}{{ person.n }}{% else %}no{% endif %}",
    ],
)
def test_another_block_is_no_default(source):
    assert "default: '" not in convert(source, read="klaviyo", write="braze").content


@pytest.mark.parametrize(
    ("test", "has_caveat"),
    [
        ("person.n|default:'' == 0", True),
        ("person.n|default:'' != 0", True),
        ("person.n|default:'' < 3", True),
        ("person.n|default:'' > 3", False),
        ("person.n|default:'' == 3", False),
        ("person.n|default:'' != 3", False),
        ("person.n|default:'' != '' and person.n > 3", True),
        ("person.n|default:'' == False", True),
        ("person.n|default:'' == True", False),
        ("person.n|default_if_none:'' == 0", False),
        ("person.n == 0", False),
    ],
)
def test_a_default_that_replaces_a_value_in_a_test_is_a_caveat(test, has_caveat):
    converted = convert(f"{{% if {test} %}}a{{% endif %}}", read="klaviyo", write="braze")

    reasons = " ".join(reason for tag in converted.tags for reason in tag.reasons)
    assert ("The default in this test replaces" in reasons) is has_caveat


def test_the_number_of_a_round_has_no_caveat_about_values():
    source = "{% for x in event.a %}<p>{{ forloop.index }}{% endfor %}"

    *_, number, _ = convert(source, read="customerio", write="klaviyo").tags

    assert number.reasons == ()


@pytest.mark.parametrize(
    ("value", "variable"),
    [("customer.points", "points_number"), ("event.points", "EVENT_points_number")],
)
def test_the_code_for_a_condition_does_not_overwrite_a_variable_of_the_author(value, variable):
    assignment = f"{{% assign {variable} = {value} | divided_by: 10 %}}"
    block = f"{{% if {value} > 3 %}}x{{% endif %}}"
    use = f"{{{{ {variable} }}}}"

    converted = convert(assignment + block + use, read="customerio", write="braze")

    assert f"[BY HAND: line 1]{block}[END BY HAND]{use}" in converted.content
    assert f"sets the variable `{variable}`, too. Rename it" in by_hand(converted)[0][1]


def test_the_fields_have_the_types_that_the_tags_show():
    source = "{% if person.n > 3 %}{{ person.b }}{% endif %}{% if person.b == True %}{% endif %}"

    n, b = convert(source, read="klaviyo", write="portable").fields
    assert (n.key, n.data_type, n.values) == ("n", DataType.NUMBER, (3,))
    assert (b.key, b.data_type) == ("b", DataType.BOOLEAN)


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("klaviyo", "{% if first_name|lower == 'ann' %}x{% endif %}"),
        ("klaviyo", "{% if 'ann' != first_name|lower %}x{% endif %}"),
        ("klaviyo", "{% if 'a' in first_name|lower %}x{% endif %}"),
        ("klaviyo", "{% if first_name|lower %}x{% endif %}"),
        ("klaviyo", "{% if first_name|upper == 'ANN' %}x{% endif %}"),
        ("klaviyo", "{% if first_name|escape == 'A&B' %}x{% endif %}"),
        ("klaviyo", "{% if first_name|lower == '' %}x{% endif %}"),
        ("brevo", "{% if contact.FIRSTNAME|lower == 'ann' %}x{% endif %}"),
        ("hubspot", "{% if contact.firstname|lower == 'ann' %}x{% endif %}"),
        ("braze", "{% assign c = ${city} | downcase %}{% if c == 'a' %}x{% endif %}"),
        ("braze", "{% assign n = ${n} | plus: 0 %}{% if n %}x{% endif %}"),
        ("braze", "{% assign n = ${n} | plus: 0 %}{% if n == 'a' %}x{% endif %}"),
        ("braze", "{% assign t = ${t} | date: '%s%L' | plus: 0 %}{% if t > 9 %}x{% endif %}"),
        ("sfmc", "%%[ IF Lowercase([City]) == 'x' THEN ]%%x%%[ ENDIF ]%%"),
        ("sfmc", "%%=IIF(Uppercase([City]) == 'X', 'a', 'b')=%%"),
        ("iterable", "{{#ifEq (lowercase firstName) 'a'}}x{{/ifEq}}"),
        ("sendgrid", "{{#equals (upper name) 'A'}}x{{/equals}}"),
    ],
)
def test_a_condition_on_a_value_that_a_filter_changes_stays_by_hand(esp, source):
    converted = convert(source, read=esp, write="portable", options=ConversionOptions(bare="field"))

    assert "recipient." not in converted.content
    assert converted.counts[Outcome.BY_HAND] > 0


@pytest.mark.parametrize(
    ("esp", "source", "caveat"),
    [
        ("sfmc", "%%=IIF(City == 'BERLIN', 'a', 'b')=%%", "without regard to case"),
        ("sfmc", "%%[ IF City != 'BERLIN' THEN ]%%a%%[ ENDIF ]%%", "without regard to case"),
        ("sfmc", "%%=IIF(INDEXOF(City, 'BER') > 0, 'a', 'b')=%%", "without regard to case"),
        ("mailchimp", "*|IF:CITY=Berlin|*a*|END:IF|*", "are case-sensitive"),
        ("activecampaign", "%IF $CITY == 'x'%a%/IF%", "does not document whether case"),
    ],
)
@pytest.mark.parametrize("target", ["portable", "braze"])
def test_how_the_source_compares_texts_is_a_caveat(esp, source, caveat, target):
    first, *_ = convert(source, read=esp, write=target).tags

    assert first.outcome is Outcome.CAVEAT
    assert [each for each in first.reasons if caveat in each]


@pytest.mark.parametrize("word", ["catalog", "customobject", "customobjects"])
def test_a_block_of_klaviyo_with_other_data_stays_by_hand_as_a_block(word):
    block = f"{{% {word} event.id unpublished='cancel' %}}{{{{ x.title }}}}{{% end{word} %}}"

    converted = braze(f"{block}{{{{ first_name }}}}")

    assert converted.content == f"[BY HAND: line 1]{block}[END BY HAND]{{{{${{first_name}}}}}}"
    ((_, reason),) = by_hand(converted)
    assert f"`{word}` is a tag of Klaviyo" in reason
