"""Variables of a template become their values, or stay with what reads and sets them."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.domain.content import InvalidContent
from recipient_fields.domain.esp.languages.ampscript import read_ampscript
from recipient_fields.domain.integrations import ConversionOptions, Outcome, convert

from ...support.stories import stories
from .conversion_stories import MARK, by_hand, told

STORIES = """
# a variable with a value in each case is a default or a condition
sfmc: %%=ProperCase(v([tier]))=%% => {{recipient.tier | title}}
sfmc: %%[ SET @n = ProperCase(AttributeValue("First Name")) IF EMPTY(@n) THEN SET @n = "you" ENDIF
     ]%%%%=v(@n)=%%
  => {{recipient.first_name | title | default: "you"}}
sfmc: %%[ SET @n = Lowercase([a]) IF NOT EMPTY(@n) THEN ]%%%%=v(@n)=%%!%%[ ENDIF ]%%
  => {{#if recipient.a is set}}{{recipient.a | lower}}!{{/if}}
sfmc: <a href="%%=RedirectTo(Concat("https://a.example/?e=", [mail]))=%%">x</a>
  => <a href="https://a.example/?e={{recipient.mail}}">x</a>
sfmc: %%[ VAR @a IF [tier] == 'x' THEN SET @a = 'b' ENDIF ]%%%%=v(@a)=%%
  => {{#if recipient.tier = "x"}}b{{else}}{{/if}}
sfmc: %%=IIF(NOT EMPTY([tier]), Concat('a ', [tier], '!'), '-')=%%
  => {{#if recipient.tier is set}}a {{recipient.tier}}!{{else}}-{{/if}}
sfmc: %%=IIF(EMPTY([tier]), "x", [tier])=%% => {{recipient.tier | default: "x"}}
sfmc: <a href="%%=RedirectTo([link])=%%">x</a> => <a href="{{recipient.link}}">x</a>
sfmc: %%[ SET @n = AttributeValue("city") IF EMPTY(@n) THEN SET @n = "x" ENDIF ]%%%%=v(@n)=%%
  => {{recipient.city | default: "x"}}
sfmc: %%[ IF NOT EMPTY([city]) THEN SET @t = [city] ELSE SET @t = "x" ENDIF ]%%%%=v(@t)=%%
  => {{recipient.city | default: "x"}}
sfmc: %%[ IF [tier] == "gold" THEN SET @t = "a" ELSEIF [tier] == "x" THEN SET @t = "b" ELSE SET @t =
     "c" ENDIF ]%%%%=v(@t)=%%
  => {{#if recipient.tier = "gold"}}a{{else if recipient.tier = "x"}}b{{else}}c{{/if}}
braze: {{ ${city} | append: '!' | prepend: 'a ' }} => a {{recipient.city}}!
braze: {% assign g = 'Hi' %}{% if ${city} == 'Bern' %}{% assign g = ${first_name} %}{% endif %}
    {{ g }}
  => {{#if recipient.city = "Bern"}}{{recipient.first_name}}{{else}}Hi{{/if}}
hubspot: {{ contact.city ~ '!' }} => {{recipient.city}}!
hubspot: {% if contact.city == 'A' %}{% set g='a' %}{% else %}{% set g='b' %}{% endif %}{{g}}
  => {{#if recipient.city = "A"}}a{{else}}b{{/if}}
# a variable keeps the item of its loop in an inner one with the same name
braze: {% for x in context.${a} %}{% assign t = x.b %}{% for x in x.c %}{{ t }}{{ x.d }}{% endfor %}
    {{ x.e }}{% endfor %}
  => {{#each event.a as x}}{{#each x.c as x2}}{{x.b}}{{x2.d}}{{/each}}{{x.e}}{{/each}}
# a variable without a value in one case and one with code stay by hand
braze: {% if ${city} == 'x' %}{% assign g = 'a' %}{% endif %}{{ g }}
  by hand: This block sets a variable by hand. Write the block for the other ESP.
  by hand: This reads the variable `g`, and content has none. Write it for the other ESP.
braze: {% assign g = '{{x}}' %}{{ g }}
  by hand: The tag in line 1, which is by hand, reads the variable `g`.
  by hand: The text of this variable can be code. Write it where it is shown.
# a loop stays with a variable that it sets for the next round
braze: {% assign t = ${city} %}{% for x in context.${a} %}{{ t }}{% assign t = x.b %}{% endfor %}
    {{ t }}
  by hand 1: …
  by hand 25: …This block sets a variable by hand…
  by hand 91: …
# a variable that a kept tag reads keeps its assignment
braze to klaviyo: {% assign x = ${city} %}{{ x }}{{ x | size }}
  => {% assign x = ${city} %}{{ person.City|default_if_none:'' }}{{ x | size }}
  by hand: The tag in line 1, which is by hand, reads the variable `x`.
  by hand: No filter of content means the same as `size`. Write this tag for the other ESP.
# a test in a variable is not the reason
sfmc to braze: %%[ SET @has = Empty([a]) IF @has AND Foo() == 1 THEN ]%%x%%[ ENDIF ]%%
  by hand: The tag in line 1, which is by hand, reads the variable `@has`.
  by hand: No condition of content means the same. Write this condition for the other ESP.
# the assignment of a given variable stays if code by hand reads it
sfmc, firstName means first_name: %%[ SET @firstName = Lookup('Subs', 'FirstName', 'Key', @key) ]%%
    %%=v(@firstName)=%% %%=Foo(@firstName)=%%
  => %%[ SET @firstName = Lookup('Subs', 'FirstName', 'Key', @key) ]%%
    {{recipient.first_name}} %%=Foo(@firstName)=%%
  by hand: The tag in line 1, which is by hand, reads the variable `@firstName`.
  by hand: No filter of content means the same as `Foo`. Write this tag for the other ESP.
# a name is not that of a variable whose value is converted
sfmc, first means given_name: %%[ SET @first = Concat([first], '!') ]%%%%=v(@first)=%%
  => {{recipient.given_name}}!
"""


@stories(STORIES)
def test_a_conversion(story):
    told(story)


@pytest.mark.parametrize("name", ["@first", "@firstName", "@FIRST"])
def test_the_assignment_that_a_tag_by_hand_reads_stays_in_any_case(name):
    set_name = f"%%[ SET {name} = Lookup('Subs', 'FirstName', 'SubscriberKey', _subscriberkey) ]%%"
    source = f"%%[ VAR {name} ]%%{set_name}<p>%%=v({name.title()})=%%</p>"

    converted = convert(source, read="sfmc", write="braze")

    assert converted.content == source
    assert converted.counts[Outcome.BY_HAND] == 3


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
