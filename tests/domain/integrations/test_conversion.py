"""Templates of ESPs become content, or templates of other ESPs."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain import (
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    InvalidInput,
    OrganizationId,
    define_fields,
)
from recipient_fields.domain.content import InvalidContent, Surface, WarningCode
from recipient_fields.domain.esp.languages.ampscript import read_ampscript
from recipient_fields.domain.integrations import (
    Conversion,
    ConversionOptions,
    FieldCodes,
    IntegrationDraft,
    Outcome,
    SetName,
    convert,
)

EMAIL = Path(__file__).parents[3] / "docs/examples/emails/newsletter.html"

OF_KLAVIYO = ("a number that is stored as text", "can be shown as the word None")
"""Caveats about each comparison of a number, and about each value without a default."""


def other_reasons(converted: Conversion) -> list[str]:
    """Return the caveats and reasons of the tags, without those of each template of Klaviyo."""
    reasons = [reason for tag in converted.tags for reason in tag.reasons]
    return [each for each in reasons if not any(known in each for known in OF_KLAVIYO)]


KLAVIYO = {
    "{{ first_name }}": "{{recipient.first_name}}",
    "{{ person.first_name|default:'there' }}": '{{recipient.first_name | default: "there"}}',
    "{{ first_name|default:'O\\'Neil' }}": '{{recipient.first_name | default: "O\'Neil"}}',
    "{{ person|lookup:'Loyalty Tier' }}": "{{recipient.loyalty_tier}}",
    "{{ person.City|upper|default:'x' }}": '{{recipient.city | upper | default: "x"}}',
    "{{ person.City|default:'a'|default:'b' }}": '{{recipient.city | default: "a"}}',
    "{{ person.City|default:'home'|upper }}": '{{recipient.city | upper | default: "HOME"}}',
    "{{ person.City|truncatechars:20 }}": "{{recipient.city | truncate: 20}}",
    "{{ person.n|floatformat:2 }}": "{{recipient.n | number: 2}}",
    "{{ person.born|format_date_string|date:'j F Y' }}": '{{recipient.born | date: "long"}}',
    "{{ person.born|format_date_string|date:'F j, Y'|default:'?' }}": (
        '{{recipient.born | date: "%B %-d, %Y" | default: "?"}}'
    ),
    "{{ first_name|force_escape }}": "{{recipient.first_name}}",
    "{{ event.order_id }}": "{{event.order_id}}",
    "{{ event|lookup:'Order Number'|default:'x' }}": '{{event["Order Number"] | default: "x"}}',
    "{{ event.extra.items.0.title|upper }}": "{{event.extra.items[0].title | upper}}",
    "{% if event.total > 100 and event.code == 'A' %}x{% endif %}": (
        '{{#if event.total > 100 and event.code = "A"}}x{{/if}}'
    ),
    "{{ organization.name }}": "{{sender.name}}",
    "{% unsubscribe_link %}": "{{link.unsubscribe}}",
    "{% current_year %}": "{{today.year}}",
    "a{# note #}b{% comment %}{{ x }}{% endcomment %}c": "abc",
    "{% verbatim %}{ x }{% endverbatim %}": "{ x }",
    "{% if person.tier == 'gold' %}a{% elif 'x' in person.tier %}b{% else %}c{% endif %}": (
        '{{#if recipient.tier = "gold"}}a{{else if recipient.tier contains "x"}}b{{else}}c{{/if}}'
    ),
    "{% if not person.n > 3 or person.m == 2 and person.b == True %}a{% endif %}": (
        "{{#if not recipient.n > 3 or recipient.m = 2 and recipient.b = true}}a{{/if}}"
    ),
    "{% if person.n == 3 %}{% endif %}{% if person.n %}a{% endif %}": (
        "{{#if recipient.n = 3}}{{/if}}{{#if recipient.n is set and recipient.n != 0}}a{{/if}}"
    ),
    "{% if person.b == False %}{% endif %}{% if not person.b %}a{% endif %}": (
        "{{#if recipient.b = false}}{{/if}}{{#if not recipient.b}}a{{/if}}"
    ),
    "{% if 80 < person.n %}a{% endif %}": "{{#if recipient.n > 80}}a{{/if}}",
}
BRAZE = {
    "{{${first_name}}}": "{{recipient.first_name}}",
    "{{ custom_attribute.${Shoe Size} | default: '?' }}": '{{recipient.shoe_size | default: "?"}}',
    '{{ ${city} | url_encode | replace: "+", "%20" }}': "{{recipient.city | url}}",
    "{{${set_user_to_unsubscribed_url}}}": "{{link.unsubscribe}}",
    " {%- if ${city} == 'x' -%} a {%- endif -%} ": (' {{~#if recipient.city = "x"~}} a {{~/if~}} '),
    "{% if ${city} == 'a' or ${city} == 'b' and ${city} != 'c' %}x{% endif %}": (
        '{{#if recipient.city = "a" or recipient.city = "b" and recipient.city != "c"}}x{{/if}}'
    ),
    "{% if ${city} == 'a' and ${city} != 'c' or ${city} == 'b' %}x{% endif %}": (
        '{{#if recipient.city = "a" and (recipient.city != "c" or recipient.city = "b")}}x{{/if}}'
    ),
    "{% unless ${city} == 'a' %}x{% endunless %}": '{{#if not recipient.city = "a"}}x{{/if}}',
    "{% case ${city} %}{% when 'a', 'b' %}1{% else %}2{% endcase %}": (
        '{{#if recipient.city = "a" or recipient.city = "b"}}1{{else}}2{{/if}}'
    ),
    "{% if ${city} != nil and ${city} != '' %}x{% endif %}": (
        "{{#if recipient.city is set}}x{{/if}}"
    ),
    "{% assign city = ${city} | upcase %}{{ city | default: 'x' }}": (
        '{{recipient.city | upper | default: "x"}}'
    ),
    "{% assign x = ${city} %}{% assign x = x | upcase %}{{ x }}": "{{recipient.city | upper}}",
    "{% assign n = ${n} | plus: 0 %}{% if n > 3 %}x{% endif %}": "{{#if recipient.n > 3}}x{{/if}}",
    "{% assign n = ${n} | plus: 0 %}{% if n < 3 %}x{% endif %}": (
        "{{#if recipient.n is not set or recipient.n < 3}}x{{/if}}"
    ),
    "{% assign f = false %}{% if ${city} == 'a' %}{% assign f = true %}{% endif %}"
    "{% if f or ${n} == 3 %}x{% endif %}": (
        '{{#if recipient.city = "a" or recipient.n = 3}}x{{/if}}'
    ),
    "{% if ${city} == 'a' %} {% endif %}x": "x",
    "a {%- if ${city} == 'a' -%} {%- endif -%} b": "a {{~!}}{{!~}} b",
    "{% assign n = 0 %}{% if ${city} == 'a' %}{% assign n = 1 %}{% endif %}{{ n }}": (
        '{{#if recipient.city = "a"}}1{{else}}0{{/if}}'
    ),
    "a {% assign x = ${city} %}{{- x }}": "a {{!}}{{~!}}{{recipient.city}}",
}


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [
        *(("klaviyo", source, expected) for source, expected in KLAVIYO.items()),
        *(("braze", source, expected) for source, expected in BRAZE.items()),
    ],
)
def test_a_template_becomes_content(esp, source, expected):
    converted = convert(source, read=esp, write="portable")

    assert converted.content == expected
    assert other_reasons(converted) == []


LOOPS = {
    "klaviyo": {
        "{% for x in event.items %}{{ x.a }}{% if not forloop.last %},{% endif %}{% endfor %}": (
            "{{#each event.items as x}}{{x.a}}{{#if loop is not last}},{{/if}}{{/each}}"
        ),
        "{% for x in event|lookup:'Order Items' %}{{ x|lookup:'A b' }}{% empty %}-{% endfor %}": (
            '{{#each event["Order Items"] as x}}{{x["A b"]}}{{else}}-{{/each}}'
        ),
        "{% for x in event.a %}{{forloop.counter}}{% for y in x.b %}{{y}}{% endfor%}{%endfor%}": (
            "{{#each event.a as x}}{{loop.number}}{{#each x.b as y}}{{y}}{{/each}}{{/each}}"
        ),
    },
    "braze": {
        "{% assign l = event_properties.${a} %}{% for x in l %}{{ x.b | upcase }}{% endfor %}": (
            "{{#each event.a as x}}{{x.b | upper}}{{/each}}"
        ),
        "{% for x in context.${a} %}{% assign y = x.b %}{{ y.c }}{% else %}-{% endfor %}": (
            "{{#each event.a as x}}{{x.b.c}}{{else}}-{{/each}}"
        ),
        "{% for x in context.${a} %}{{ x.b }}{% for x in x.c %}{{ x.d }}{% endfor %}{% endfor %}": (
            "{{#each event.a as x}}{{x.b}}{{#each x.c as x2}}{{x2.d}}{{/each}}{{/each}}"
        ),
        "a {%- for x in context.${a} -%} b {%- endfor -%} c": (
            "a {{~#each event.a as x~}} b {{~/each~}} c"
        ),
        "{% for x in context.${a} %} {% endfor %}b": "b",
    },
    "customerio": {
        "{% for x in event.a %}{{ x.b }}{% endfor %}": "{{#each event.a as x}}{{x.b}}{{/each}}"
    },
    "onesignal": {
        "{% for x in message.custom_data.a %}{{ x.b }}{% endfor %}": (
            "{{#each event.a as x}}{{x.b}}{{/each}}"
        )
    },
    "hubspot": {
        "{% if custom.a %}{% for x in custom.a %}{{ x.b }}{% endfor %}{% else %}-{% endif %}": (
            "{{#each event.a as x}}{{x.b}}{{else}}-{{/each}}"
        ),
        "{% if custom.a %}{% for x in custom.a %}{{ x.b }}{% endfor %}{% endif %}": (
            "{{#each event.a as x}}{{x.b}}{{/each}}"
        ),
        "{% for x in custom.a %}{{ x.b }}{{ loop.index }}{% endfor %}": (
            "{{#each event.a as x}}{{x.b}}{{loop.number}}{{/each}}"
        ),
    },
    "brevo": {
        "{% for x in params.a %}{{ x.b }}{% empty %}-{% endfor %}": (
            "{{#each event.a as x}}{{x.b}}{{else}}-{{/each}}"
        )
    },
    "sendgrid": {
        "{{#each a}}{{this.b}}{{c}}{{../d}}{{@root.e}}{{#if @first}}!{{/if}}{{else}}-{{/each}}": (
            "{{#each event.a as item}}{{item.b}}{{item.c}}{{event.d}}{{event.e}}"
            "{{#if loop is first}}!{{/if}}{{else}}-{{/each}}"
        ),
        "{{#each a}}{{#each this.b}}{{this}}{{../c}}{{../../d}}{{/each}}{{/each}}{{a.[0].c}}": (
            "{{#each event.a as item}}{{#each item.b as item2}}{{item2}}{{item.c}}{{event.d}}"
            "{{/each}}{{/each}}{{event.a[0].c}}"
        ),
    },
    "iterable": {
        "{{#each a as |x|}}{{x.b}}{{c}}{{/each}}": "{{#each event.a as x}}{{x.b}}{{x.c}}{{/each}}"
    },
}


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [(esp, *each) for esp, templates in LOOPS.items() for each in templates.items()],
)
def test_a_loop_becomes_content(esp, source, expected):
    options = ConversionOptions(names={"d": "event.d", "e": "event.e"}, surface="text")

    converted = convert(source, read=esp, write="portable", options=options)

    assert converted.content == expected
    assert other_reasons(converted) == []


@pytest.mark.parametrize(
    ("esp", "source", "reason"),
    [
        ("braze", "{% for x in context.${a} limit: 3 %}x{% endfor %}", "loops over whole lists"),
        ("braze", "{% for x in (1..3) %}x{% endfor %}", "lists of event data only"),
        ("klaviyo", "{% for x in person.list %}x{% endfor %}", "lists of event data only"),
        ("klaviyo", "{% for a, b in event.x %}x{% endfor %}", "loops over whole lists"),
        ("sendgrid", "{{#each a}}x{{else if b}}y{{/each}}", "loops over whole lists"),
        ("sendgrid", "{{#each a}}{{@index}}{{/each}}", "the state of a loop"),
        ("iterable", "{{#each a}}{{profile.b}}{{/each}}", "reads this name in its item"),
        ("iterable", "{{#each a}}{{unsubscribeUrl}}{{/each}}", "reads this name in its item"),
        ("braze", "{{event_properties.${items}.size}}", "reads `size` of a list"),
        ("braze", "{{event_properties.${items}.first.name}}", "reads `first` of a list"),
        ("customerio", "{{event.items.last}}", "reads `last` of a list"),
        ("sendgrid", "{{#each a}}{{this.b.length}}{{/each}}", "reads `length` of a list"),
    ],
)
def test_another_loop_and_what_hides_in_one_stay_by_hand(esp, source, reason):
    ((_, found),) = by_hand(convert(source, read=esp, write="portable"))

    assert reason in found


LIQUID = {
    "{{ custom_attribute.${n} | round: 2 }}": "{{ customer.n | round: 2 }}",
    "a {{- ${first_name} | capitalize }}": "a{{ customer.first_name | capitalize }}",
    '{{ context.${a} | split: "," | size }}': '{{ event.a | split: "," | size }}',
    "{% for x in context.${a} %}{{ x.b | replace: 'a', 'é' }}{% endfor %}": (
        "{% for x in event.a %}{{ x.b | replace: 'a', 'é' }}{% endfor %}"
    ),
    (
        "{% assign t = 0 %}{% for x in context.${a} %} {% assign t = t | plus: x.b %} {% endfor %}"
        "{{ t }}"
    ): (
        "{% assign t = 0 %}{% for x in event.a %}{% assign t = t | plus: x.b %}{{ nil }}"
        "{% endfor %}{{ t }}"
    ),
    "{% assign p = context.${a} | split: '/' %}{{ p[1] }}": (
        "{% assign p = event.a | split: '/' %}{{ p[1] }}"
    ),
    (
        "{% assign p = context.${a} | sort: 'b' %}{%- for x in p -%} {{ x.b }}"
        "{% unless forloop.last %}, {% endunless %}{% else %}-{% endfor %}"
    ): (
        "{% assign p = event.a | sort: 'b' %}{%- for x in p -%} {{ x.b }}"
        "{% unless forloop.last %}, {% endunless %}{% else %}-{% endfor %}"
    ),
    "{% for x in context.${a} reversed limit: 2 offset: context.${n} %}{{ x.b }}{% endfor %}": (
        "{% for x in event.a reversed limit: 2 offset: event.n %}{{ x.b }}{% endfor %}"
    ),
    (
        "{% for x in context.${a} limit: 2 %}{% for y in x.b %}{{ y.c }}{{ forloop.index }}"
        "{% if y.d %}{{ x.e | capitalize }}{% endif %}{% endfor %}{% endfor %}"
    ): (
        "{% for x in event.a limit: 2 %}{% for y in x.b %}{{ y.c }}{{ forloop.index }}"
        "{% if y.d %}{{ x.e | capitalize }}{% endif %}{% endfor %}{% endfor %}"
    ),
    "{% assign g = 'a' %}{% if ${n} == 3 %}{% assign g = 'b' %}{% endif %}{{ g | capitalize }}": (
        "{% assign g = 'a' %}{% assign n_number = customer.n | plus: 0 %}{% if n_number == 3 %}"
        "{% assign g = 'b' %}{{ nil }}{% endif %}{{ g | capitalize }}"
    ),
    (
        "{% assign t = context.${a} | size %}{%- unless t > 2.50 or ${x} == nil %}{{ t }}"
        "{% elsif t == blank -%} {% else %}-{% endunless %}"
    ): (
        "{% assign t = event.a | size %}{%- unless t > 2.5 or customer.x == nil %}{{ t }}"
        "{% elsif t == blank -%} {% else %}-{% endunless %}"
    ),
    (
        "{% assign p = context.${a} | first %}{% case p %}{% when 'a', \"b\" %}1{% when nil %}2"
        "{% else %}3{% endcase %}"
    ): (
        '{% assign p = event.a | first %}{% if p == "a" or p == "b" %}1{% elsif p == nil %}2'
        "{% else %}3{% endif %}"
    ),
}


@pytest.mark.parametrize(("source", "expected"), LIQUID.items())
def test_what_content_lacks_is_copied_between_esps_with_liquid(source, expected):
    converted = convert(source, read="braze", write="customerio")

    assert converted.content == expected
    assert by_hand(converted) == []
    assert by_hand(convert(source, read="braze", write="portable")) != []
    assert by_hand(convert(source, read="braze", write="klaviyo")) != []


@pytest.mark.parametrize(
    "source",
    [
        "{{ customer.a | md5 }}",
        "{{ customer.a | replace: '{', 'x' }}",
        "{{ customer.a | append: event.b.size }}",
        "{% assign x = customer.a | md5 %}{{ x | capitalize }}",
        "{% capture x %}a{% endcapture %}{{ x | capitalize }}",
        "{% if customer.a == 'b' %}{% assign x = 'a' | md5 %}{% endif %}{{ x | capitalize }}",
        "{% for x in customer.list %}{{ x }}{% endfor %}",
        "{% for x in event.a limit: customer.n %}{{ x }}{% endfor %}",
        "{% for x in (1..3) %}{{ x }}{% endfor %}",
    ],
)
def test_what_only_one_esp_with_liquid_has_stays_by_hand(source):
    converted = convert(source, read="customerio", write="braze")

    assert re.sub(r"\[[^\[\]]*BY HAND[^\[\]]*\]", "", converted.content) == source
    assert not {Outcome.CONVERTED, Outcome.CAVEAT} & {each.outcome for each in converted.tags}


def test_a_test_of_a_field_is_not_copied_for_an_esp_that_stores_texts_only():
    source = "{% if ${a} == ${b} %}c{% endif %}"

    assert by_hand(convert(source, read="braze", write="onesignal"))
    assert not by_hand(convert(source, read="braze", write="customerio"))


def test_copied_code_has_the_caveats_of_its_filters_and_values():
    shown = "<p>{{ ${a} | round: 1 }}{{ ${a} | strip | default: 'x' }}"
    source = f"{shown}{{% assign y = ${{b}} %}}{{{{ y | strip }}}}"
    for target, caveats in (
        ("customerio", ("shows 3.0 as 3", "legacy Liquid", "does not send the message")),
        ("onesignal", ("shows 3.0 as 3", "whether OneSignal escapes", "reads them as texts")),
    ):
        reasons = " ".join(other_reasons(convert(source, read="braze", write=target)))
        assert [each for each in caveats if each not in reasons] == []


DATES = {
    "klaviyo": ("{{{{ event.d|format_date_string|date:'{}' }}}}", "D, M j, y", "n/j/Y"),
    "braze": ("{{{{context.${{d}} | date: '{}'}}}}", "%a, %b %-d, %y", "%-m/%-d/%Y"),
    "sendgrid": ('{{{{formatDate d "{}"}}}}', "ddd, MMM D, YY", "M/D/YYYY"),
    "iterable": ('{{{{dateFormat d tz="UTC" format="{}"}}}}', "EEE, MMM d, yy", "M/d/yyyy"),
}


@pytest.mark.parametrize("source", DATES)
def test_a_format_of_dates_is_read_and_written(source):
    names = ConversionOptions(names={"d": "event.d"}, sent_by="context")
    for target in DATES:
        options = evolve(names, sent_by="context" if target == "braze" else None)
        for index in (1, 2):
            code = DATES[source][0].format(DATES[source][index])
            converted = convert(code, read=source, write=target, options=options)
            assert DATES[target][index] in converted.content, converted


@pytest.mark.parametrize(
    ("esp", "code", "reason"),
    [
        ("klaviyo", "{{ event.d|format_date_string|date:'jS F' }}", "no date like `jS F`"),
        ("braze", "{{ context.${d} | date: '%B %e' }}", "no date like `%B %e`"),
        ("braze", "{{ context.${d} | date: 'long' }}", "no date like `long`"),
        ("sendgrid", '{{formatDate d "DDDD"}}', "no date like `DDDD`"),
        ("iterable", '{{dateFormat d tz="UTC" format="MMMMM"}}', "no date like `MMMMM`"),
    ],
)
def test_another_format_of_dates_stays_by_hand(esp, code, reason):
    options = ConversionOptions(names={"d": "event.d"})
    ((_, found),) = by_hand(convert(code, read=esp, write="portable", options=options))

    assert reason in found


def test_a_loop_stays_with_a_variable_that_it_sets_for_the_next_round():
    source = (
        "{% assign t = ${city} %}{% for x in context.${a} %}{{ t }}{% assign t = x.b %}{% endfor %}"
        "{{ t }}"
    )

    converted = convert(source, read="braze", write="portable")

    assert [column for column, _ in by_hand(converted)] == [1, 25, 91]
    assert "This block sets a variable by hand" in by_hand(converted)[1][1]


def test_filters_of_lists_and_of_numbers_become_filters_of_content():
    for esp, source, expected in (
        ("klaviyo", "{{ event.a|join:', ' }}", '{{event.a | join: ", "}}'),
        ("klaviyo", "{{ event.a|first|upper }}", "{{event.a | first | upper}}"),
        ("braze", "{{ context.${a} | join: ' / ' }}", '{{event.a | join: " / "}}'),
        ("customerio", "{{ event.a | first }}", "{{event.a | first}}"),
        (
            "sfmc",
            '%%=FormatNumber(Multiply(Add([n], 2.5), 3), "F2", "en-US")=%%',
            "{{recipient.n | plus: 2.5 | times: 3 | number: 2}}",
        ),
    ):
        assert convert(source, read=esp, write="portable").content == expected


@pytest.mark.parametrize(
    ("esp", "source", "reason"),
    [
        ("braze", "{{ ${city} | first }}", "requires event data"),
        ("braze", "{{ context.${a} | join: '{' }}", "Write 1 to 10 characters after `join:`"),
        ("klaviyo", "{{ event.a|default:'x'|first }}", "No filter of content means the same"),
        ("klaviyo", "{{ event.a|join:event.b }}", "No filter of content means the same"),
        ("sfmc", "%%=Add([n], 1)=%%", "Write `number` after `plus`"),
    ],
)
def test_other_filters_of_lists_and_of_numbers_stay_by_hand(esp, source, reason):
    ((_, found),) = by_hand(convert(source, read=esp, write="portable"))

    assert reason in found


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


@pytest.mark.parametrize(
    ("source", "caveat"),
    [
        ("{% if 'x' not in person.a %}b{% endif %}", "missing or null, `not in` does not hold"),
        ("{% if 'x' in person.a %}b{% endif %}", "If a is a list at Klaviyo, this tests its items"),
        ("{{ person|lookup:'a'|upper|default:'b' }}", "can be shown as the word None"),
        ("{{ first_name|safe }}", "HTML in a value is shown as it is at Klaviyo"),
        ("{{ person.a|default_if_none:'b' }}", "null and an empty text show another text"),
    ],
)
def test_a_caveat_says_what_klaviyo_reads_in_another_way(source, caveat):
    converted = convert(source, read="klaviyo", write="portable")

    assert any(caveat in reason for reason in converted.tags[0].reasons)


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [
        ("klaviyo", "<p>{% unsubscribe 'A & <b>' %}</p>", "A &amp; &lt;b&gt;"),
        ("klaviyo", "{{ first_name }}{{ person.first_name }}", "{{recipient.first_name}}" * 2),
        (
            "braze",
            (
                "{% assign f = false %}{% if ${a} == 'x' %}{% assign f = true %}"
                "{% elsif ${b} == 'y' %}{% assign f = false %}"
                "{% elsif ${c} == 'w' %}{% assign f = true %}{% endif %}{% if f %}z{% endif %}"
            ),
            '{{#if recipient.a = "x" or not recipient.b = "y" and recipient.c = "w"}}z{{/if}}',
        ),
        (
            "braze",
            "{% if context.${a} %}{% for x in context.${a} %}b{% endfor %}{% else %}c{% endif %}",
            "{{#if event.a is set}}{{#each event.a as x}}b{{/each}}{{else}}c{{/if}}",
        ),
    ],
)
def test_what_is_escaped_or_has_precedence_stays_so(esp, source, expected):
    assert expected in convert(source, read=esp, write="portable").content


@pytest.mark.parametrize(
    ("esp", "source", "reason"),
    [
        ("klaviyo", "{{ first_name|default:True }}", "Defaults of content are texts"),
        ("klaviyo", "{{ person.Nick|default:first_name }}", "Defaults of content are texts"),
        (
            "hubspot",
            "{{ custom.a|upper }}",
            "HubSpot applies no filters to the personalization tokens of contacts in emails, and c",
        ),
        ("mailchimp", "*|merge12|*", "`merge12` is no name of a field at Mailchimp."),
        ("klaviyo", "{% cycle 'a' 'b' %}", "`cycle` is a tag of Klaviyo that content lacks."),
        ("braze", "{{ ${a} | default: 'x', allow_false: true }}", "No filter of content"),
        ("iterable", "{{defaultIfEmpty a 'x' b='y'}}", "No filter of content"),
        ("iterable", "{{defaultIfEmpty a}}", "No filter of content"),
        (
            "klaviyo",
            (
                "{% for x in event.a %}{% for y in x.b %}{% for z in y.c %}{{ z }}{% endfor %}"
                "{% endfor %}{% endfor %}"
            ),
            "Content has at most 2 loops in each other.",
        ),
    ],
)
def test_what_has_another_meaning_stays_by_hand(esp, source, reason):
    options = ConversionOptions(bare="event")

    ((_, found),) = by_hand(convert(source, read=esp, write="portable", options=options))

    assert found.startswith(reason)


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


def test_the_number_of_a_round_has_no_caveat_about_values():
    source = "{% for x in event.a %}<p>{{ forloop.index }}{% endfor %}"

    *_, number, _ = convert(source, read="customerio", write="klaviyo").tags

    assert number.reasons == ()


def test_the_default_of_a_number_replaces_0():
    source = "{% if person.n > 3 %}a{% endif %}{{ person.n|default:'x' }}"

    converted = convert(source, read="klaviyo", write="portable")

    assert converted.tags[-1].reasons == ("Klaviyo shows the default instead of 0, too.",)


def test_texts_have_no_order():
    converted = convert("{% if person.a > 'x' %}b{% endif %}", read="klaviyo", write="portable")

    ((_, reason),) = by_hand(converted)
    assert reason == "Texts have no order here. Write this condition for the other ESP."


def test_the_first_default_applies_and_its_quotes_are_escaped():
    source = r"""{{ first_name|default:'say "hi" \\ there'|default:'b' }}"""

    converted = convert(source, read="klaviyo", write="portable")

    assert converted.content == r"""{{recipient.first_name | default: "say \"hi\" \\ there"}}"""


def test_a_value_that_klaviyo_looks_up_without_a_default_can_be_none():
    source = "{{ person|lookup:'x' }}{{ person|lookup:'x'|default_if_none:'' }}{{ person.x }}"

    converted = convert(source, read="klaviyo", write="portable")

    assert [bool(tag.reasons) for tag in converted.tags] == [True, False, False]
    assert "can be shown as the word None" in converted.tags[0].reasons[0]


@pytest.mark.parametrize(
    ("esp", "source", "caveat"),
    [
        ("klaviyo", "{% if person.n == 3 %}a{% endif %}", "a number that is stored as text"),
        ("klaviyo", "{% if person.n > 3 %}a{% endif %}", "a number that is stored as text"),
        ("mailchimp", "*|IF:N=3|*a*|END:IF|*", "whether 3 equals 3.0"),
    ],
)
def test_caveats_about_comparisons_of_numbers_are_those_of_the_source(esp, source, caveat):
    converted = convert(source, read=esp, write="portable")

    assert any(caveat in reason for reason in converted.tags[0].reasons)


def test_a_variable_keeps_the_item_of_its_loop_in_an_inner_one_with_the_same_name():
    source = (
        "{% for x in context.${a} %}{% assign t = x.b %}{% for x in x.c %}{{ t }}{{ x.d }}"
        "{% endfor %}{{ x.e }}{% endfor %}"
    )

    converted = convert(source, read="braze", write="portable")

    assert converted.content == (
        "{{#each event.a as x}}{{#each x.c as x2}}{{x.b}}{{x2.d}}{{/each}}{{x.e}}{{/each}}"
    )


CHOICES = {
    "sfmc": {
        "%%=ProperCase(v([tier]))=%%": "{{recipient.tier | title}}",
        (
            '%%[ SET @n = ProperCase(AttributeValue("First Name")) IF EMPTY(@n) THEN SET @n = "you"'
            " ENDIF ]%%%%=v(@n)=%%"
        ): '{{recipient.first_name | title | default: "you"}}',
        "%%[ SET @n = Lowercase([a]) IF NOT EMPTY(@n) THEN ]%%%%=v(@n)=%%!%%[ ENDIF ]%%": (
            "{{#if recipient.a is set}}{{recipient.a | lower}}!{{/if}}"
        ),
        '<a href="%%=RedirectTo(Concat("https://a.example/?e=", [mail]))=%%">x</a>': (
            '<a href="https://a.example/?e={{recipient.mail}}">x</a>'
        ),
        "%%[ VAR @a IF [tier] == 'x' THEN SET @a = 'b' ENDIF ]%%%%=v(@a)=%%": (
            '{{#if recipient.tier = "x"}}b{{else}}{{/if}}'
        ),
        "%%=IIF(NOT EMPTY([tier]), Concat('a ', [tier], '!'), '-')=%%": (
            "{{#if recipient.tier is set}}a {{recipient.tier}}!{{else}}-{{/if}}"
        ),
        '%%=IIF(EMPTY([tier]), "x", [tier])=%%': '{{recipient.tier | default: "x"}}',
        '<a href="%%=RedirectTo([link])=%%">x</a>': '<a href="{{recipient.link}}">x</a>',
        '%%[ SET @n = AttributeValue("city") IF EMPTY(@n) THEN SET @n = "x" ENDIF ]%%%%=v(@n)=%%': (
            '{{recipient.city | default: "x"}}'
        ),
        '%%[ IF NOT EMPTY([city]) THEN SET @t = [city] ELSE SET @t = "x" ENDIF ]%%%%=v(@t)=%%': (
            '{{recipient.city | default: "x"}}'
        ),
        (
            '%%[ IF [tier] == "gold" THEN SET @t = "a" ELSEIF [tier] == "x" THEN SET @t = "b"'
            ' ELSE SET @t = "c" ENDIF ]%%%%=v(@t)=%%'
        ): '{{#if recipient.tier = "gold"}}a{{else if recipient.tier = "x"}}b{{else}}c{{/if}}',
    },
    "braze": {
        "{{ ${city} | append: '!' | prepend: 'a ' }}": "a {{recipient.city}}!",
        (
            "{% assign g = 'Hi' %}{% if ${city} == 'Bern' %}{% assign g = ${first_name} %}"
            "{% endif %}{{ g }}"
        ): '{{#if recipient.city = "Bern"}}{{recipient.first_name}}{{else}}Hi{{/if}}',
    },
    "hubspot": {
        "{{ contact.city ~ '!' }}": "{{recipient.city}}!",
        "{% if contact.city == 'A' %}{% set g='a' %}{% else %}{% set g='b' %}{% endif %}{{g}}": (
            '{{#if recipient.city = "A"}}a{{else}}b{{/if}}'
        ),
    },
}


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [(esp, *each) for esp, templates in CHOICES.items() for each in templates.items()],
)
def test_a_variable_with_a_value_in_each_case_is_a_default_or_a_condition(esp, source, expected):
    converted = convert(source, read=esp, write="portable")

    assert converted.content == expected
    assert converted.counts[Outcome.BY_HAND] == 0


DEFAULTS = {
    ("mailchimp", "braze"): {
        "*|IF:FNAME|**|FNAME|**|ELSE:|*there*|END:IF|*": "{{${first_name} | default: 'there'}}",
        "*|IF:CITY|**|CITY|**|ELSE:|*your town*|END:IF|*": ("{{${city} | default: 'your town'}}"),
    },
    ("sendgrid", "braze"): {
        "{{#if first_name}}{{first_name}}{{else}}there{{/if}}": (
            "{{${first_name} | default: 'there'}}"
        ),
        "{{#unless first_name}}there{{else}}{{first_name}}{{/unless}}": (
            "{{${first_name} | default: 'there'}}"
        ),
    },
    ("braze", "klaviyo"): {
        "{% if ${city} %}{{ ${city} }}{% else %}there{% endif %}": (
            "{{ person.City|default:'there' }}"
        ),
        "{% if ${city} != blank %}{{ ${city} }}{% else %}there{% endif %}": (
            "{{ person.City|default:'there' }}"
        ),
    },
    ("sfmc", "braze"): {
        "%%[ IF EMPTY([City]) THEN ]%%home%%[ ELSE ]%%%%=v([City])=%%%%[ ENDIF ]%%": (
            "{{${city} | default: 'home'}}"
        ),
    },
}


@pytest.mark.parametrize(
    ("read", "write", "source", "expected"),
    [(*pair, *each) for pair, templates in DEFAULTS.items() for each in templates.items()],
)
def test_a_block_with_a_value_and_a_text_is_a_default(read, write, source, expected):
    converted = convert(source, read=read, write=write)

    assert converted.content == expected
    assert len(converted.tags) == 4
    assert not any("No tag shows" in reason for tag in converted.tags for reason in tag.reasons)


@pytest.mark.parametrize(
    ("read", "source"),
    [
        ("hubspot", "{{ contact.city|default('x y', true) }}"),
        ("hubspot", "{{ contact.city or 'x y' }}"),
        ("hubspot", "{{ personalization_token('contact.city', 'x y') }}"),
        ("customerio", "{{ customer.city | default: 'x y' }}"),
        ("brevo", '{{ contact.CITY | default : "x y" }}'),
        ("brevo", "{{ contact.CITY|default:'x y' }}"),
        ("iterable", '{{defaultIfEmpty city "x y"}}'),
        ("onesignal", "{{ city | default: 'x y' }}"),
    ],
)
def test_each_form_of_a_default_is_read(read, source):
    options = ConversionOptions(bare="field")

    converted = convert(source, read=read, write="portable", options=options)

    assert converted.content == '{{recipient.city | default: "x y"}}'
    assert other_reasons(converted) == []


@pytest.mark.parametrize(
    ("read", "source", "caveat"),
    [
        (
            *("hubspot", "{{ contact.city|default('x') }}"),
            "does not show the default instead of an empty text",
        ),
        (
            *("hubspot", "{% if contact.n > 3 %}{% endif %}{{ contact.n|default('x', true) }}"),
            "HubSpot shows the default instead of 0, too.",
        ),
        (
            *("hubspot", "{% if contact.n > 3 %}{% endif %}{{ contact.n or 'x' }}"),
            "HubSpot shows the default instead of 0, too.",
        ),
        *(
            ("sendgrid", code, "does not document whether it shows the default instead of an empty")
            for code in ('{{insert city "default=x y"}}', "{{insert city 'default=x y'}}")
        ),
    ],
)
def test_a_default_names_the_values_that_differ(read, source, caveat):
    options = ConversionOptions(bare="field")

    converted = convert(source, read=read, write="portable", options=options)

    assert caveat in str(converted.tags[-1].reasons)


@pytest.mark.parametrize(
    ("read", "source", "caveat"),
    [
        ("klaviyo", "{{ email|urlencode }}", "Klaviyo does not encode the character / here."),
        (
            *("braze", "{{ ${email_address} | url_encode }}"),
            "Braze writes a blank as + here, not as %20.",
        ),
        (
            *("iterable", "{{#urlEncode}}{{{email}}}{{/urlEncode}}"),
            (
                "Iterable writes a blank as +, which is a blank in the query of a link only,"
                " encodes ~, and does not encode *, as in a *~."
            ),
        ),
        (
            *("iterable", "{{#urlEncode}}{{email}}{{/urlEncode}}"),
            "Iterable escapes HTML before it encodes the value here: & becomes %26amp%3B.",
        ),
    ],
)
def test_another_code_of_a_filter_names_the_values_that_differ(read, source, caveat):
    converted = convert(source, read=read, write="portable")

    assert converted.content == "{{recipient.email | url}}"
    assert caveat in converted.tags[0].reasons


def test_another_argument_of_insert_is_no_default():
    converted = convert("{{insert city 'other=x'}}", read="sendgrid", write="portable")

    assert converted.counts[Outcome.BY_HAND] == 1


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


def test_a_block_stays_one_if_the_default_of_the_target_is_a_block_for_fewer_values():
    source = "{% if ${city} %}{{${city}}}{% else %}there{% endif %}"

    converted = convert(source, read="braze", write="customerio")

    assert converted.content == "{% if customer.city %}{{customer.city}}{% else %}there{% endif %}"
    assert not any("This code reads" in str(each.reasons) for each in converted.tags)


def test_a_block_that_is_no_default_does_not_show_the_type_of_its_value():
    source = (
        "{% if person.vip %}{{ person.n }}{% else %}none{% endif %}{% if person.n %}x{% endif %}"
    )

    converted = convert(source, read="klaviyo", write="braze")

    assert "No tag shows the type of n" in converted.tags[4].reasons[0]


def test_an_exact_block_of_an_unknown_type_is_no_default():
    source = "{% if person.points %}{{ person.points }}{% else %}none{% endif %}"
    options = ConversionOptions(exact=True)

    converted = convert(source, read="klaviyo", write="braze", options=options)

    value = "custom_attribute.${points}"
    assert converted.content == (
        f"{{% if {value} and {value} != empty and {value} != 0 %}}{{{{{value}}}}}"
        "{% else %}none{% endif %}"
    )


def test_a_standard_field_is_a_text_but_a_birthday():
    of_text, of_date = (
        convert(f"{{% if ${{{name}}} %}}x{{% endif %}}", read="braze", write="portable").tags[0]
        for name in ("first_name", "date_of_birth")
    )

    assert of_text.reasons == (
        "This code reads an empty text in first_name as no value, and Braze as one.",
    )
    assert "No tag shows the type of birthday" in of_date.reasons[0]


def test_a_variable_without_a_value_in_one_case_and_one_with_code_stay_by_hand():
    without = "{% if ${city} == 'x' %}{% assign g = 'a' %}{% endif %}{{ g }}"
    with_code = "{% assign g = '{{x}}' %}{{ g }}"

    for source in (without, with_code):
        converted = convert(source, read="braze", write="portable")
        assert converted.counts[Outcome.BY_HAND] > 0


def test_code_for_the_editor_and_the_campaigns_of_the_source_is_dropped():
    source = (
        "<title>*|MC:SUBJECT|*</title>"
        '<td mc:edit="main" class="a" mc:hideable>*|IFNOT:ARCHIVE_PAGE|*<p>*|FNAME|*</p>*|END:IF|*'
        "<!--*|IF:MC_PREVIEW_TEXT|*-->*|MC_PREVIEW_TEXT|*<!--*|END:IF|*--></td> mc:edit='x' "
    )

    converted = convert(source, read="mailchimp", write="braze")

    assert converted.content == (
        "<title></title>"
        "<td class=\"a\"><p>{{${first_name} | escape}}</p><!----><!----></td> mc:edit='x' "
    )
    dropped = [each.text for each in converted.tags if each.outcome is Outcome.DROPPED]
    assert dropped == [
        *(
            "*|MC:SUBJECT|*",
            ' mc:edit="main"',
            " mc:hideable",
            "*|IFNOT:ARCHIVE_PAGE|*",
            "*|END:IF|*",
        ),
        *("*|IF:MC_PREVIEW_TEXT|*", "*|MC_PREVIEW_TEXT|*", "*|END:IF|*"),
    ]


def test_the_preview_text_and_the_regions_of_klaviyo_are_dropped():
    source = '<div data-klaviyo-region="true">{% render_variable preview_text %}</div>'

    converted = convert(source, read="klaviyo", write="braze")

    assert converted.content == "<div></div>"
    assert {each.outcome for each in converted.tags} == {Outcome.DROPPED}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a*|IF:REWARDS|* *|HTML:REWARDS|**|rewards|* *|END:IF|*b", "a  b"),
        (
            '<meta property="og:title" content="*|MC:SUBJECT|*" /><title>*|MC:SUBJECT|*</title>',
            '<meta property="og:title" content="" /><title></title>',
        ),
    ],
)
def test_the_badge_of_mailchimp_and_the_titles_of_its_archive_are_dropped(source, expected):
    converted = convert(source, read="mailchimp", write="braze")

    assert converted.content == expected
    assert {each.outcome for each in converted.tags} == {Outcome.DROPPED}


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ('<a href="*|forward|*">Forward</a>', "Remove this link."),
        ("*|LIST:DESCRIPTION|*", "Write this text."),
        ("*|IF:LIST|*a*|ELSE:|*b*|END:IF|*", "Keep the text for it, without these tags."),
        ('<meta name="title" content="*|MC:SUBJECT|*">', "Write this text."),
    ],
)
def test_features_of_mailchimp_alone_say_what_a_person_does(source, advice):
    ((_, reason),) = by_hand(convert(source, read="mailchimp", write="braze"))

    assert reason.endswith(advice)
    assert "the other ESP" not in reason


@pytest.mark.parametrize("source", ["*|IF:ARCHIVE_PAGE|*a*|END:IF|*", "<p>*|MC:SUBJECT|*</p>"])
def test_other_code_of_campaigns_stays_by_hand(source):
    converted = convert(source, read="mailchimp", write="braze")

    assert len(by_hand(converted)) == 1


def braze(source: str, **options: Any) -> Conversion:
    return convert(source, read="klaviyo", write="braze", options=ConversionOptions(**options))


def by_hand(converted: Conversion) -> list[tuple[int, str]]:
    kept = [each for each in converted.tags if each.outcome is Outcome.BY_HAND]
    return [(each.position.column, " ".join(each.reasons)) for each in kept]


def test_a_text_with_a_default_stays_one_tag():
    assert braze("{{ first_name|default:'there' }}").content == (
        "{{${first_name} | default: 'there'}}"
    )


def test_text_outside_of_tags_stays_byte_for_byte():
    text = "\r\n\t<p title='a'>\u00a050 % {x} é</p>\ufeff \x0b"

    converted = braze(f"{text}{{{{ first_name }}}}{text}")

    assert converted.content == f"{text}{{{{${{first_name}} | escape}}}}{text}"


def test_the_standard_fields_of_salesforce_and_iterable_need_no_names():
    sfmc = "%%emailaddr%% %%FirstName%% %%=v([lastname])=%% %%firstname%%"
    iterable = "{{email}} {{firstName}} {{lastName}}"
    names = "{{${email_address}}} {{${first_name}}} {{${last_name}}}"

    from_sfmc = convert(sfmc, read="sfmc", write="braze")
    from_iterable = convert(iterable, read="iterable", write="braze")

    assert from_sfmc.content == f"{names} {{{{${{first_name}}}}}}"
    assert from_iterable.content == names
    assert [tag.outcome for tag in from_iterable.tags] == [
        Outcome.CONVERTED,
        Outcome.CAVEAT,
        Outcome.CAVEAT,
    ]


def test_the_standard_fields_of_hubspot_are_those_of_the_target():
    source = "{{ contact.firstname }} {{ contact.email }}"
    converted = convert(
        source, read="hubspot", write="braze", options=ConversionOptions(exact=True)
    )
    assert re.findall(r"\$\{\w+\}", converted.content) == ["${first_name}", "${email_address}"]


def test_a_tag_that_shows_a_whole_link_becomes_one_where_text_is():
    source = '<p>{% unsubscribe %} {% web_view %}</p><a href="{% unsubscribe %}">No more</a>'
    converted = convert(source, read="klaviyo", write="iterable")
    assert converted.content == (
        '<p><a href="{{unsubscribeUrl}}">Unsubscribe</a>'
        ' <a href="{{viewInBrowserUrl}}">Web view</a></p>'
        '<a href="{{unsubscribeUrl}}">No more</a>'
    )
    assert {each.outcome for each in converted.tags} == {Outcome.CAVEAT}


@pytest.mark.parametrize(
    ("compared", "literal"),
    [("01234", '"01234"'), ("1.10", '"1.10"'), ("75001", "75001"), ("0", "0"), ("-1.5", "-1.5")],
)
def test_digits_that_no_number_shows_are_text(compared, literal):
    source = f"*|IF:ZIP={compared}|*a*|END:IF|*"
    converted = convert(source, read="mailchimp", write="portable")
    assert converted.content == f"{{{{#if recipient.zip = {literal}}}}}a{{{{/if}}}}"


def test_characters_for_private_use_stay_beside_a_tag_by_hand():
    every = "".join(map(chr, range(0xE000, 0xF900)))
    for text in (every, "\ue0000\ue001 \ue000", "\ue0000\ue0010\ue001"):
        converted = convert(f"{text}{{% foo %}}0\ue001", read="klaviyo", write="braze")
        assert converted.content == f"{text}{{% foo %}}0\ue001"


def test_a_tag_without_portable_code_stays_and_says_why():
    converted = braze("a {{ first_name|wordcount }} {{ feeds.total }} {% coupon_code 'x' %}")

    assert (
        converted.content == "a {{ first_name|wordcount }} {{ feeds.total }} {% coupon_code 'x' %}"
    )
    (first, reason), (second, event), (third, tag) = by_hand(converted)
    assert (first, second, third) == (3, 30, 48)
    assert "No filter of content means the same as `wordcount`" in reason
    assert "member of an object or list" in event
    assert "`coupon_code` is a tag of Klaviyo" in tag


def test_what_the_target_refuses_stays_by_hand_and_the_rest_is_converted():
    converted = braze("{{ person.City|title }} {{ first_name }}")

    assert converted.content == "{{ person.City|title }} {{${first_name}}}"
    ((column, reason),) = by_hand(converted)
    assert column == 1
    assert "Braze lists no filter" in reason


def test_event_data_is_written_for_the_way_in_which_the_message_is_sent():
    source = "{{ event.total }}"

    assert braze(source).content == "{{event_properties.${total}}}"
    assert braze(source, sent_by="context").content == "{{context.${total}}}"


def test_the_data_of_a_second_event_stays_by_hand():
    source = "{{event_properties.${a}}} {{api_trigger_properties.${b}}}"

    converted = convert(source, read="braze", write="portable")

    assert converted.content == "{{event.a}} {{api_trigger_properties.${b}}}"
    assert "one event, here of `event_properties`" in by_hand(converted)[0][1]


def test_the_way_of_the_source_selects_the_event_data():
    source = "{{event_properties.${a}}} {{api_trigger_properties.${b}}}"
    options = ConversionOptions(sent_by_source="api_trigger_properties")

    converted = convert(source, read="braze", write="portable", options=options)

    assert converted.content == "{{event_properties.${a}}} {{event.b}}"


def test_event_data_has_no_caveat_about_an_earlier_version_of_exports():
    assert not [
        reason
        for tag in braze("{{ event.total }}").tags
        for reason in tag.reasons
        if "0.1" in reason
    ]


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
    ("esp", "source", "content"),
    [
        ("braze", '{{ "hello" | upcase }}', "HELLO"),
        ("braze", '{% assign x = "hello" %}{{ x | upcase | append: "!" }}', "HELLO!"),
        ("klaviyo", "{{ 'hello there'|title|truncatechars:6 }}", "Hello…"),
    ],
)
def test_a_text_in_the_code_is_shown_as_its_filters_make_it(esp, source, content):
    converted = convert(source, read=esp, write="iterable")

    assert (converted.content, by_hand(converted)) == (content, [])


@pytest.mark.parametrize("source", ['{{ "a" | escape }}', '{{ "May 3" | date: "%d" }}'])
def test_a_text_in_the_code_that_is_by_hand_is_not_called_a_field(source):
    ((_, reason),) = by_hand(convert(source, read="braze", write="iterable"))

    assert reason == "This is not the value of a field. Write this tag for the other ESP."


@pytest.mark.parametrize(
    ("esp", "name"), [("iterable", "firstName"), ("sendgrid", "first_name"), ("sendgrid", "email")]
)
@pytest.mark.parametrize("bare", [None, "field", "event"])
def test_a_standard_name_is_a_field_whatever_bare_names_are(esp, name, bare):
    options = ConversionOptions(bare=bare)

    converted = convert(f"{{{{{name}}}}}", read=esp, write="portable", options=options)

    assert converted.content == f"{{{{recipient.{'email' if name == 'email' else 'first_name'}}}}}"


def test_a_member_of_bare_event_data_has_its_path():
    options = ConversionOptions(bare="event")

    converted = convert("{{order.a.[b c]}}", read="iterable", write="portable", options=options)

    assert converted.content == '{{event.order.a["b c"]}}'


def test_event_data_of_several_parts_is_read():
    converted = convert("{{ message.custom_data.a.b }}", read="onesignal", write="portable")

    assert converted.content == "{{event.a.b}}"


def test_a_block_whose_test_is_by_hand_stays_between_marks():
    block = "{% if feeds.a %}{{ first_name }}{% else %}{% if first_name %}x{% endif %}{% endif %}"

    converted = braze(f"a\n{block} {{{{ first_name }}}}")

    assert converted.content == f"a\n[BY HAND: line 2]{block}[END BY HAND] {{{{${{first_name}}}}}}"
    assert converted.counts == {
        Outcome.CONVERTED: 1,
        Outcome.CAVEAT: 0,
        Outcome.DROPPED: 0,
        Outcome.BY_HAND: 1,
        Outcome.CONSEQUENCE: 5,
    }


def test_a_variable_that_a_kept_tag_reads_keeps_its_assignment():
    source = "{% assign x = ${city} %}{{ x }}{{ x | size }}"

    converted = convert(source, read="braze", write="klaviyo")

    shown = "{{ person.City|default_if_none:'' }}"
    assert converted.content == source.replace("{{ x }}", shown)
    assert [reason for _, reason in by_hand(converted)] == [
        "The tag in line 1, which is by hand, reads the variable `x`.",
        "No filter of content means the same as `size`. Write this tag for the other ESP.",
    ]


@pytest.mark.parametrize("name", ["@first", "@firstName", "@FIRST"])
def test_the_assignment_that_a_tag_by_hand_reads_stays_in_any_case(name):
    set_name = f"%%[ SET {name} = Lookup('Subs', 'FirstName', 'SubscriberKey', _subscriberkey) ]%%"
    source = f"%%[ VAR {name} ]%%{set_name}<p>%%=v({name.title()})=%%</p>"

    converted = convert(source, read="sfmc", write="braze")

    assert converted.content == source
    assert converted.counts[Outcome.BY_HAND] == 3


@pytest.mark.parametrize(
    ("esp", "source", "name"),
    [
        ("braze", "{{content_blocks.${footer}}}", "content_blocks.footer"),
        ("braze", "{{content_blocks.${footer} | id: 'cb1'}}", "content_blocks.footer"),
        ("customerio", "{{snippets.footer}}", "snippets.footer"),
        ("customerio", "{{ content }}", "content"),
    ],
)
def test_a_tag_that_inserts_other_content_says_so(esp, source, name):
    ((_, reason),) = by_hand(convert(source, read=esp, write="portable"))

    assert reason == (
        f"This inserts other content, `{name}`. Convert that separately, and insert it here."
    )


def test_event_data_without_a_code_can_have_a_name():
    source, options = "{{journey.size_of_shoe}}", ConversionOptions(sent_by="context")

    ((_, reason),) = by_hand(convert(source, read="customerio", write="braze", options=options))
    name, _, path = reason.split("`")[1].partition(": ")
    options = evolve(options, names={name: path})
    converted = convert(source, read="customerio", write="braze", options=options)

    assert "with a file of names" in reason
    assert converted.content == "{{context.${size_of_shoe}}}"


LOOKUP = "SET @firstName = Lookup('Subs', 'FirstName', 'Key', @key)"
LOOKED_UP = (
    "`Lookup` reads other data than the recipient's. Send the value as a field. Or give its field"
    " in a file of names, as in `firstName: KEY`."
)
READS_FIRST_NAME = "This reads the variable `@firstName`, whose value is by hand."


@pytest.mark.parametrize(
    ("use", "reasons"),
    [
        ("%%=v(@firstName)=%%", [READS_FIRST_NAME]),
        ("%%=Uppercase(@firstName)=%%", [READS_FIRST_NAME]),
        ("%%[ IF @firstName == 'a' THEN ]%%b%%[ ENDIF ]%%", [READS_FIRST_NAME]),
        ("%%[ IF [a] == 'b' AND EMPTY(@firstName) THEN ]%%c%%[ ENDIF ]%%", [READS_FIRST_NAME]),
        (
            "%%[ IF Now() == 1 THEN ]%%%%=v(@firstName)=%%%%[ ENDIF ]%%",
            ["No condition of content means the same. Write this condition for the other ESP."],
        ),
        (
            "%%[ SET @all = Concat(@firstName, '!') ]%%%%=v(@all)=%%",
            [
                f"{READS_FIRST_NAME} Or give its field in a file of names, as in `all: KEY`.",
                "This reads the variable `@all`, whose value is by hand.",
            ],
        ),
    ],
)
def test_the_reason_is_at_the_assignment_whose_value_content_lacks(use, reasons):
    converted = convert(f"%%[ {LOOKUP} ]%%{use}", read="sfmc", write="braze")

    found = [reason for _, reason in by_hand(converted)]
    is_block = "Now()" in use
    assert found == [LOOKED_UP, *reasons]
    assert converted.counts[Outcome.CONSEQUENCE] == (2 if is_block else use.count("ENDIF"))


def test_a_test_in_a_variable_is_not_the_reason():
    source = "%%[ SET @has = Empty([a]) IF @has AND Foo() == 1 THEN ]%%x%%[ ENDIF ]%%"

    converted = convert(source, read="sfmc", write="braze")

    assert "whose value is by hand" not in str(by_hand(converted))


@pytest.mark.parametrize("name", ["firstName", "@firstName", "FIRSTNAME", "@FirstName"])
def test_a_file_of_names_gives_the_field_of_a_variable_by_hand(name):
    default = "IF EMPTY(@firstName) THEN SET @firstName = 'you' ENDIF"
    source = f"%%[ SET @key = [Key] {LOOKUP} {default} ]%%Hi %%=v(@firstName)=%%"
    options = ConversionOptions(names={name: "given_name"})

    converted = convert(source, read="sfmc", write="portable", options=options)

    assert converted.content == 'Hi {{recipient.given_name | default: "you"}}'
    assert converted.counts[Outcome.BY_HAND] == 0
    assert converted.unused_names == ()
    assert converted.names == {"@firstName": "given_name"}


def test_the_assignment_of_a_given_variable_stays_if_code_by_hand_reads_it():
    source = f"%%[ {LOOKUP} ]%%%%=v(@firstName)=%% %%=Foo(@firstName)=%%"
    options = ConversionOptions(names={"firstName": "first_name"})

    converted = convert(source, read="sfmc", write="portable", options=options)

    assert converted.content == source.replace("%%=v(@firstName)=%%", "{{recipient.first_name}}")
    assert converted.counts[Outcome.BY_HAND] == 2


def test_a_name_is_not_that_of_a_variable_whose_value_is_converted():
    source = "%%[ SET @first = Concat([first], '!') ]%%%%=v(@first)=%%"
    options = ConversionOptions(names={"first": "given_name"})

    converted = convert(source, read="sfmc", write="portable", options=options)

    assert converted.content == "{{recipient.given_name}}!"


CHAINS = {
    "sfmc": (
        "%%[ SET @aName1 = LookupRows([b]) ]%%",
        " SET @aName{} = Row(@ANAME{}) ",
        "%%=v(@aName{})=%%",
    ),
    "braze": ("{% assign a1 = ${b} | size %}", "{% assign a{} = a{} | size %}", "{{ a{} | size }}"),
    "hubspot": ("{% set a1 = contact.b.c() %}", "{% set a{} = a{}.c() %}", "{{ a{}.c() }}"),
    "brevo": ("{% set a1 = contact.B|c %}", "{% set a{} = a{}|c %}", "{{ a{}|c }}"),
}


@pytest.mark.parametrize("esp", CHAINS)
@pytest.mark.parametrize("target", ["portable", "klaviyo", "mailchimp"])
def test_all_assignments_that_a_tag_by_hand_reads_through_others_stay(esp, target):
    first, other, last = CHAINS[esp]
    others = "".join(
        other.replace("{}", str(n), 1).replace("{}", str(n - 1), 1) for n in range(2, 31)
    )
    others = f"%%[{others}]%%" if esp == "sfmc" else others
    source = f"{first}x{others}{last.replace('{}', '30', 1)}"

    converted = convert(source, read=esp, write=target)

    kept = converted.content.replace("[BY HAND: line 1]", "").replace("[END BY HAND]", "")
    assert kept == source
    assert converted.counts[Outcome.BY_HAND] == 31


@pytest.mark.parametrize(
    ("esp", "source", "reason"),
    [
        (
            "iterable",
            '{{#assign "T"}}{{a}}{{/assign}}{{T}}{{#if T}}a{{/if}}{{#ifEq T "b"}}c{{/ifEq}}',
            "This gives a text to a variable.",
        ),
        (
            "iterable",
            '{{#assign "T"}}a{{/assign}}{{@root.T}}{{#if (eq ../T "b")}}c{{/if}}',
            "This gives a text to a variable.",
        ),
        ("iterable", '{{assign "T" "a"}}{{T}}', "the same as `assign`."),
        ("hubspot", "{% set contact.email = 'a' %}{{ contact.email }}", "more than set a variable"),
        ("hubspot", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "more than set a variable"),
        ("hubspot", "{% import 'a' as contact %}{{ contact.email }}", "`import` is a tag"),
        ("onesignal", "{% increment first_name %}{{ first_name }}", "`increment` is a tag"),
        ("klaviyo", "{% firstof a b as first_name %}{{ first_name }}", "`firstof` is a tag"),
        ("brevo", "{% cycle 'a' 'b' as x %}{{ x }}", "`cycle` is a tag"),
        ("customerio", "{% liquid assign x = event.a %}{{ x }}", "a tag in each line"),
        ("onesignal", "{% liquid\n capture x\n endcapture %}{{ x }}", "a tag in each line"),
    ],
)
def test_what_reads_a_variable_that_a_tag_by_hand_sets_is_by_hand(esp, source, reason):
    options = ConversionOptions(bare="event")

    converted = convert(source, read=esp, write="braze", options=options)

    kept = converted.content.replace("[BY HAND: line 1]", "").replace("[END BY HAND]", "")
    assert kept == source
    assert converted.counts[Outcome.CONVERTED] == converted.counts[Outcome.CAVEAT] == 0
    first, *others = [found for _, found in by_hand(converted)]
    assert reason in first
    assert all("reads the variable" in each or "`assign`" in each for each in others)


@pytest.mark.parametrize(
    ("esp", "source", "reason"),
    [
        ("sendgrid", "{{#items}}{{name}}{{/items}}", "`{{#items}}` shows its text for each item"),
        ("iterable", "{{#with a}}{{b}}{{/with}}", "Write whole paths without this block"),
        ("brevo", "{{ params.d|date:'Y-m-d' }}", "establishes which format of dates Brevo reads"),
    ],
)
def test_what_content_lacks_has_its_reason(esp, source, reason):
    ((_, found),) = by_hand(convert(source, read=esp, write="braze"))

    assert reason in found


SET_IN_BLOCKS = {
    "braze": (
        "{% if custom_attribute.${tier} == 'gold' %}{% assign pct = 20 %}{% endif %}",
        "{% unless ${city} == 'a' %}{% assign pct = 20 %}{% endunless %}",
        (
            "{% case ${city} %}{% when 'a' %}{% assign pct = 1 %}{% else %}{% assign pct = 2 %}"
            "{% endcase %}"
        ),
        "{% if ${city} == 'a' %}{% capture pct %}x{% endcapture %}{% endif %}",
        (
            "{% for x in context.${a} %}{% if x.gift == true %}{% assign pct = 1 %}{% endif %}"
            "{% endfor %}"
        ),
        "{% if ${city} == 'a' %}b{% for x in (1..3) %}{% assign pct = x %}{% endfor %}{% endif %}",
    ),
    "customerio": (
        "{% for i in event.items %}{% assign pct = pct | divided_by: i.price %}{% endfor %}",
        "{% if customer.a == 'b' %}c{% elsif customer.a == 'd' %}{% assign pct = 1 %}{% endif %}",
    ),
    "hubspot": ("{% if contact.city == 'A' %}{% set pct = contact.b.c() %}{% endif %}",),
    "sfmc": ("%%[ IF [tier] == 'x' THEN ]%%%%[ SET @pct = Lookup('a', 'b') ]%%%%[ ENDIF ]%%",),
}


@pytest.mark.parametrize("target", ["portable", "klaviyo", "mailchimp"])
@pytest.mark.parametrize(
    ("esp", "block"), [(esp, each) for esp, blocks in SET_IN_BLOCKS.items() for each in blocks]
)
def test_a_block_around_an_assignment_by_hand_stays_with_it(esp, block, target):
    use = "%%=Add(@pct, 1)=%%" if esp == "sfmc" else "{{ pct | divided_by: 3 }}"

    converted = convert(f"a {block} b {use}", read=esp, write=target)

    assert converted.content == f"a [BY HAND: line 1]{block}[END BY HAND] b {use}"
    assert [column for column, _ in by_hand(converted)] == [3, 6 + len(block)]
    assert converted.counts[Outcome.CONSEQUENCE] == len(converted.tags) - 2


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("customerio", "braze", "a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b"),
        ("customerio", "hubspot", "a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b"),
        ("customerio", "klaviyo", "a{% verbatim %}{{ x }} {{recipient.city}}{% endverbatim %}b"),
        ("klaviyo", "braze", "a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b"),
        ("klaviyo", "brevo", "a{% verbatim %}{{ x }} {{recipient.city}}{% endverbatim %}b"),
        ("klaviyo", "mailchimp", "a{{ x }} {{recipient.city}}b"),
    ],
)
def test_text_in_a_block_that_is_not_read_as_code_stays_text(source, target, expected):
    name = "verbatim" if source == "klaviyo" else "raw"
    text = f"a{{% {name} %}}{{{{ x }}}} {{{{recipient.city}}}}{{% end{name} %}}b"

    converted = convert(text, read=source, write=target)

    assert converted.content == expected
    assert converted.counts[Outcome.CONVERTED] == 1


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        (
            "klaviyo",
            "sendgrid",
            "a{% verbatim %}{{ x }}, {{y}}{% endverbatim %}",
            r"a\{{ x }}, \{{y}}",
        ),
        ("braze", "iterable", "a {%- raw -%} {{ x }} {%- endraw -%} b", r"a \{{ x }} b"),
        ("sendgrid", "iterable", r"a\{{ x }}b", r"a\{{ x }}b"),
        ("sendgrid", "braze", r"a\{{ x }}b", "a{% raw %}{{ x }}{% endraw %}b"),
        ("sendgrid", "mailchimp", r"a\{{ x }}b", "a{{ x }}b"),
    ],
)
def test_a_backslash_makes_a_tag_of_handlebars_text(source, target, text, expected):
    converted = convert(text, read=source, write=target)

    assert converted.content == expected
    assert converted.counts[Outcome.CONVERTED] == len(converted.tags) == 1


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        (
            "sendgrid",
            "braze",
            r"\\{{email}} \\\{{email}}",
            r"\{{${email_address}}} \\{{${email_address}}}",
        ),
        ("braze", "iterable", r"\{{${email_address}}}", r"\\{{email}}"),
        ("sendgrid", "iterable", r"\\{{email}} \\{{x}}", r"\\{{email}} \\{{x}}"),
        (
            "braze",
            "iterable",
            r"\{{a.b}}\{% raw %}{{x}}{% endraw %}",
            r"\{{a.b}}\{% raw %}{{x}}{% endraw %}",
        ),
    ],
)
def test_of_two_backslashes_before_a_tag_handlebars_shows_one(source, target, text, expected):
    assert convert(text, read=source, write=target).content == expected


def test_a_name_of_handlebars_that_begins_with_a_hyphen_removes_no_white_space():
    text = "{{#each lines}}$ {{-price}} b {{~name~}} c{{/each}}"

    converted = convert(text, read="sendgrid", write="customerio")

    assert converted.content == (
        '{% for item in event.lines %}$ {{item["-price"]}} b{{item.name}}c{% endfor %}'
    )


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (
            "https://a.example/?n=%FIRSTNAME%&e=1",
            "https://a.example/?n={{recipient.first_name}}&e=1",
        ),
        ("https://a.example/%DATE%", "https://a.example/{{recipient.date}}"),
        ("%FIRSTNAME%?q=%20EMAIL%20", "{{recipient.first_name}}?q=%20EMAIL%20"),
    ],
)
def test_percent_tags_in_links_are_tags_and_percent_encoded_text_is_not(link, expected):
    converted = convert(f'<a href="{link}">', read="activecampaign", write="portable")

    assert converted.content == f'<a href="{expected}">'


def test_a_tag_by_hand_in_a_loop_keeps_no_other_tag_that_reads_the_item():
    text = (
        "{% for item in event.Items %}{{ item.Name|title }}: {{ item.Quantity }} {{ item.Name }}"
        "{% endfor %}"
    )

    converted = convert(text, read="klaviyo", write="braze")

    assert [column for column, _ in by_hand(converted)] == [30]
    assert converted.content == (
        "{% for item in event_properties.${Items} %}{{ item.Name|title }}: {{item.Quantity}}"
        " {{item.Name}}{% endfor %}"
    )


@pytest.mark.parametrize("tag", ["{{{body}}}", "{{&body}}"])
def test_a_caveat_names_html_that_handlebars_shows_as_it_is(tag):
    options = ConversionOptions(bare="event")

    shown = convert(f"<p>{tag} {{{{body}}}}</p>", read="sendgrid", write="braze", options=options)
    subject = convert(f"{tag} {{{{body}}}}", read="sendgrid", write="braze", options=options)

    caveat = "HTML in a value is shown as it is at SendGrid, and can be escaped in the result."
    assert [caveat in each.reasons for each in shown.tags] == [True, False]
    assert [caveat in each.reasons for each in subject.tags] == [False, False]


@pytest.mark.parametrize("name", ["firstName", "FirstName", "first_name"])
def test_a_name_with_capital_letters_has_the_key_of_its_words(name):
    converted = convert(f"{{{{ customer.{name} }}}}", read="customerio", write="braze")

    assert converted.content == "{{${first_name}}}"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("braze", "a {%- raw -%} {{ x }} {%- endraw -%} b"),
        ("klaviyo", "a{% verbatim %}{{ x }}{% endverbatim %}b"),
        ("sendgrid", r"a\{{ x }}b"),
    ],
)
def test_text_that_content_can_only_have_as_code_stays_by_hand(source, text):
    converted = convert(text, read=source, write="portable")

    assert converted.content == text
    assert "would be read as code" in by_hand(converted)[0][1]


@pytest.mark.parametrize(
    ("source", "caveat"),
    [
        (
            "{% if ${city} %}x{% endif %}{{ ${city} | upcase }}",
            "reads an empty text in city as no value",
        ),
        ("{% if ${city} != '' %}x{% endif %}", "reads a missing value in city as no value"),
        ("{% if ${city} != blank %}x{% endif %}", "white space only"),
    ],
)
def test_a_caveat_names_the_values_that_differ(source, caveat):
    converted = convert(source, read="braze", write="portable")

    assert caveat in next(each.reasons[0] for each in converted.tags if each.reasons)


PRESENCES = {
    ("customerio", "braze"): {
        "{% if customer.a %}x{% endif %}": "{% if custom_attribute.${a} %}x{% endif %}",
        "{% unless customer.a %}x{% endunless %}": (
            "{% unless custom_attribute.${a} %}x{% endunless %}"
        ),
        "{% unless customer.a %}x{% else %}y{% endunless %}": (
            "{% if custom_attribute.${a} %}y{% else %}x{% endif %}"
        ),
        "{% if customer.a != blank %}x{% endif %}": (
            "{% if custom_attribute.${a} != blank %}x{% endif %}"
        ),
        "{% if customer.a == nil %}x{% endif %}": (
            "{% if custom_attribute.${a} == nil %}x{% endif %}"
        ),
        "{% if customer.a and customer.a != '' %}x{% endif %}": (
            '{% if custom_attribute.${a} and custom_attribute.${a} != "" %}x{% endif %}'
        ),
        "{% if customer.a != nil and customer.a != '' %}x{% endif %}": (
            '{% if custom_attribute.${a} != nil and custom_attribute.${a} != "" %}x{% endif %}'
        ),
        "{% if customer.a %}x{% endif %}{{ customer.a | upcase }}": (
            "{% if custom_attribute.${a} %}x{% endif %}{{custom_attribute.${a} | upcase}}"
        ),
        "{% if customer.b == true %}x{% endif %}{% if customer.b %}y{% endif %}": (
            "{% assign b_text = custom_attribute.${b} | downcase %}"
            '{% if b_text == "true" %}x{% endif %}{% if custom_attribute.${b} %}y{% endif %}'
        ),
    },
    ("klaviyo", "brevo"): {
        "{% if person.a %}x{% endif %}": "{% if contact.A %}x{% endif %}",
        "{% if not person.a %}x{% else %}y{% endif %}": (
            "{% if contact.A %}y{% else %}x{% endif %}"
        ),
    },
    ("klaviyo", "braze"): {
        "{% if person.n > 3 %}x{% endif %}{% if not person.n %}y{% endif %}": (
            "{% assign n_number = custom_attribute.${n} | plus: 0 %}{% if n_number > 3 %}x"
            "{% endif %}{% unless custom_attribute.${n} and custom_attribute.${n} != 0 %}y"
            "{% endunless %}"
        ),
    },
    ("sendgrid", "iterable"): {
        "{{#if a}}x{{/if}}": "{{#if a}}x{{/if}}",
        "{{#unless a}}x{{/unless}}": "{{#if a}}{{else}}x{{/if}}",
    },
}


@pytest.mark.parametrize(
    ("read", "write", "source", "expected"),
    [(*pair, *each) for pair, templates in PRESENCES.items() for each in templates.items()],
)
@pytest.mark.parametrize("exact", [False, True])
def test_a_test_whether_a_value_is_set_stays_as_short_as_its_meaning_permits(
    read, write, source, expected, exact
):
    options = ConversionOptions(exact=exact, bare="field")

    converted = convert(source, read=read, write=write, options=options)

    assert converted.content == expected
    assert not any("as no" in reason for tag in converted.tags for reason in tag.reasons)


@pytest.mark.parametrize(
    ("read", "write", "test", "expected", "values"),
    [
        (
            *("klaviyo", "braze", "person.a"),
            'custom_attribute.${a} and custom_attribute.${a} != ""',
            "0, an empty list and an empty object in a as a value, and Klaviyo as none",
        ),
        (
            *("braze", "klaviyo", "custom_attribute.${a}", "person|lookup:'a'"),
            "0, an empty text, an empty list and an empty object in a as no value, and Braze as",
        ),
        (
            *("klaviyo", "hubspot", "person.a", "contact.a"),
            'the text "false" in a as no value, and Klaviyo as one',
        ),
        (
            *("klaviyo", "portable", "person.a", "recipient.a is set"),
            "false, 0, an empty list and an empty object in a as a value, and Klaviyo as none",
        ),
    ],
)
def test_a_test_of_an_unknown_type_names_the_values_that_differ(
    read, write, test, expected, values
):
    converted = convert(f"{{% if {test} %}}x{{% endif %}}", read=read, write=write)

    assert f"if {expected}" in converted.content
    assert (
        converted.tags[0]
        .reasons[0]
        .startswith(f"No tag shows the type of a. This code reads {values}")
    )


def test_an_exact_test_of_an_unknown_type_is_long_or_stays_by_hand():
    source = "{% if person.a %}x{% endif %}"
    options = ConversionOptions(exact=True)

    for_braze = convert(source, read="klaviyo", write="braze", options=options)
    portable = convert(source, read="klaviyo", write="portable", options=options)

    value = "custom_attribute.${a}"
    assert for_braze.content == (
        f"{{% if {value} and {value} != empty and {value} != 0 %}}x{{% endif %}}"
    )
    assert "No tag shows" not in str(for_braze.tags)
    assert "No tag shows the type of a. Give it" in by_hand(portable)[0][1]


def test_a_comparison_with_empty_is_one_of_lists_in_liquid():
    block = "{% if event.guests == empty %}alone{% else %}many{% endif %}"

    for_braze = convert(block, read="customerio", write="braze")
    portable = convert(block, read="customerio", write="portable")
    of_text = convert(block + "{{ event.guests | upcase }}", read="customerio", write="portable")

    assert for_braze.content == (
        "{% if event_properties.${guests} == empty %}alone{% else %}many{% endif %}"
    )
    assert portable.tags[0].reasons == (
        (
            "No tag shows the type of event.guests. This code reads an empty list and an empty"
            " object in event.guests as a value, and Customer.io as none."
        ),
        (
            "No tag shows the type of event.guests. This code reads a missing value in event.guests"
            " as no value, and Customer.io as one."
        ),
    )
    assert "This code reads a missing value in event.guests as no" in of_text.tags[0].reasons[0]
    assert of_text.content == (
        "{{#if event.guests is not set}}alone{{else}}many{{/if}}{{event.guests | upper}}"
    )


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


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        (
            *("sendgrid", "iterable"),
            "{{#each a}}{{#if this.gift}}gift{{/if}}{{/each}}",
            "{{#each a as |item|}}{{#if item.gift}}gift{{/if}}{{/each}}",
        ),
        (
            *("iterable", "sendgrid"),
            "{{#if gift}}{{#unless code}}x{{/unless}}{{else}}y{{/if}}",
            "{{#if gift}}{{#if code}}{{else}}x{{/if}}{{else}}y{{/if}}",
        ),
        (
            *("klaviyo", "sendgrid"),
            "{% if event.total and event.total > 3 %}a{% else %}b{% endif %}",
            "{{#if total}}{{#greaterThan total 3}}a{{else}}b{{/greaterThan}}{{else}}b{{/if}}",
        ),
        (
            *("sendgrid", "iterable"),
            "{{#if total}}a{{/if}}{{#greaterThan total 3}}b{{/greaterThan}}",
            "{{#if total}}a{{/if}}{{#if total}}{{#ifGt total 3}}b{{/ifGt}}{{/if}}",
        ),
    ],
)
def test_a_truth_test_of_handlebars_stays_short_in_handlebars(source, target, text, expected):
    options = ConversionOptions(bare="event")

    converted = convert(text, read=source, write=target, options=options)

    assert converted.content == expected
    assert not any("No tag shows" in reason for tag in converted.tags for reason in tag.reasons)


def test_tags_that_contradict_each_other_stay():
    source = "{% if person.n > 3 %}a{% endif %}{% if person.n == 'x' %}b{% endif %}"

    ((column, reason),) = by_hand(braze(source))
    assert column == 34
    assert "reads the field n as a text, but other tags read it as a number" in reason


def test_values_replace_what_the_target_lacks():
    values = {"sender.name": "Acme & Co", "today.year": "1999"}

    converted = braze("<p>{{ organization.name }}{% current_year %}</p>", values=values)

    assert converted.content == "<p>Acme &amp; Co{{ 'now' | date: '%Y' }}</p>"
    with pytest.raises(InvalidInput):
        ConversionOptions(values={"sender.nam": "Acme"})


@pytest.mark.parametrize(
    ("esp", "source", "expected"),
    [
        ("mailchimp", "*|HTML:LIST_ADDRESS_HTML|*", "{{sender.address}}"),
        ("mailchimp", "*|list:company|*", "{{sender.name}}"),
        ("mailchimp", "*|DATE:Y|* *|date:Y|*", "{{today.year}} {{today.year}}"),
        ("klaviyo", "{% today '%Y' %}", "{{today.year}}"),
        ("hubspot", "{{ year }}", "{{today.year}}"),
        ("hubspot", "{{ unsubscribe_link_single }}", "{{link.unsubscribe}}"),
        ("activecampaign", "%SENDER-INFO%", "{{sender.address}}"),
        ("activecampaign", "%UNSUBSCRIBELINK%&ALL", "{{link.unsubscribe_all}}"),
        ("activecampaign", "%UNSUBSCRIBELINK%&amp;ALL", "{{link.unsubscribe_all}}"),
        ("activecampaign", "%UNSUBSCRIBELINK%&ALLOW", "{{link.unsubscribe}}&ALLOW"),
        ("sfmc", "%%Member_Busname%% %%XTYEAR%%", "{{sender.name}} {{today.year}}"),
        ("onesignal", "{{ x }} [unsubscribe_url]", "{{recipient.x}} {{link.unsubscribe}}"),
    ],
)
def test_other_names_of_links_the_sender_and_the_year_are_read(esp, source, expected):
    assert convert(source, read=esp, write="portable").content == expected


@pytest.mark.parametrize(
    ("esp", "source", "shown", "caveat"),
    [
        ("activecampaign", "%SENDER-INFO-SINGLELINE%", "{{sender.address}}", "shows the name"),
        ("activecampaign", "%SENDER-INFO%", "{{sender.address}}", "shows the name"),
        ("brevo", "{{ sender.name }}", "{{sender.name}}", "not of the company"),
        ("brevo", "{{ sender.company }}", "{{sender.name}}", None),
        ("sendgrid", "{{Sender_Name}}", "{{sender.name}}", "not of the company"),
        ("sendgrid", "<%asm_group_unsubscribe_url%>", "{{link.unsubscribe}}", "a whole link"),
        ("sendgrid", "<%asm_preferences_url%>", "{{link.preferences}}", "a whole link"),
        ("sendgrid", "<%asm_preferences_raw_url%>", "{{link.preferences}}", None),
        ("customerio", "{% unsubscribe %}", "{{link.unsubscribe}}", "a whole link"),
        ("customerio", "{% view_in_browser %}", "{{link.view_in_browser}}", "a whole link"),
        ("customerio", "{% view_in_browser_url %}", "{{link.view_in_browser}}", None),
        ("mailchimp", "*|LIST:ADDRESS|*", "{{sender.address}}", "on several lines"),
        ("mailchimp", "*|HTML:LIST_ADDRESS_HTML|*", "{{sender.address}}", "to an address book"),
        ("mailchimp", "*|LIST:ADDRESSLINE|*", "{{sender.address}}", None),
    ],
)
def test_a_code_that_shows_something_else_than_other_esps_has_a_caveat(esp, source, shown, caveat):
    converted = convert(source, read=esp, write="portable")

    (tag,) = converted.tags
    assert converted.content == shown
    assert caveat in tag.reasons[0] if caveat else tag.outcome is Outcome.CONVERTED


def test_an_address_with_a_name_has_a_caveat_in_both_directions():
    codes = {"activecampaign": "%SENDER-INFO-SINGLELINE%", "mailchimp": "*|LIST:ADDRESSLINE|*"}

    for source, target in permutations(codes):
        converted = convert(codes[source], read=source, write=target)
        assert converted.content == codes[target]
        assert any("the name of the sender" in each for each in converted.tags[0].reasons)


_SECONDARY = "Only secondary sources establish the code of Mailchimp for `{{sender.address}}`."


@pytest.mark.parametrize(
    ("esp", "code", "written", "reasons"),
    [
        ("mailchimp", "*|LIST:ADDRESSLINE|*", "*|LIST:ADDRESSLINE|*", {_SECONDARY}),
        (
            "mailchimp",
            "*|LIST:ADDRESS|*",
            "*|LIST:ADDRESSLINE|*",
            {_SECONDARY, "Mailchimp shows the address on several lines."},
        ),
        ("activecampaign", "%SENDER-INFO%", "%SENDER-INFO-SINGLELINE%", None),
    ],
)
def test_a_code_of_the_same_esp_has_the_caveats_that_its_usual_code_has_not(
    esp, code, written, reasons
):
    usual = {*convert(written, read=esp, write=esp).tags[0].reasons}

    converted = convert(code, read=esp, write=esp)

    assert converted.content == written
    assert {*converted.tags[0].reasons} == (usual if reasons is None else reasons)


def test_hubspots_link_to_unsubscribe_opens_its_page_of_preferences():
    page = "HubSpot opens the page of preferences, on which recipients can unsubscribe."
    link, all_mail = "{{ unsubscribe_link }}", "{{ unsubscribe_link_all }}"

    def converted(source: str, target: str) -> tuple[str, list[str]]:
        found = convert(source, read="hubspot", write=target)
        return found.content, [reason for tag in found.tags for reason in tag.reasons]

    assert converted(link, "portable") == ("{{link.unsubscribe}}", [page])
    assert converted(link, "mailchimp") == ("*|UNSUB|*", [page])
    assert converted("{{ unsubscribe_link_single }}", "mailchimp") == ("*|UNSUB|*", [])
    both = "{{link.preferences}} {{link.unsubscribe_all}}"
    assert converted(f"{link} {all_mail}", "portable") == (both, [])
    by_hand = f"{{% if f() %}}{all_mail}{{% endif %}}"
    assert converted(f"{by_hand}{link}", "portable")[0].endswith("{{link.preferences}}")
    for mention in ("unsubscribe_link_all", f"{{# {all_mail} #}}"):
        assert converted(f"{link}{mention}", "portable")[1] == [page]
    content, reasons = converted(f"{link} {all_mail}", "hubspot")
    assert content == f"{link} {all_mail}"
    assert page not in reasons


@pytest.mark.parametrize(
    ("target", "code"), [("mailchimp", "*|UNSUB|*"), ("klaviyo", "{% unsubscribe_link %}")]
)
def test_advice_for_another_esp_is_in_its_language(target, code):
    source = "{{ unsubscribe_link_all }} %%b%%"

    converted = convert(source, read="hubspot", write=target)

    ((_, reason),) = by_hand(converted)
    assert f"Write `{code}` instead." in reason
    assert converted.warnings
    assert not any("{{" in each.message for each in converted.warnings)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("braze", "{{event_properties.${value}}}"),
        ("sfmc", '%%[ SET @value = AttributeValue("value") ]%%%%=v(@value)=%%'),
    ],
)
def test_event_data_with_a_name_that_the_target_refuses_needs_another_one(target, code):
    source = "{{ event|lookup:'$value'|default:'' }}"
    options = ConversionOptions(names={"event.$value": "event.value"})

    ((_, reason),) = by_hand(convert(source, read="klaviyo", write=target))

    assert reason.endswith("Send the value with another name.")
    converted = convert(source, read="klaviyo", write=target, options=options)
    assert converted.content == code


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("mailchimp", "*|DATE:y|*"),
        ("mailchimp", "*|DATE:d/m/y|*"),
        ("mailchimp", "*|DATE|*"),
        ("klaviyo", "{% today '%y' %}"),
        ("klaviyo", "{% today '%Y-%m-%d' as today %}"),
        ("klaviyo", "{% current_day %}"),
    ],
)
def test_other_parts_of_the_date_of_today_stay_by_hand(esp, source):
    ((_, reason),) = by_hand(convert(source, read=esp, write="portable"))
    assert " itself provides. Content has no code for this tag: " in reason


@pytest.mark.parametrize(
    ("tag", "link"),
    [
        ("{% unsubscribe %}", "{% unsubscribe_link %}"),
        ("{% unsubscribe 'here' %}", "{% unsubscribe_link %}"),
        ("{% web_view %}", "{% web_view_link %}"),
    ],
)
def test_a_tag_that_shows_a_whole_link_is_by_hand_in_plain_text(tag, link):
    options = ConversionOptions(surface="text")

    converted = convert(tag, read="klaviyo", write="braze", options=options)

    ((_, reason),) = by_hand(converted)
    assert reason.endswith(f"shows this link in plain text. Write its address, `{link}`.")


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


def test_names_say_which_keys_are_meant():
    converted = convert(
        "{{ person.TIER }}",
        read="klaviyo",
        write="portable",
        options=ConversionOptions(names={"TIER": "loyalty_tier"}),
    )

    assert converted.content == "{{recipient.loyalty_tier}}"
    assert converted.names == {"TIER": "loyalty_tier"}


@pytest.mark.parametrize("names", [{}, {"city": "city"}])
def test_two_names_with_one_key_are_not_confused(names):
    converted = convert(
        "{{ ${city} }}{{ custom_attribute.${city} }}",
        read="braze",
        write="portable",
        options=ConversionOptions(names=names),
    )

    assert converted.content == "{{recipient.city}}{{ custom_attribute.${city} }}"
    assert "Another name has the key city" in by_hand(converted)[0][1]


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("iterable", "{{email}}{{profile.email}}"),
        ("hubspot", "{{ contact.email }}{{ personalization_token('email') }}"),
    ],
)
def test_a_name_with_and_without_its_root_is_one_field(esp, source):
    converted = convert(source, read=esp, write="portable")

    assert converted.content == "{{recipient.email}}{{recipient.email}}"
    assert not any("one field" in reason for tag in converted.tags for reason in tag.reasons)


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


def test_two_names_have_one_key_if_a_file_of_names_says_so():
    options = ConversionOptions(names={"Town": "city", "Place": "city"})

    converted = convert("%%Town%%%%Place%%", read="sfmc", write="portable", options=options)

    assert converted.content == "{{recipient.city}}{{recipient.city}}"
    assert by_hand(converted) == []


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("klaviyo", "{{ first_name }}{{ person.FirstName }}"),
        ("sfmc", "%%Shoe_Size%%%%ShoeSize%%"),
    ],
)
def test_two_names_can_be_two_fields(esp, source):
    ((_, reason),) = by_hand(convert(source, read=esp, write="portable"))

    assert reason.startswith("Another name has the key ")


@pytest.mark.parametrize(
    "test",
    ["TIER=gold && CITY=Berlin", "TIER && CITY", "AGE>=18 and AGE<30", "A=b OR A=c", "A=1 || B=2"],
)
def test_joined_tests_which_mailchimp_does_not_have_are_no_text(test):
    converted = convert(f"*|IF:{test}|*x*|END:IF|*", read="mailchimp", write="braze")

    ((_, reason),) = by_hand(converted)
    assert reason.startswith("No source says how Mailchimp reads several tests")


def test_a_text_of_mailchimp_can_contain_the_word_and():
    converted = convert("*|IF:TEAM=Tom and Jerry|*x*|END:IF|*", read="mailchimp", write="portable")
    assert converted.content == '{{#if recipient.team = "Tom and Jerry"}}x{{/if}}'


def test_the_word_of_the_audience_of_mailchimp_is_no_field():
    source = "*|IF:LIST|*x*|END:IF|*"

    converted = convert(source, read="mailchimp", write="braze")

    ((_, reason),) = by_hand(converted)
    assert source in converted.content
    assert reason.startswith("Only Mailchimp tests the audience.")


def test_the_fields_have_the_types_that_the_tags_show():
    source = "{% if person.n > 3 %}{{ person.b }}{% endif %}{% if person.b == True %}{% endif %}"

    n, b = convert(source, read="klaviyo", write="portable").fields
    assert (n.key, n.data_type, n.values) == ("n", DataType.NUMBER, (3,))
    assert (b.key, b.data_type) == ("b", DataType.BOOLEAN)


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


def test_text_that_the_target_reads_as_code_stays_by_hand():
    converted = braze("{{ first_name }} {{\n x }} <!-- {% if\n -->")

    assert converted.content == "{{${first_name} | escape}} {{\n x }} <!-- {% if\n -->"
    assert [column for column, _ in by_hand(converted)] == [18, 12]


def test_text_that_content_reads_as_code_stays_by_hand():
    source = "{% verbatim %}{{recipient.x}}{% endverbatim %}"

    converted = convert(source, read="klaviyo", write="portable")

    assert converted.content == source
    assert converted.counts[Outcome.BY_HAND] == 1


def test_another_template_is_refused():
    with pytest.raises(InvalidContent, match="can be one of Mailchimp"):
        convert("*|FNAME|* *|IF:TIER|*x*|END:IF|*", read="klaviyo", write="braze")
    with pytest.raises(InvalidContent):
        convert("\0", read="klaviyo", write="braze")


def test_strict_refuses_caveats_and_tags_by_hand():
    with pytest.raises(InvalidContent) as refused:
        braze("{{ first_name }}\n{{ person.tier }}{{ feeds.a }}", strict=True)

    lines = [(each.position.line, each.position.column) for each in refused.value.violations]
    assert lines == [(2, 1), (2, 18)]


def test_an_email_without_a_link_to_unsubscribe_has_a_warning():
    (warning,) = braze("<html><body>{{ first_name }}</body></html>").warnings

    assert warning.code is WarningCode.UNSUBSCRIBE_LINK_MISSING
    assert "Write `{{${set_user_to_unsubscribed_url}}}` where" in warning.message


def test_the_type_that_a_later_tag_shows_applies_to_earlier_ones():
    source = "{{ person.points|default:'none' }}{% if person.points > 80 %}gold{% endif %}"

    shown, *_ = convert(source, read="klaviyo", write="portable").tags

    assert shown.reasons == ("Klaviyo shows the default instead of 0, too.",)


def test_a_subject_is_not_escaped():
    assert braze("{{ first_name }}", surface="subject").content == "{{${first_name}}}"
    assert braze("{{ first_name }}", surface=Surface.HTML).content == "{{${first_name} | escape}}"


def test_a_tag_that_is_given_stays_out_of_loops_that_read_names_in_their_items():
    source = "{% for i in custom.items %}{{ unsubscribe_link_all }}{% endfor %}"
    options = ConversionOptions(values={"link.unsubscribe_all": "{{{all_url}}}"})

    _, link, _ = convert(source, read="hubspot", write="sendgrid", options=options).tags

    assert link.outcome is Outcome.BY_HAND
    (reason,) = link.reasons
    assert reason.startswith("The other ESP would read the tag for `link.unsubscribe_all` in the")


def test_the_example_is_converted_with_the_values_of_the_sender():
    values = {"sender.name": "Acme", "sender.address": "1 Main Street"}

    converted = braze(EMAIL.read_text("utf-8"), values=values)

    assert converted.counts[Outcome.BY_HAND] == 0
    again = convert(converted.content, read="braze", write="klaviyo")
    assert again.counts[Outcome.BY_HAND] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", ["{{ x }}", "{% if first_name %}", "{# ", "{{ x|", "{% endif %}"]
)
def test_a_hostile_template_takes_linear_time(source):
    text = source * (50_000 // len(source))
    started = time.process_time()

    convert(text, read="klaviyo", write="braze")

    assert time.process_time() - started < 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("esp", "first", "source"),
    [
        (
            "braze",
            "{% assign a = 'z' %}",
            "{% if ${x} == 'a' %}{% assign a='1' %}{% endif %}{{ a }}",
        ),
        ("sfmc", "", "%%[ SET @a = Concat(@a, @a) ]%%%%=v(@a)=%%"),
        ("sendgrid", "{{#each a}}" * 90, "{{../../../../b}}"),
        ("mailchimp", "", '<td mc:edit="x">*|IFNOT:ARCHIVE_PAGE|*'),
        ("sfmc", "%%[ ", "RaiseError('x') SET @a = [b] "),
        (
            "sfmc",
            "%%[ " + "".join(f"SET @a{number} = [b] " for number in range(2_000)) + "]%%",
            "%%[ IF [c] == 'd' THEN SET @e = [f] ENDIF ]%%%%=v(@e)=%%",
        ),
        ("sfmc", "", "%%[ VAR @a IF Now() == 1 THEN ]%%x%%[ ENDIF RaiseError('x') ]%%"),
        ("sfmc", "%%[ SET @a = b() SET @b = b() ", "SET @a = c(@b) SET @b = c(@a) d(@b) "),
        ("sfmc", f"%%[ VAR {', '.join(f'@a{n}' for n in range(3_000))} ]%%", "%%=b(@a0, @a1)=%%"),
    ],
)
def test_variables_loops_and_dropped_code_take_linear_time(esp, first, source):
    text = f"{first}{source * (80_000 // len(source))}{' ]%%' * (first == '%%[ ')}"
    started = time.process_time()

    convert(text, read=esp, write="portable", options=ConversionOptions(bare="event"))

    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("esp", "first", "piece", "last"),
    [
        ("klaviyo", "", "{{ first_name }}", ""),
        ("sfmc", "%%[ ", "SET @a = [b] ", "]%%"),
        ("mailchimp", "<td", ' mc:edit="a"', ">*|FNAME|*"),
        ("mailchimp", "", "{{ a }}", "*|FNAME|*"),
    ],
    ids=("tags", "statements", "attributes", "texts that the other ESP reads as code"),
)
def test_a_template_has_at_most_10000_tags(esp, first, piece, last):
    with pytest.raises(InvalidContent, match="more than 10,000 tags"):
        convert(f"{first}{piece * 10_001}{last}", read=esp, write="klaviyo")


def test_the_values_of_variables_have_a_bound():
    doubled = "".join(
        f"{{% assign v{n + 1} = false %}}"
        f"{{% if v{n} or v{n} %}}{{% assign v{n + 1} = true %}}{{% endif %}}"
        for n in range(60)
    )
    source = f"{{% assign v0 = ${{city}} %}}{doubled}{{% if v60 %}}x{{% endif %}}"
    started = time.process_time()

    convert(source, read="braze", write="klaviyo")

    assert time.process_time() - started < 1


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


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("sfmc", "%%=IIF(Visits > 3, 'a', 'b')=%%"),
        ("klaviyo", "{% if first_name == 'Ann' %}a{% endif %}"),
    ],
)
def test_another_comparison_has_no_caveat_about_texts(esp, source):
    converted = convert(source, read=esp, write="portable")

    assert converted.counts[Outcome.CAVEAT] == 0


@pytest.mark.parametrize(
    ("read", "write", "source"),
    [
        ("mailchimp", "braze", "*|BIRTHDAY|*"),
        ("mailchimp", "braze", "*|IF:BIRTHDAY=11/29|*x*|END:IF|*"),
        ("mailchimp", "portable", "*|BIRTHDAY|*"),
        ("braze", "mailchimp", "{{${date_of_birth}}}"),
    ],
)
def test_a_birthday_without_a_year_has_a_caveat(read, write, source):
    first, *_ = convert(source, read=read, write=write).tags

    assert first.outcome is Outcome.CAVEAT
    assert "a month and a day without a year, such as 11/29" in " ".join(first.reasons)


def test_a_birthday_has_no_caveat_for_the_same_esp():
    converted = convert("*|BIRTHDAY|*", read="mailchimp", write="mailchimp")

    assert converted.counts[Outcome.CONVERTED] == 1


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


@pytest.mark.parametrize(
    ("esp", "source", "content"),
    [
        (
            "sfmc",
            '%%=IIF(EMPTY([tier]), "x", [city])=%%',
            "{{#if recipient.tier is not set}}x{{else}}{{recipient.city}}{{/if}}",
        ),
        (
            "sfmc",
            (
                '%%[ IF Length([tier]) > 5 THEN ]%%%%=Concat(Substring([city], 1, 4), "…")=%%'
                '%%[ ELSE ]%%%%=Concat([tier], "")=%%%%[ ENDIF ]%%'
            ),
            None,
        ),
        (
            "sfmc",
            (
                '%%[ IF Length([tier]) > 5 THEN ]%%%%=Concat(Substring([tier], 1, 5), "…")=%%'
                '%%[ ELSE ]%%%%=Concat([tier], "")=%%%%[ ENDIF ]%%'
            ),
            None,
        ),
        ("iterable", "{{#urlEncode}}{{{city}}} x{{/urlEncode}}", None),
    ],
)
def test_code_that_is_nearly_that_of_a_default_or_filter_is_not_read_as_it(esp, source, content):
    converted = convert(source, read=esp, write="portable")

    if content is None:
        assert converted.content == f"[BY HAND: line 1]{source}[END BY HAND]"
    else:
        assert converted.content == content


STATEMENTS = {
    "%%[ VAR @a\nSET @a = IIF(EMPTY([City]), 'x', [City]) ]%%a %%=Substring(@a, 2)=%%": (
        "<%%[ VAR @a\nSET @a = IIF(EMPTY([City]), 'x', [City]) ]%%>a %%=Substring(@a, 2)=%%"
    ),
    "%%[ /* a note */ VAR @n /* b */ RaiseError('x') ]%%a": "<%%[ RaiseError('x') ]%%>a",
    "%%[ SET @x = [City]\n  RaiseError('x')\n]%%a %%=v(@x)=%%": (
        "<%%[ RaiseError('x')\n]%%>a {{recipient.city}}"
    ),
    "%%[ SET @x = [City] SET @n = Substring(@x, 2) ]%%%%=v(@x)=%% %%=v(@n)=%%": (
        "<%%[ SET @x = [City] SET @n = Substring(@x, 2) ]%%>{{recipient.city}} %%=v(@n)=%%"
    ),
    "%%[ RaiseError('x') SET @x = [City] RaiseError('y') VAR @z ]%%%%=v(@x)=%%": (
        "<%%[ RaiseError('x') RaiseError('y') ]%%>{{recipient.city}}"
    ),
    "%%[ SET @n = 'a' RaiseError(@n) SET @n = 'b' ]%%%%=v(@n)=%%": (
        "<%%[ SET @n = 'a' RaiseError(@n) ]%%>b"
    ),
    "%%[ SET @n = 'a' VAR @n RaiseError(@n) ]%%": "<%%[ SET @n = 'a' VAR @n RaiseError(@n) ]%%>",
    "%%=v([City])=%%%%[ VAR @n RaiseError('x') ]%%": "{{recipient.city}}<%%[ RaiseError('x') ]%%>",
    "%%[ VAR @x IF Now() == 1 THEN ]%%a%%[ ENDIF SET @y = [City] ]%%%%=v(@y)=%%": (
        "<%%[ IF Now() == 1 THEN ]%%a%%[ ENDIF ]%%>{{recipient.city}}"
    ),
    "%%[ IF [Tier] == 'a' THEN RaiseError('x') ]%%a%%[ ENDIF ]%%": (
        "{{#if recipient.tier = \"a\"}}<%%[ RaiseError('x') ]%%>a{{/if}}"
    ),
    "%%[ IF [Tier] == 'a' THEN OutputLine([City]) RaiseError('x') ELSE RaiseError('y') ENDIF ]%%": (
        "{{#if recipient.tier = \"a\"}}{{recipient.city}}<%%[ RaiseError('x') ]%%>"
        "{{else}}<%%[ RaiseError('y') ]%%>{{/if}}"
    ),
    "%%[ IF [Tier] == 'a' THEN SET @n = 'b' RaiseError(@n) ENDIF SET @m = 'c' ]%%%%=v(@m)=%%": (
        "<%%[ IF [Tier] == 'a' THEN SET @n = 'b' RaiseError(@n) ENDIF ]%%>c"
    ),
    "%%[ SET @r = 'a' SET @s = HTTPPost('u', 't', 'b', @r) ]%%%%=v(@r)=%%": (
        "<%%[ SET @r = 'a' SET @s = HTTPPost('u', 't', 'b', @r) ]%%>%%=v(@r)=%%"
    ),
    "%%[ SET @A = [City] SET @n = Substring(@a, 2) ]%%%%=v(@a)=%%%%=v(@N)=%%": (
        "<%%[ SET @A = [City] SET @n = Substring(@a, 2) ]%%>{{recipient.city}}%%=v(@N)=%%"
    ),
}
"""Templates, and their content: `<` and `>` are the marks around what stays."""


@pytest.mark.parametrize(("source", "expected"), STATEMENTS.items())
def test_only_the_statements_by_hand_stay_in_a_complete_tag(source, expected):
    converted = convert(source, read="sfmc", write="portable")

    marked = re.sub(r"\[BY HAND: line \d+\]", "<", converted.content)
    assert marked.replace("[END BY HAND]", ">") == expected


def test_each_statement_is_reported_at_its_place():
    source = "%%[ VAR @n\n SET @n = [City]\n RaiseError('x') ]%%"

    converted = convert(source, read="sfmc", write="braze")

    assert [(each.position.line, each.text, each.outcome) for each in converted.tags] == [
        (1, "VAR @n", Outcome.CONVERTED),
        (2, "SET @n = [City]", Outcome.CONVERTED),
        (3, "RaiseError('x')", Outcome.BY_HAND),
    ]


@pytest.mark.parametrize(
    ("esp", "source"),
    [
        ("sfmc", "%%[ IF [Tier] ~ 1 THEN ]%%%%[ SET @x = 'y' ]%%%%[ ENDIF ]%%%%=v(@x)=%%"),
        ("sfmc", "%%[ IF [Tier] == 'a' THEN SET @x = 'y' ~ ENDIF ]%%%%=v(@x)=%%"),
        ("customerio", "{% if a b c %}{% assign x = 'y' %}{% endif %}{{ x }}"),
        ("hubspot", "{% if contact.tier == 'a' %}{% set x = 'y' %}{{ x }}"),
    ],
)
def test_a_variable_that_can_be_in_a_broken_block_is_by_hand(esp, source):
    content = convert(source, read=esp, write="portable").content

    assert MARK.sub("", content) == source


AMPSCRIPT = [
    *("VAR @a", "VAR @a, @b", "SET @a = [City]", "SET @b = Now()", "SET @b = Concat(@a, 'x')"),
    *("SET @a = Lowercase(@b)", "/* a note */", "OutputLine(@a)", "RaiseError('x')"),
    *("IF [Tier] == 'gold' THEN", "IF Now() == 1 THEN", "ELSE", "ENDIF", "IF @a == 'x' THEN"),
]
PLAIN = ["text ", "%%=v(@a)=%%", "%%=ProperCase(@b)=%%", "%%City%%", "\n"]
MARK = re.compile(r"\[BY HAND: line \d+\]|\[END BY HAND\]")


@given(
    st.lists(
        st.one_of(
            st.sampled_from(PLAIN),
            st.lists(st.sampled_from(AMPSCRIPT), min_size=1, max_size=4).map(
                lambda statements: f"%%[ {' '.join(statements)} ]%%"
            ),
        ),
        max_size=8,
    ).map("".join)
)
def test_what_stays_of_ampscript_is_complete_tags(source):
    try:
        converted = convert(source, read="sfmc", write="portable")
    except InvalidContent:
        return

    parts = [part for tag in read_ampscript(source) for part in tag.parts]
    kept = [
        source[part.start : part.end].strip("%[] ")
        for part, tag in zip(parts, converted.tags, strict=True)
        if tag.outcome in {Outcome.BY_HAND, Outcome.CONSEQUENCE}
    ]
    content = MARK.sub("", converted.content)
    left = [*read_ampscript(content)]
    assert [content[p.start : p.end].strip("%[] ") for tag in left for p in tag.parts] == kept
    for tag in reversed(left):
        content = content[: tag.start] + content[tag.end :]
    assert not re.search(r"%%|\]|SET|VAR|IF |ENDIF", content), converted.content


@pytest.mark.parametrize("word", ["catalog", "customobject", "customobjects"])
def test_a_block_of_klaviyo_with_other_data_stays_by_hand_as_a_block(word):
    block = f"{{% {word} event.id unpublished='cancel' %}}{{{{ x.title }}}}{{% end{word} %}}"

    converted = braze(f"{block}{{{{ first_name }}}}")

    assert converted.content == f"[BY HAND: line 1]{block}[END BY HAND]{{{{${{first_name}}}}}}"
    ((_, reason),) = by_hand(converted)
    assert f"`{word}` is a tag of Klaviyo" in reason
