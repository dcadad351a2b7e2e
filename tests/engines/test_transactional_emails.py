"""Twelve emails about events, each as the preview shows it, at each ESP that has code for it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from recipient_fields.domain.content import InvalidContent, parse_content, preview_content
from recipient_fields.domain.esp import Esp, ExportOptions, export_content

from .event import Sent
from .generation import esp_name, synced_codes, synced_fields
from .rendering import EVERY_ENGINE, render
from .test_events import WITHOUT_EVENTS, without_quotes

EMAILS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "order": (
        (
            "<h1>Order {{event.number}}</h1>{{#each event.lines as line}}<p>{{line.qty}} x"
            " {{line.name}}</p>{{else}}<p>No items</p>{{/each}}<p>Tier: {{recipient.tier}}</p>"
        ),
        {"number": "A-17", "lines": [{"qty": 2, "name": "Lamp"}, {"qty": 1, "name": "Rug"}]},
    ),
    "abandoned cart": (
        (
            "<p>You left {{event.count}} items</p>{{#each event.cart as product}}"
            '<a href="https://example.com/p">{{product.title}}</a>{{#if product.sale}} Sale!{{/if}}'
            "{{/each}}{{#if event.count > 2}}<p>Free shipping</p>{{/if}}"
        ),
        {"count": 3, "cart": [{"title": "Lamp", "sale": True}, {"title": "Rug", "sale": False}]},
    ),
    "booking": (
        (
            "<p>{{event.hotel.name}} for {{event.guests}} guests</p>"
            '{{#if event.breakfast}}<p>Breakfast</p>{{/if}}<p>{{event.note | default: "-"}}</p>'
        ),
        {"hotel": {"name": "Alpine"}, "guests": 2, "breakfast": True},
    ),
    "invoice": (
        (
            "{{#each event.lines as line}}<tr><td>{{line.text}}</td>"
            "<td>{{line.amount | number: 2}}</td></tr>{{/each}}<p>{{event.total | number: 2}}</p>"
        ),
        {"lines": [{"text": "Work", "amount": 80}, {"text": "Travel", "amount": 12}], "total": 92},
    ),
    "digest of articles": (
        (
            "{{#each event.sections as section}}<h2>{{section.title}}</h2>"
            "{{#each section.articles as article}}<p>{{article.headline}}</p>{{else}}<p>No news</p>"
            "{{/each}}{{/each}}"
        ),
        {
            "sections": [
                {"title": "Art", "articles": [{"headline": "One"}, {"headline": "Two"}]},
                {"title": "Sport", "articles": []},
            ]
        },
    ),
    "shipping": (
        (
            '<p>Sent with {{event.carrier | default: "mail"}}</p>'
            "{{#if event.tracking is set}}<p>{{event.tracking}}</p>{{else}}<p>None</p>{{/if}}"
        ),
        {"carrier": "Post", "tracking": ""},
    ),
    "password": (
        "<p>Code {{event.code}}</p>{{#if event.minutes > 5}}<p>Take your time</p>{{/if}}",
        {"code": "x7", "minutes": 10},
    ),
    "invitation": (
        (
            "<p>{{event.inviter.name}} invites you to {{event.team}}</p>"
            '{{#if event.role = "admin"}}<p>You can invite others</p>{{/if}}'
        ),
        {"inviter": {"name": "Ada"}, "team": "Core", "role": "admin"},
    ),
    "receipt with tax": (
        (
            "{{#each event.taxes as tax}}{{#if loop is first}}<p>Taxes:</p>{{/if}}"
            "<p>{{tax.name}} {{tax.rate}}</p>{{/each}}{{#if event.refund}}<p>Refunded</p>{{/if}}"
        ),
        {"taxes": [{"name": "VAT", "rate": 19}, {"name": "City", "rate": 2}], "refund": False},
    ),
    "price drop": (
        (
            "<p>{{event.product}} is {{event.price}} now</p>"
            "{{#if event.price < 50 and event.stock > 0}}<p>Buy it</p>{{/if}}"
        ),
        {"product": "Lamp", "price": 40, "stock": 3},
    ),
    "event reminder": (
        (
            "<p>{{event.title}} in {{event.city}}</p>{{#each event.speakers as speaker}}{{speaker}}"
            "{{#if loop is not last}}, {{/if}}{{/each}}"
        ),
        {"title": "Summit", "city": "Bern", "speakers": ["Ada", "Grace", "Edsger"]},
    ),
    "weekly report": (
        "{{#each event.rows as row}}<p>{{loop.number}}. {{row.page}}: {{row.views}}</p>{{/each}}",
        {"rows": [{"page": "Home", "views": 12}, {"page": "About", "views": 3}]},
    ),
}
FLAT = {"password", "price drop", "shipping"}
"""The emails without lists and objects, which Salesforce has code for."""


@pytest.mark.parametrize("name", EMAILS)
@EVERY_ENGINE
def test_an_email_about_an_event_is_what_the_preview_shows(name, esp, engine):
    source, event = EMAILS[name]
    content, recipient = parse_content(source), {"tier": "gold"}
    options = ExportOptions(surface="html")
    try:
        template = export_content(content, synced_codes(esp), esp, options).content
    except InvalidContent:
        assert (name, esp) in REFUSED
        return
    assert (name, esp) not in REFUSED
    shown = preview_content(content, synced_fields(esp), recipient, event=event, surface="html")
    values = {esp_name(esp, key): value for key, value in recipient.items()}
    rendered = render(esp, template, Sent(values, event), engine)
    assert without_quotes(rendered) == without_quotes(shown.content)


REFUSED = {
    *((name, esp) for name in EMAILS for esp in WITHOUT_EVENTS),
    *((name, Esp("sfmc")) for name in EMAILS if name not in FLAT),
    *((name, esp) for name in ("invoice",) for esp in (Esp("hubspot"), Esp("sendgrid"))),
    *(("weekly report", esp) for esp in (Esp("sendgrid"), Esp("iterable"), Esp("brevo"))),
    ("receipt with tax", Esp("brevo")),
    ("event reminder", Esp("brevo")),
}
"""The emails that an ESP has no code for, and that the export refuses."""
