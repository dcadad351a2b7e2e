"""Rendering of templates in the dialect of each ESP, by its template engine.

| ESP | Engine |
|---|---|
| Klaviyo, Brevo | Django's template engine |
| Braze, Customer.io | LiquidJS, with the default and with Ruby's comparisons: both must agree |
| HubSpot | Jinja2 |
| SendGrid, Iterable | handlebars.js with the helpers that the vendors document |
| Mailchimp, ActiveCampaign, Salesforce Marketing Cloud | evaluators of the documented tags |

All engines are strict: they reject what the documentation does not establish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from recipient_fields.domain.esp import Esp

from . import activecampaign, ampscript, django_templates, hubl, mailchimp
from .errors import NotRendered
from .node import render_batch
from .tags import Renderer

_COMPILERS: Mapping[Esp, Callable[[str], Renderer]] = {
    Esp.SALESFORCE: ampscript.compile_template,
    Esp.MAILCHIMP: mailchimp.compile_template,
    Esp.KLAVIYO: django_templates.compile_klaviyo,
    Esp.HUBSPOT: hubl.compile_template,
    Esp.BREVO: django_templates.compile_brevo,
    Esp.ACTIVECAMPAIGN: activecampaign.compile_template,
}
_IN_NODE = {Esp.BRAZE, Esp.CUSTOMER_IO, Esp.SENDGRID, Esp.ITERABLE}


def render(esp: Esp, template: str, values: Mapping[str, object]) -> str:
    """Return the text of the template for a recipient with these values, by ESP field name.

    A value is a text, a number, a boolean or None, as the ESP stores it.

    Raises: NotRendered if the engine rejects the template, or the documentation does not establish
    the result.
    """
    (text,) = render_all(esp, [(template, values)])
    if isinstance(text, NotRendered):
        raise text
    return text


def render_all(
    esp: Esp, cases: Sequence[tuple[str, Mapping[str, object]]]
) -> list[str | NotRendered]:
    """Render each template with its values, in order. Equal templates should be neighbours."""
    if esp in _IN_NODE:
        return render_batch(esp.value, cases)
    return [_attempt(esp, template, values) for template, values in cases]


def _attempt(esp: Esp, template: str, values: Mapping[str, object]) -> str | NotRendered:
    try:
        return _compiled(esp, template)(values)
    except NotRendered as rejected:
        return rejected


@lru_cache(maxsize=64)
def _compiled(esp: Esp, template: str) -> Renderer:
    return _COMPILERS[esp](template)
