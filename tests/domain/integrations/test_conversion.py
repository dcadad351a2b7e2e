"""Templates of ESPs become content, or templates of other ESPs."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from attrs import evolve

from recipient_fields.domain import InvalidInput
from recipient_fields.domain.content import InvalidContent, WarningCode
from recipient_fields.domain.integrations import ConversionOptions, Outcome, convert

from ...support.stories import stories
from .conversion_stories import braze, by_hand, other_reasons, told

EMAIL = Path(__file__).parents[3] / "docs/examples/emails/newsletter.html"


WITHOUT_CAVEATS = r"""
# a template becomes content
klaviyo: {{ first_name }} => {{recipient.first_name}}
klaviyo: {{ person.first_name|default:'there' }} => {{recipient.first_name | default: "there"}}
klaviyo: {{ first_name|default:'O\'Neil' }} => {{recipient.first_name | default: "O'Neil"}}
klaviyo: {{ person|lookup:'Loyalty Tier' }} => {{recipient.loyalty_tier}}
klaviyo: {{ person.City|upper|default:'x' }} => {{recipient.city | upper | default: "x"}}
klaviyo: {{ person.City|default:'a'|default:'b' }} => {{recipient.city | default: "a"}}
klaviyo: {{ person.City|default:'home'|upper }} => {{recipient.city | upper | default: "HOME"}}
klaviyo: {{ person.City|truncatechars:20 }} => {{recipient.city | truncate: 20}}
klaviyo: {{ person.n|floatformat:2 }} => {{recipient.n | number: 2}}
klaviyo: {{ person.born|format_date_string|date:'j F Y' }} => {{recipient.born | date: "long"}}
klaviyo: {{ person.born|format_date_string|date:'F j, Y'|default:'?' }}
  => {{recipient.born | date: "%B %-d, %Y" | default: "?"}}
klaviyo: {{ first_name|force_escape }} => {{recipient.first_name}}
klaviyo: {{ event.order_id }} => {{event.order_id}}
klaviyo: {{ event|lookup:'Order Number'|default:'x' }} => {{event["Order Number"] | default: "x"}}
klaviyo: {{ event.extra.items.0.title|upper }} => {{event.extra.items[0].title | upper}}
klaviyo: {% if event.total > 100 and event.code == 'A' %}x{% endif %}
  => {{#if event.total > 100 and event.code = "A"}}x{{/if}}
klaviyo: {{ organization.name }} => {{sender.name}}
klaviyo: {% unsubscribe_link %} => {{link.unsubscribe}}
klaviyo: {% current_year %} => {{today.year}}
klaviyo: a{# note #}b{% comment %}{{ x }}{% endcomment %}c => abc
klaviyo: {% verbatim %}{ x }{% endverbatim %} => { x }
klaviyo: {% if person.tier == 'gold' %}a{% elif 'x' in person.tier %}b{% else %}c{% endif %}
  => {{#if recipient.tier = "gold"}}a{{else if recipient.tier contains "x"}}b{{else}}c{{/if}}
klaviyo: {% if not person.n > 3 or person.m == 2 and person.b == True %}a{% endif %}
  => {{#if not recipient.n > 3 or recipient.m = 2 and recipient.b = true}}a{{/if}}
klaviyo: {% if person.n == 3 %}{% endif %}{% if person.n %}a{% endif %}
  => {{#if recipient.n = 3}}{{/if}}{{#if recipient.n is set and recipient.n != 0}}a{{/if}}
klaviyo: {% if person.b == False %}{% endif %}{% if not person.b %}a{% endif %}
  => {{#if recipient.b = false}}{{/if}}{{#if not recipient.b}}a{{/if}}
klaviyo: {% if 80 < person.n %}a{% endif %} => {{#if recipient.n > 80}}a{{/if}}
braze: {{${first_name}}} => {{recipient.first_name}}
braze: {{ custom_attribute.${Shoe Size} | default: '?' }} => {{recipient.shoe_size | default: "?"}}
braze: {{ ${city} | url_encode | replace: "+", "%20" }} => {{recipient.city | url}}
braze: {{${set_user_to_unsubscribed_url}}} => {{link.unsubscribe}}
braze: {% if ${city} == 'a' or ${city} == 'b' and ${city} != 'c' %}x{% endif %}
  => {{#if recipient.city = "a" or recipient.city = "b" and recipient.city != "c"}}x{{/if}}
braze: {% if ${city} == 'a' and ${city} != 'c' or ${city} == 'b' %}x{% endif %}
  => {{#if recipient.city = "a" and (recipient.city != "c" or recipient.city = "b")}}x{{/if}}
braze: {% unless ${city} == 'a' %}x{% endunless %} => {{#if not recipient.city = "a"}}x{{/if}}
braze: {% case ${city} %}{% when 'a', 'b' %}1{% else %}2{% endcase %}
  => {{#if recipient.city = "a" or recipient.city = "b"}}1{{else}}2{{/if}}
braze: {% if ${city} != nil and ${city} != '' %}x{% endif %}
  => {{#if recipient.city is set}}x{{/if}}
braze: {% assign city = ${city} | upcase %}{{ city | default: 'x' }}
  => {{recipient.city | upper | default: "x"}}
braze: {% assign x = ${city} %}{% assign x = x | upcase %}{{ x }} => {{recipient.city | upper}}
braze: {% assign n = ${n} | plus: 0 %}{% if n > 3 %}x{% endif %} => {{#if recipient.n > 3}}x{{/if}}
braze: {% assign n = ${n} | plus: 0 %}{% if n < 3 %}x{% endif %}
  => {{#if recipient.n is not set or recipient.n < 3}}x{{/if}}
braze: {% assign f = false %}{% if ${city} == 'a' %}{% assign f = true %}{% endif %}
    {% if f or ${n} == 3 %}x{% endif %}
  => {{#if recipient.city = "a" or recipient.n = 3}}x{{/if}}
braze: {% if ${city} == 'a' %} {% endif %}x => x
braze: a {%- if ${city} == 'a' -%} {%- endif -%} b => a {{~!}}{{!~}} b
braze: {% assign n = 0 %}{% if ${city} == 'a' %}{% assign n = 1 %}{% endif %}{{ n }}
  => {{#if recipient.city = "a"}}1{{else}}0{{/if}}
braze: a {% assign x = ${city} %}{{- x }} => a {{!}}{{~!}}{{recipient.city}}
braze:  {%- if ${city} == 'x' -%} a {%- endif -%} b =>  {{~#if recipient.city = "x"~}} a {{~/if~}} b
# each form of a default is read
hubspot: {{ contact.city|default('x y', true) }} => {{recipient.city | default: "x y"}}
hubspot: {{ contact.city or 'x y' }} => {{recipient.city | default: "x y"}}
hubspot: {{ personalization_token('contact.city', 'x y') }} => {{recipient.city | default: "x y"}}
customerio: {{ customer.city | default: 'x y' }} => {{recipient.city | default: "x y"}}
brevo: {{ contact.CITY | default : "x y" }} => {{recipient.city | default: "x y"}}
brevo: {{ contact.CITY|default:'x y' }} => {{recipient.city | default: "x y"}}
iterable, bare=field: {{defaultIfEmpty city "x y"}} => {{recipient.city | default: "x y"}}
onesignal: {{ city | default: 'x y' }} => {{recipient.city | default: "x y"}}
# text in a block that is not read as code stays text
customerio to braze: a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b
  => a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b
customerio to hubspot: a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b
  => a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b
customerio to klaviyo: a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b
  => a{% verbatim %}{{ x }} {{recipient.city}}{% endverbatim %}b
klaviyo to braze: a{% verbatim %}{{ x }} {{recipient.city}}{% endverbatim %}b
  => a{% raw %}{{ x }} {{recipient.city}}{% endraw %}b
klaviyo to brevo: a{% verbatim %}{{ x }} {{recipient.city}}{% endverbatim %}b
  => a{% verbatim %}{{ x }} {{recipient.city}}{% endverbatim %}b
klaviyo to mailchimp: a{% verbatim %}{{ x }} {{recipient.city}}{% endverbatim %}b
  => a{{ x }} {{recipient.city}}b
# a backslash makes a tag of Handlebars text
klaviyo to sendgrid: a{% verbatim %}{{ x }}, {{y}}{% endverbatim %} => a\{{ x }}, \{{y}}
braze to iterable: a {%- raw -%} {{ x }} {%- endraw -%} b => a \{{ x }} b
sendgrid to iterable: a\{{ x }}b => a\{{ x }}b
sendgrid to braze: a\{{ x }}b => a{% raw %}{{ x }}{% endraw %}b
sendgrid to mailchimp: a\{{ x }}b => a{{ x }}b
"""


@stories(WITHOUT_CAVEATS)
def test_a_conversion_without_caveats(story):
    assert other_reasons(told(story)) == []


STORIES = r"""
# a text with a default stays one tag
klaviyo to braze: {{ first_name|default:'there' }} => {{${first_name} | default: 'there'}}
# the first default applies and its quotes are escaped
klaviyo: {{ first_name|default:'say "hi" \\ there'|default:'b' }}
  => {{recipient.first_name | default: "say \"hi\" \\ there"}}
# a text in the code is shown as its filters make it
braze to iterable: {{ "hello" | upcase }} => HELLO
braze to iterable: {% assign x = "hello" %}{{ x | upcase | append: "!" }} => HELLO!
klaviyo to iterable: {{ 'hello there'|title|truncatechars:6 }} => Hello…
# a text in the code that is by hand is not called a field
  by hand: This is not the value of a field. Write this tag for the other ESP.
braze to iterable: {{ "a" | escape }}
braze to iterable: {{ "May 3" | date: "%d" }}
# filters of lists and of numbers become filters of content
klaviyo: {{ event.a|join:', ' }} => {{event.a | join: ", "}}
klaviyo: {{ event.a|first|upper }} => {{event.a | first | upper}}
braze: {{ context.${a} | join: ' / ' }} => {{event.a | join: " / "}}
customerio: {{ event.a | first }} => {{event.a | first}}
sfmc: %%=FormatNumber(Multiply(Add([n], 2.5), 3), "F2", "en-US")=%%
  => {{recipient.n | plus: 2.5 | times: 3 | number: 2}}
# other filters of lists and of numbers stay by hand
braze: {{ ${city} | first }} => by hand: …requires event data…
braze: {{ context.${a} | join: '{' }} => by hand: …Write 1 to 10 characters after `join:`…
klaviyo: {{ event.a|default:'x'|first }} => by hand: …No filter of content means the same…
klaviyo: {{ event.a|join:event.b }} => by hand: …No filter of content means the same…
sfmc: %%=Add([n], 1)=%% => by hand: …Write `number` after `plus`…
# another format of dates stays by hand
klaviyo: {{ event.d|format_date_string|date:'jS F' }} => by hand: …no date like `jS F`…
braze: {{ context.${d} | date: '%B %e' }} => by hand: …no date like `%B %e`…
braze: {{ context.${d} | date: 'long' }} => by hand: …no date like `long`…
sendgrid: {{formatDate d "DDDD"}} => by hand: …no date like `DDDD`…
iterable: {{dateFormat d tz="UTC" format="MMMMM"}} => by hand: …no date like `MMMMM`…
# a caveat says what Klaviyo reads in another way
klaviyo: {% if 'x' not in person.a %}b{% endif %}
  caveat: …missing or null, `not in` does not hold…
klaviyo: {% if 'x' in person.a %}b{% endif %}
  caveat: …If a is a list at Klaviyo, this tests its items…
klaviyo: {{ person|lookup:'a'|upper|default:'b' }} => caveat: …can be shown as the word None…
klaviyo: {{ first_name|safe }} => caveat: …HTML in a value is shown as it is at Klaviyo…
klaviyo: {{ person.a|default_if_none:'b' }} => caveat: …null and an empty text show another text…
# what is escaped or has precedence stays so
klaviyo: <p>{% unsubscribe 'A & <b>' %}</p>
  => <p><a href="{{link.unsubscribe}}">A &amp; &lt;b&gt;</a></p>
klaviyo: {{ first_name }}{{ person.first_name }} => {{recipient.first_name}}{{recipient.first_name}}
braze: {% assign f = false %}{% if ${a} == 'x' %}{% assign f = true %}{% elsif ${b} == 'y' %}
    {% assign f = false %}{% elsif ${c} == 'w' %}{% assign f = true %}{% endif %}{% if f %}z
    {% endif %}
  => {{#if recipient.a = "x" or not recipient.b = "y" and recipient.c = "w"}}z{{/if}}
braze: {% if context.${a} %}{% for x in context.${a} %}b{% endfor %}{% else %}c{% endif %}
  => {{#if event.a is set}}{{#each event.a as x}}b{{/each}}{{else}}c{{/if}}
# what has another meaning stays by hand
klaviyo: {{ first_name|default:True }} => by hand: Defaults of content are texts…
klaviyo: {{ person.Nick|default:first_name }} => by hand: Defaults of content are texts…
hubspot: {{ custom.a|upper }}
  by hand: HubSpot applies no filters to the personalization tokens of contacts in emails, and c…
mailchimp: *|merge12|* => by hand: `merge12` is no name of a field at Mailchimp.…
klaviyo: {% cycle 'a' 'b' %} => by hand: `cycle` is a tag of Klaviyo that content lacks.…
braze: {{ ${a} | default: 'x', allow_false: true }} => by hand: No filter of content…
iterable: {{defaultIfEmpty a 'x' b='y'}} => by hand: No filter of content…
iterable: {{defaultIfEmpty a}} => by hand: No filter of content…
klaviyo: {% for x in event.a %}{% for y in x.b %}{% for z in y.c %}{{ z }}{% endfor %}{% endfor %}
    {% endfor %}
  => {{#each event.a as x}}{{#each x.b as y}}[BY HAND: line 1]{% for z in y.c %}{{ z }}{% endfor %}
    [END BY HAND]{{/each}}{{/each}}
  by hand: Content has at most 2 loops in each other.…
# what content lacks has its reason
sendgrid to braze: {{#items}}{{name}}{{/items}}
  by hand: …`{{#items}}` shows its text for each item…
iterable to braze: {{#with a}}{{b}}{{/with}} => by hand: …Write whole paths without this block…
brevo to braze: {{ params.d|date:'Y-m-d' }}
  by hand: …establishes which format of dates Brevo reads…
# a default names the values that differ
hubspot: {{ contact.city|default('x') }}
  caveat: …does not show the default instead of an empty text…
hubspot: {% if contact.n > 3 %}{% endif %}{{ contact.n|default('x', true) }}
  caveat 34: HubSpot shows the default instead of 0, too.
hubspot: {% if contact.n > 3 %}{% endif %}{{ contact.n or 'x' }}
  caveat 34: HubSpot shows the default instead of 0, too.
sendgrid: {{insert city "default=x y"}}
  caveat: …does not document whether it shows the default instead of an empty…
sendgrid: {{insert city 'default=x y'}}
  caveat: …does not document whether it shows the default instead of an empty…
# another code of a filter names the values that differ
klaviyo: {{ email|urlencode }} => {{recipient.email | url}}
  caveat: Klaviyo does not encode the character / here.
braze: {{ ${email_address} | url_encode }} => {{recipient.email | url}}
  caveat: Braze writes a blank as + here, not as %20.
iterable: {{#urlEncode}}{{{email}}}{{/urlEncode}} => {{recipient.email | url}}
  caveat: Iterable writes a blank as +, which is a blank in the query of a link only, encodes ~, and
     does not encode *, as in a *~.
iterable: {{#urlEncode}}{{email}}{{/urlEncode}} => {{recipient.email | url}}
  caveat: Iterable escapes HTML before it encodes the value here: & becomes %26amp%3B.
# another argument of insert is no default
sendgrid: {{insert city 'other=x'}}
  by hand: No filter of content means the same as `insert`. Write this tag for the other ESP.
# code that is nearly that of a default or filter is not read as it
sfmc: %%=IIF(EMPTY([tier]), "x", [city])=%%
  => {{#if recipient.tier is not set}}x{{else}}{{recipient.city}}{{/if}}
sfmc: %%[ IF Length([tier]) > 5 THEN ]%%%%=Concat(Substring([city], 1, 4), "…")=%%%%[ ELSE ]%%
    %%=Concat([tier], "")=%%%%[ ENDIF ]%%
  => [BY HAND: line 1]%%[ IF Length([tier]) > 5 THEN ]%%%%=Concat(Substring([city], 1, 4), "…")=%%
    %%[ ELSE ]%%%%=Concat([tier], "")=%%%%[ ENDIF ]%%[END BY HAND]
  by hand: No filter of content means the same as `Length`. Write this tag for the other ESP.
sfmc: %%[ IF Length([tier]) > 5 THEN ]%%%%=Concat(Substring([tier], 1, 5), "…")=%%%%[ ELSE ]%%
    %%=Concat([tier], "")=%%%%[ ENDIF ]%%
  => [BY HAND: line 1]%%[ IF Length([tier]) > 5 THEN ]%%%%=Concat(Substring([tier], 1, 5), "…")=%%
    %%[ ELSE ]%%%%=Concat([tier], "")=%%%%[ ENDIF ]%%[END BY HAND]
  by hand: No filter of content means the same as `Length`. Write this tag for the other ESP.
iterable: {{#urlEncode}}{{{city}}} x{{/urlEncode}}
  => [BY HAND: line 1]{{#urlEncode}}{{{city}}} x{{/urlEncode}}[END BY HAND]
  by hand: `urlEncode` is a tag of Iterable that content lacks. Remove it, or write the…
# a tag without portable code stays and says why
klaviyo to braze: a {{ first_name|wordcount }} {{ feeds.total }} {% coupon_code 'x' %}
  => a {{ first_name|wordcount }} {{ feeds.total }} {% coupon_code 'x' %}
  by hand 3: …No filter of content means the same as `wordcount`…
  by hand 30: …member of an object or list…
  by hand 48: …`coupon_code` is a tag of Klaviyo…
# what the target refuses stays by hand and the rest is converted
klaviyo to braze: {{ person.City|title }} {{ first_name }}
  => {{ person.City|title }} {{${first_name}}}
  by hand 1: …Braze lists no filter…
# a tag that inserts other content says so
braze: {{content_blocks.${footer}}}
  by hand: This inserts other content, `content_blocks.footer`. Convert that separately, and insert
     it here.
braze: {{content_blocks.${footer} | id: 'cb1'}}
  by hand: This inserts other content, `content_blocks.footer`. Convert that separately, and insert
     it here.
customerio: {{snippets.footer}}
  by hand: This inserts other content, `snippets.footer`. Convert that separately, and insert it
     here.
customerio: {{ content }}
  by hand: This inserts other content, `content`. Convert that separately, and insert it here.
# of two backslashes before a tag Handlebars shows one
sendgrid to braze: \\{{email}} \\\{{email}} => \{{${email_address}}} \\{{${email_address}}}
braze to iterable: \{{${email_address}}} => \\{{email}}
sendgrid to iterable: \\{{email}} \\{{x}} => \\{{email}} \\{{x}}
  by hand: `x` can be a field or event data. Say which with a file of names, or for all…
braze to iterable: \{{a.b}}\{% raw %}{{x}}{% endraw %} => \{{a.b}}\{% raw %}{{x}}{% endraw %}
  by hand: `a.b` is no name of a field at Braze. Say what it means with a file of names.
  by hand: The text in this tag would be read as code. Write it in another way.
# text that content can only have as code stays by hand
  by hand: …would be read as code…
braze: a {%- raw -%} {{ x }} {%- endraw -%} b
klaviyo: a{% verbatim %}{{ x }}{% endverbatim %}b
sendgrid: a\{{ x }}b
# text that content reads as code stays by hand
klaviyo: {% verbatim %}{{recipient.x}}{% endverbatim %}
  by hand: The text in this tag would be read as code. Write it in another way.
# a subject is not escaped
klaviyo to braze, surface=subject: {{ first_name }} => {{${first_name}}}
klaviyo to braze, surface=html: {{ first_name }} => {{${first_name} | escape}}
"""


@stories(STORIES)
def test_a_conversion(story):
    told(story)


COPIES = """
# what content lacks is copied between ESPs with Liquid
braze to customerio: {{ custom_attribute.${n} | round: 2 }} => {{ customer.n | round: 2 }}
braze to customerio: a {{- ${first_name} | capitalize }} => a{{ customer.first_name | capitalize }}
braze to customerio: {{ context.${a} | split: "," | size }} => {{ event.a | split: "," | size }}
braze to customerio: {% for x in context.${a} %}{{ x.b | replace: 'a', 'é' }}{% endfor %}
  => {% for x in event.a %}{{ x.b | replace: 'a', 'é' }}{% endfor %}
braze to customerio: {% assign t = 0 %}{% for x in context.${a} %} {% assign t = t | plus: x.b %} {%
     endfor %}{{ t }}
  => {% assign t = 0 %}{% for x in event.a %}{% assign t = t | plus: x.b %}{{ nil }}{% endfor %}
    {{ t }}
braze to customerio: {% assign p = context.${a} | split: '/' %}{{ p[1] }}
  => {% assign p = event.a | split: '/' %}{{ p[1] }}
braze to customerio: {% assign p = context.${a} | sort: 'b' %}{%- for x in p -%} {{ x.b }}
    {% unless forloop.last %}, {% endunless %}{% else %}-{% endfor %}
  => {% assign p = event.a | sort: 'b' %}{%- for x in p -%} {{ x.b }}
    {% unless forloop.last %}, {% endunless %}{% else %}-{% endfor %}
braze to customerio: {% for x in context.${a} reversed limit: 2 offset: context.${n} %}{{ x.b }}
    {% endfor %}
  => {% for x in event.a reversed limit: 2 offset: event.n %}{{ x.b }}{% endfor %}
braze to customerio: {% for x in context.${a} limit: 2 %}{% for y in x.b %}{{ y.c }}
    {{ forloop.index }}{% if y.d %}{{ x.e | capitalize }}{% endif %}{% endfor %}{% endfor %}
  => {% for x in event.a limit: 2 %}{% for y in x.b %}{{ y.c }}{{ forloop.index }}{% if y.d %}
    {{ x.e | capitalize }}{% endif %}{% endfor %}{% endfor %}
braze to customerio: {% assign g = 'a' %}{% if ${n} == 3 %}{% assign g = 'b' %}{% endif %}
    {{ g | capitalize }}
  => {% assign g = 'a' %}{% assign n_number = customer.n | plus: 0 %}{% if n_number == 3 %}
    {% assign g = 'b' %}{{ nil }}{% endif %}{{ g | capitalize }}
braze to customerio: {% assign t = context.${a} | size %}{%- unless t > 2.50 or ${x} == nil %}
    {{ t }}{% elsif t == blank -%} {% else %}-{% endunless %}
  => {% assign t = event.a | size %}{%- unless t > 2.5 or customer.x == nil %}{{ t }}
    {% elsif t == blank -%} {% else %}-{% endunless %}
braze to customerio: {% assign p = context.${a} | first %}{% case p %}{% when 'a', "b" %}1
    {% when nil %}2{% else %}3{% endcase %}
  => {% assign p = event.a | first %}{% if p == "a" or p == "b" %}1{% elsif p == nil %}2{% else %}3
    {% endif %}
"""


@stories(COPIES)
def test_only_an_esp_with_liquid_gets_copies(story):
    told(story)
    assert by_hand(convert(story.source, read="braze", write="portable")) != []
    assert by_hand(convert(story.source, read="braze", write="klaviyo")) != []


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


def test_the_default_of_a_number_replaces_0():
    source = "{% if person.n > 3 %}a{% endif %}{{ person.n|default:'x' }}"

    converted = convert(source, read="klaviyo", write="portable")

    assert converted.tags[-1].reasons == ("Klaviyo shows the default instead of 0, too.",)


def test_a_value_that_klaviyo_looks_up_without_a_default_can_be_none():
    source = "{{ person|lookup:'x' }}{{ person|lookup:'x'|default_if_none:'' }}{{ person.x }}"

    converted = convert(source, read="klaviyo", write="portable")

    assert [bool(tag.reasons) for tag in converted.tags] == [True, False, False]
    assert "can be shown as the word None" in converted.tags[0].reasons[0]


@pytest.mark.parametrize("tag", ["{{{body}}}", "{{&body}}"])
def test_a_caveat_names_html_that_handlebars_shows_as_it_is(tag):
    options = ConversionOptions(bare="event")

    shown = convert(f"<p>{tag} {{{{body}}}}</p>", read="sendgrid", write="braze", options=options)
    subject = convert(f"{tag} {{{{body}}}}", read="sendgrid", write="braze", options=options)

    caveat = "HTML in a value is shown as it is at SendGrid, and can be escaped in the result."
    assert [caveat in each.reasons for each in shown.tags] == [True, False]
    assert [caveat in each.reasons for each in subject.tags] == [False, False]


def test_text_outside_of_tags_stays_byte_for_byte():
    text = "\r\n\t<p title='a'>\u00a050 % {x} é</p>\ufeff \x0b"

    converted = braze(f"{text}{{{{ first_name }}}}{text}")

    assert converted.content == f"{text}{{{{${{first_name}} | escape}}}}{text}"


def test_characters_for_private_use_stay_beside_a_tag_by_hand():
    every = "".join(map(chr, range(0xE000, 0xF900)))
    for text in (every, "\ue0000\ue001 \ue000", "\ue0000\ue0010\ue001"):
        converted = convert(f"{text}{{% foo %}}0\ue001", read="klaviyo", write="braze")
        assert converted.content == f"{text}{{% foo %}}0\ue001"


def test_text_that_the_target_reads_as_code_stays_by_hand():
    converted = braze("{{ first_name }} {{\n x }} <!-- {% if\n -->")

    assert converted.content == "{{${first_name} | escape}} {{\n x }} <!-- {% if\n -->"
    assert [column for column, _ in by_hand(converted)] == [18, 12]


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


def test_values_replace_what_the_target_lacks():
    values = {"sender.name": "Acme & Co", "today.year": "1999"}

    converted = braze("<p>{{ organization.name }}{% current_year %}</p>", values=values)

    assert converted.content == "<p>Acme &amp; Co{{ 'now' | date: '%Y' }}</p>"
    with pytest.raises(InvalidInput):
        ConversionOptions(values={"sender.nam": "Acme"})


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
