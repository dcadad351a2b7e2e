"""Names after `link.` and `today.` that content does not have, and conditions on such values."""

from __future__ import annotations

import pytest

from recipient_fields.domain.content import (
    ContentWarning,
    WarningCode,
    parse_content,
    read_content,
)

from ...support.growth import assert_grows_linearly


def warnings(source: str) -> list[tuple[int, WarningCode]]:
    return [(each.column, each.code) for each in parse_content(source).warnings]


def only_warning(source: str) -> ContentWarning:
    (warning,) = parse_content(source).warnings
    return warning


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a {{ link.unsubscrib }}", "Did you mean `{{link.unsubscribe}}`?"),
        ("a {{link.home}}", "It has link.unsubscribe, link.unsubscribe_all,"),
        ("a {{~today.years~}}", "Did you mean `{{today.year}}`?"),
        ("a {{LINK.UNSUBSCRIBE}}", "Did you mean `{{link.unsubscribe}}`?"),
        ("a {{link.unsubscribe | upper}}", "Write only the name between the braces"),
    ],
)
def test_another_name_is_a_mistake_with_a_suggestion(source, message):
    warning = only_warning(source)
    assert (warning.column, warning.code) == (3, WarningCode.REFERENCE_LOOKALIKE)
    assert message in warning.message


@pytest.mark.parametrize(
    "source",
    [
        "{% for link in event.links %}{{ link.url }}{% endfor %}",
        "{%- assign link = event_properties.${a} -%}{{ link.url }}",
        "{% set a, today = content.created %}{{ today.month }}",
        "{% with a='50%' link=event.link %}{{ link.url }}{% endwith %}",
        "{% capture link %}x{% endcapture %}{{ link.url }}",
        "{% for begin, link in links %}{{ link.url }}{% endfor %}",
        "{% macro show(a, link) %}{{ link.url }}{% endmacro %}",
        "{% connected_content https://a.example/link :save link %}{{ link.url }}",
        "{{#each links as |link index|}}{{link.url}}{{/each}}",
        '{{#assign "link"}}x{{/assign}}{{link.url}}',
        "{{ link.url }}{% for link in event.links %}{% endfor %}",
        "{{ sender.email }} {{Link.url}} {{linked.url}} {{a.link.url}} {{link}} {{link.url",
        "<script>{{link.url}}</script>",
        "<!-- {{link.url}} -->",
        "{% raw %}{{link.url}}{% endraw %}",
        "{% raw %}{{#if link.url}}a{{/if}}{% endraw %}",
        "{{#each links as |link|}}{{#if link.unsubscribe}}a{{/if}}{{/each}}",
        "{%- verbatim code -%}{{link.url}}{% endverbatim code %}",
    ],
)
def test_variables_of_the_content_and_other_roots_and_what_can_be_meant_as_it_is_stay(source):
    assert warnings(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in link.all %}{{ link.url }}{% endfor %}",
        "{% for a in link %}{{ link.url }}{% endfor %}",
        "{% if link %}{{ link.url }}",
        "{% assign a = link %}{{ link.url }}",
        "{% with a=link|lookup:'b' c=link %}{{ link.url }}{% endwith %}",
        "{% connected_content https://a.example/link :save a %}{{ link.url }}",
    ],
)
def test_a_name_that_the_content_does_not_set_is_no_variable(source):
    assert [code for _, code in warnings(source)] == [WarningCode.REFERENCE_LOOKALIKE]


CONDITION = "Conditions compare fields only, and `{}` is none. Remove this condition."


@pytest.mark.parametrize(
    ("opening", "name"),
    [
        ("{{#if link.unsubscribe is set}}", "link.unsubscribe"),
        ("{{#if link.unsubscribe}}", "link.unsubscribe"),
        ("{{~#if today.year = 2026 ~}}", "today.year"),
        ("{{#if not sender.name is set}}", "sender.name"),
        ("{{#unless link.preferences}}", "link.preferences"),
        ("{{#if sender.email}}", None),
        ("{{#if link.url}}", "link.url"),
        ('{{#if tier = "link.url"}}', None),
    ],
)
def test_a_condition_on_a_value_of_the_esp_is_a_mistake(opening, name):
    source = f"a {opening}b{{{{/if}}}}".replace("/if", "/unless" if "unless" in opening else "/if")
    if name is None:
        assert "Remove this condition" not in str(parse_content(source).warnings)
        return
    warning = only_warning(source)
    assert (warning.column, warning.code) == (3, WarningCode.CONDITION_LOOKALIKE)
    assert warning.message == CONDITION.format(name)


@pytest.mark.parametrize(
    "source",
    [
        '{{#if recipient.tier = "link.preferences" and link.unsubscribe is set}}a{{/if}}',
        "{{#if recipient.tier is set}}a{{else if link.unsubscribe is set}}b{{/if}}",
    ],
)
def test_a_value_of_the_esp_in_a_condition_on_fields_is_refused(source):
    (violation,) = read_content(source).violations
    assert violation.position.column == source.index("link.unsubscribe") + 1
    assert violation.reason == CONDITION.format("link.unsubscribe")


@pytest.mark.parametrize(
    "piece",
    [
        *("{{link.a}} ", "{{link.a ", "{% for a ", "{{#if a ", "{{#if link.unsubscribe "),
        "{{#a as |",
        *("{% raw %}", "{% raw %}{% endraw %}", "{% verbatim %}{% raw %}", "{% raw "),
    ],
)
def test_the_time_is_linear(piece):
    assert_grows_linearly(read_content, lambda size: piece * size, 5_000)
