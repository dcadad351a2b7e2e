"""The surface of content is chosen, or found by its tags."""

from __future__ import annotations

import pytest

from recipient_fields.domain.content import Surface, parse_content
from recipient_fields.domain.content.surfaces import find_surface


@pytest.mark.parametrize(
    ("source", "surface"),
    [
        ("Dear {{recipient.name}}", Surface.TEXT),
        ("1 < 2, a <3 and x>y", Surface.TEXT),
        ("Write to <ada@example.com> or <https://example.com/a>.", Surface.TEXT),
        ('{{#if recipient.a = "<b>"}}bold{{/if}}', Surface.TEXT),
        ("<p>Dear</p>", Surface.HTML),
        ("Dear<br/>Ada", Surface.HTML),
        ('<a\nhref="{{recipient.url}}">Shop</a>', Surface.HTML),
        ("x</TD>", Surface.HTML),
        ("<!DOCTYPE html>", Surface.HTML),
        ("<!--[if mso]>Outlook<![endif]-->", Surface.HTML),
        ("<o:p></o:p>", Surface.HTML),
        ("{{<b>recipient.a</b>}}", Surface.HTML),
        ("<b title='{{recipient.a}}</b>", Surface.HTML),
        ("1 <b and c", Surface.TEXT),
        ('{{ x | default: "<br>" }}', Surface.HTML),
        ('{{recipient.a | default: "<b>none</b>"}}', Surface.HTML),
        (
            '{{#if recipient.a is set}}{{recipient.a | upper | default: "a<br>"}}{{/if}}',
            Surface.HTML,
        ),
        ('{{recipient.a | default: "1 < 2"}} {{! <p> }}', Surface.TEXT),
    ],
)
def test_content_with_an_html_tag_is_html(source, surface):
    assert find_surface(parse_content(source)) is surface


def test_a_chosen_surface_applies() -> None:
    content = parse_content("<p>Dear</p>")
    assert find_surface(content, "subject") is find_surface(content, Surface.SUBJECT)
    assert find_surface(content, "text") is Surface.TEXT
    with pytest.raises(ValueError, match="Use one of html, text, subject"):
        find_surface(content, "body")
