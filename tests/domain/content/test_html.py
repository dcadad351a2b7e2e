"""The reader of HTML returns what each place in content is."""

from __future__ import annotations

import re

import pytest

from recipient_fields.domain.content import parse_content
from recipient_fields.domain.content.html import DoesNotFit, Html, Kind, Mjml, Place

from ...support.growth import assert_grows_linearly

MARK, REFERENCE = "¦", "{{recipient.here}}"


def read(source: str) -> tuple[Html, int]:
    """Return the HTML of content with a reference at the mark, and the offset of the mark."""
    return parse_content(source.replace(MARK, REFERENCE)).html, source.index(MARK)


def at(source: str) -> Place:
    html, offset = read(source)
    return html.at(offset)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("a¦b", Kind.TEXT),
        ("<p>¦a</p>", Kind.TEXT),
        ("1 < 2 ¦and 3 > 2", Kind.TEXT),
        ("<ada@example.com> ¦a", Kind.TEXT),
        ("<td ¦width=1>", Kind.TAG),
        ('<a title="x" ¦class>', Kind.TAG),
        ("<a title=it's>¦a", Kind.TEXT),
        ("<a title = 'a>¦b'>", Kind.ATTRIBUTE),
        ("<a title='a'>¦b", Kind.TEXT),
        ("<a title='a¦", Kind.ATTRIBUTE),
        ("<a title='a'¦", Kind.TAG),
        ("<style>p { ¦}</style>", Kind.STYLE),
        ("<STYLE>a</STYLE>¦", Kind.TEXT),
        ("<mj-style>p { ¦}</mj-style>", Kind.STYLE),
        ("<script>'<p>' ¦</script>", Kind.SCRIPT),
        ("<script>'<p>' ¦", Kind.SCRIPT),
        ("<!-- <a title='¦' -->", Kind.COMMENT),
        ("<!-- a --!>¦b", Kind.TEXT),
        ("<!-->¦a", Kind.TEXT),
        ("<!-- a > ¦b", Kind.COMMENT),
        ("<!--[if mso]><b>¦a</b><![endif]-->", Kind.TEXT),
        ("<!--[if mso]><b title='¦a'><![endif]-->", Kind.ATTRIBUTE),
        ("<!--[if !mso]><!--><b>¦a</b><!--<![endif]-->", Kind.TEXT),
        ("<!DOCTYPE html><?xml a='?>¦a", Kind.TEXT),
        ("<template type='amp-mustache'><b title='¦a'>", Kind.ATTRIBUTE),
    ],
)
def test_a_place_has_a_kind(source, kind):
    assert at(source).kind is kind


@pytest.mark.parametrize(
    ("source", "element", "attribute", "quote"),
    [
        ('<a href="¦x">', "a", "href", '"'),
        ("<A\nHREF = '¦x'>", "a", "href", "'"),
        ("<a class=b title=¦x>", "a", "title", ""),
        ('<a title="x"href="¦y">', "a", "href", '"'),
        ("<mj-image alt='¦x' />", "mj-image", "alt", "'"),
        ('<v:fill src="¦x"/>', "v:fill", "src", '"'),
        ('<a href="{{ x > 3 }}" title="¦">', "a", "title", '"'),
        ('<a href="{{ x|default:"a > b" }}" title="¦">', "a", "title", '"'),
        ("<a href='{% if x > 'a' %}b{% endif %}' title='¦'>", "a", "title", "'"),
        ('<a href="%%=IIf(@a > 1, "x", "y")=%%" title="¦">', "a", "title", '"'),
        ("<a %%[ IF @a > 'x' THEN ]%% title='¦'>", "a", "title", "'"),
        ("<a href='*|IF:A='b'>|*' title='¦'>", "a", "title", "'"),
        ("<a %IF $A > 'b'% title='¦'>", "a", "title", "'"),
        ('<a {{#if recipient.a > 3}}class{{/if}}="b" title="¦">', "a", "title", '"'),
        ('<a href={{recipient.a | default: "a > b"}} title="¦">', "a", "title", '"'),
        ("<a href={{recipient.a}} ¦>", "a", "", ""),
        ("<a href=¦{{recipient.a}}>", "a", "href", ""),
        ("<a {# > #} title='¦'>", "a", "title", "'"),
    ],
)
def test_an_attribute_is_read_around_code(source, element, attribute, quote):
    place = at(source)
    assert (place.element, place.attribute, place.quote) == (element, attribute, quote)


@pytest.mark.parametrize(
    ("source", "string", "is_url"),
    [
        ("<style>a { b: '¦x' }", "'", False),
        ("<style>a { b: 'x' ¦}", "", False),
        ("<style>/* it's */ a { b: ¦x }", "", False),
        ("<style>a { b: url(¦x) }", "", True),
        ("<style>a { b: URL( '¦x' ) }", "'", True),
        ("<style>a { b: url(x) ¦}", "", False),
        ("<p style=\"font: '¦x'\">", "'", False),
        ("<p style=\"font: 'x' ¦\">", "", False),
        ("<p style='background: url(¦x)'>", "", True),
        ('<script>a = "it\'s ¦"', '"', False),
        ("<script>// it's\na = ¦1", "", False),
        ("<script>a = `${¦b}`", "`", False),
        ("<script>a = 'it\\'s ¦'", "'", False),
        ("<a href='¦x'>", "", True),
        ("<img data-src='¦x'>", "", True),
        ("<img alt='¦x'>", "", False),
    ],
)
def test_strings_and_urls_are_read_in_css_and_scripts(source, string, is_url):
    place = at(source)
    assert (place.string, place.is_url) == (string, is_url)


@pytest.mark.parametrize(
    ("source", "is_literal", "is_shown"),
    [
        ("<p>¦a</p>", False, True),
        ("<!-- ¦a -->", True, False),
        ("<style>¦a</style>", True, False),
        ("<template><b>¦a</b></template>", True, False),
        ("<template><template></template>¦a</template>", True, False),
        ("<template></template>¦a", False, True),
        ("</template>¦a", False, True),
        ("<!--[if mso]>¦a<![endif]-->", False, False),
        ("<!--[if mso]>a<![endif]-->¦b", False, True),
        ("<!--[if mso]>¦a", False, False),
        ("<!--[if !mso]><!-->¦a<!--<![endif]-->", False, True),
        ("<!--[if !mso]>-->¦a<!--<![endif]-->", False, True),
        ("<![if !mso]>¦a<![endif]>", False, True),
    ],
)
def test_comments_and_templates_are_not_shown(source, is_literal, is_shown):
    html, offset = read(source)
    assert (html.is_literal(offset), html.is_shown(offset)) == (is_literal, is_shown)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<a href='¦x'>a</a>", "<a href='¦x'>a</a>"),
        ("<a title='>' href='¦x'><b>a</b></a> c", "<a title='>' href='¦x'><b>a</b></a>"),
        ("<a href='¦x'><a>b</a>", None),
        ("<a href='¦x'>b", None),
        ("<a href='x'>¦b</a>", None),
        ("<v:a href='¦x'></v:a>", None),
        ("<!-- <a href='¦x'>a</a> -->", None),
    ],
)
def test_the_link_of_an_attribute_ends_at_its_closing_tag(source, expected):
    html, offset = read(source)
    link = html.find_link(offset)
    text = source.replace(MARK, REFERENCE)
    shown = link and text[slice(*link)].replace(REFERENCE, MARK)
    assert shown == expected


BODY = "<mjml><mj-head>{}</mj-head><mj-body>{}</mj-body></mjml>"


@pytest.mark.parametrize(
    ("source", "mjml"),
    [
        ("<p>¦a</p>", Mjml.KEEPS),
        ("<mj-text>¦", Mjml.KEEPS),
        ("¦<mj-section></mj-section>", Mjml.KEEPS_RAW),
        ("<mj-divider />¦", Mjml.KEEPS_RAW),
        ("¦<mjml>", Mjml.DROPS),
        ("<mjml>¦", Mjml.DROPS),
        ("<mjml></mjml>¦", Mjml.DROPS),
        (BODY.format("¦", ""), Mjml.DROPS),
        (BODY.format("<mj-title>¦</mj-title>", ""), Mjml.KEEPS),
        (BODY.format("<mj-style>¦</mj-style>", ""), Mjml.KEEPS),
        (BODY.format("", "¦"), Mjml.KEEPS_RAW),
        (BODY.format("", "<!-- ¦ -->"), Mjml.KEEPS),
        (BODY.format("", "<mj-raw>¦</mj-raw>"), Mjml.KEEPS),
        (BODY.format("", "<mj-raw></mj-raw>¦"), Mjml.KEEPS_RAW),
        (BODY.format("", "<mj-raw/>¦"), Mjml.KEEPS_RAW),
        (BODY.format("", "</mj-section>¦"), Mjml.KEEPS_RAW),
        (BODY.format("", "<mj-section ¦>"), Mjml.DROPS),
        (BODY.format("", "<mj-section><mj-column>¦"), Mjml.KEEPS_RAW),
        (BODY.format("", "<mj-section><mj-text></mj-section>¦"), Mjml.KEEPS_RAW),
        (BODY.format("", "<mj-button href='¦'>"), Mjml.KEEPS),
        (BODY.format("", "<mj-table><tr ¦>"), Mjml.KEEPS),
        (BODY.format("", "<mj-carousel>¦"), Mjml.DROPS),
    ],
)
def test_mjml_keeps_text_in_some_components(source, mjml):
    html, offset = read(source)
    assert html.find_mjml(offset) is mjml


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("<p>¦", 'it\'s "a" <b>&</b>', None),
        ("<img alt='¦'>", 'it\'s "a" <b>&amp;', "it&#39;s &quot;a&quot; <b>&amp;"),
        ("<img alt=¦>", "a > b`=", "a&#32;&#62;&#32;b&#96;&#61;"),
        ("<a href='¦'>", "https://x.example/?a=1&b=é", None),
        ("<a href='¦'>", "https://x.example/a 'b'", "https://x.example/a%20%27b%27"),
        ("<a href='https://x.example/¦'>", "New York/a", "New%20York/a"),
        ("<a href='https://x.example/?¦'>", "a=1&b=2", None),
        ("<a href='https://x.example/?q=¦'>", "a=1&b=é 2", "a%3D1%26b%3D%C3%A9%202"),
        ("<a href='https://x.example/?q=¦'>", "a%20b 100%", "a%20b%20100%25"),
        ("<a href='https://x.example/?q={{recipient.a}}&¦'>", "a=1", None),
        ("<a href='/x?q={{recipient.a}}¦'>", "&", "%26"),
        ("see https://x.example/?q=¦", "a b", "a%20b"),
        ("see https://x.example/?q=a ¦", "a b", None),
        ("<p style='background: url(¦)'>", "a (1).png", "a%20%281%29.png"),
        ("<p style='font: ¦'>", "'Open Sans', serif", "&#39;Open Sans&#39;, serif"),
        ("<style>p { color: ¦ }", "#333; margin: 0", None),
    ],
)
def test_a_text_is_encoded_for_its_place(source, text, expected):
    html, offset = read(source)
    assert html.fit(text, offset) == (text if expected is None else expected)


@pytest.mark.parametrize(
    ("source", "text", "end"),
    [
        ("<style>p { font: '¦' }", "O'Neil", "`'` would end the string in the CSS"),
        ("<style>p { font: '¦' }", "a\\", "`\\` would end the string in the CSS"),
        ("<style>p { font: ¦ }", "O'Neil", "`'` would begin a string in the CSS"),
        ("<style>¦", "a</STYLE >", "`</STYLE` would end the CSS"),
        ("<p style=\"font: '¦'\">", "O'Neil", "`'` would end the string in the attribute"),
        ("<p style='font: ¦'>", 'a"', '`"` would begin a string in the attribute'),
        ("<script>a = '¦'", "O'Neil", "`'` would end the string in the script"),
        ("<script>¦", "</script>", "`</script` would end the script"),
        ("<!-- ¦ -->", "a --> b", "`-->` would end the comment"),
        ("<p ¦>", "a > b", "`>` would end the tag"),
    ],
)
def test_a_text_that_would_end_its_place_does_not_fit(source, text, end):
    html, offset = read(source)
    with pytest.raises(DoesNotFit, match=re.escape(end)):
        html.fit(text, offset)


def test_attributes_of_plain_text_are_not_encoded():
    html, offset = read("<img alt='¦'> https://x.example/?q=a")
    assert html.fit("it's", offset, is_html=False) == "it's"


@pytest.mark.parametrize(
    "piece",
    [
        *("<a ", '<a b="', "<a b='", "<!--", "<!--[if mso]>", "<!--[if ", "<!--[if mso]>-->", "<!"),
        *("<template>", "</template>", "<mj-a>", "</mj-b>", "<mj-a></mj-b>", "<style>", "<script>"),
        *("{{", "{%", "{#", "{{ }", "%%[", "%%=", "*|", "%IF ", "{{ {% %%[ *|", "url(", "://", "?"),
        *("<style>'", '<style>\\"', "<style>/*", "<script>//", "<a style='b: url(", "<td>", "</a>"),
    ],
)
def test_hostile_html_takes_linear_time(piece):
    def read_places(source: str) -> None:
        html = Html(source)
        for offset in range(0, len(source), 5):
            html.at(offset)
            html.find_mjml(offset)
            html.fit("a b", offset) if html.is_in_query(offset) else None

    assert_grows_linearly(read_places, lambda size: piece * (size // len(piece) + 1), 4_000)
