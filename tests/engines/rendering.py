"""Rendering of templates in the dialect of each ESP, by the engines that its dialect names.

| ESP | Engines |
|---|---|
| Klaviyo | Django's template engine |
| Brevo | Django's template engine, pongo2 |
| Braze, Customer.io, OneSignal | Ruby's Liquid, LiquidJS |
| HubSpot | a stand-in for Jinjava |
| SendGrid, Iterable | handlebars.js with the helpers that the vendors document |
| Mailchimp, ActiveCampaign, Salesforce Marketing Cloud | evaluators of the documented tags |

All engines but Ruby's Liquid and pongo2 are strict: they reject what neither the documentation nor
the vendor's engine establishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import pytest

from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.esp.profiles.profile import Engine

from . import activecampaign, ampscript, django_templates, hubl, mailchimp
from .errors import NotRendered
from .event import event_of
from .liquid import (
    braze_context,
    braze_to_liquid,
    customer_io_context,
    customer_io_to_liquid,
    onesignal_context,
    onesignal_to_liquid,
)
from .processes import render_batch
from .system_values import SYSTEM_VALUES
from .tags import Renderer

Values = Mapping[str, object]

ENGINES: Mapping[Esp, tuple[Engine | None, ...]] = {
    each.esp: tuple(each.engines) or (None,) for each in BUILT_IN
}
"""The engines of each ESP. None is the evaluator of the documented tags."""

EVERY_ENGINE = pytest.mark.parametrize(
    ("esp", "engine"),
    [
        pytest.param(esp, engine, id=f"{esp}-{engine.value if engine else 'documentation'}")
        for esp, engines in ENGINES.items()
        for engine in engines
    ],
)

_COMPILERS: Mapping[Esp, Callable[[str], Renderer]] = {
    Esp("sfmc"): ampscript.compile_template,
    Esp("mailchimp"): mailchimp.compile_template,
    Esp("klaviyo"): django_templates.compile_klaviyo,
    Esp("hubspot"): hubl.compile_template,
    Esp("brevo"): django_templates.compile_brevo,
    Esp("activecampaign"): activecampaign.compile_template,
}
_WITH_SYSTEM_VALUES = {Esp("sfmc"), Esp("mailchimp"), Esp("activecampaign")}
"""The ESPs whose fields and system values have the same names."""
_IN_PROCESSES = {Engine.RUBY_LIQUID, Engine.LIQUIDJS, Engine.PONGO2, Engine.HANDLEBARS}


def render(esp: Esp, template: str, values: Values, engine: Engine | None = None) -> str:
    """Return the text of the template for a recipient with these values, by ESP field name.

    A value is a text, a number, a boolean or None, as the ESP stores it. Without an engine, the
    strictest one of the ESP renders it.

    Raises: NotRendered if the engine rejects the template, or the documentation does not establish
    the result.
    """
    (text,) = render_all(esp, [(template, values)], engine)
    if isinstance(text, NotRendered):
        raise text
    return text


def render_all(
    esp: Esp, cases: Sequence[tuple[str, Values]], engine: Engine | None = None
) -> list[str | NotRendered]:
    """Render each template with its values, in order. Equal templates should be neighbours."""
    engine = engine or ENGINES[esp][-1]
    if engine in _IN_PROCESSES:
        return _render_in_process(esp, cases, engine)
    return [_attempt(esp, template, values) for template, values in cases]


def _render_in_process(
    esp: Esp, cases: Sequence[tuple[str, Values]], engine: Engine
) -> list[str | NotRendered]:
    match esp:
        case Esp("braze"):
            liquid = [(braze_to_liquid(text), braze_context(values)) for text, values in cases]
            return render_batch(engine, "liquid", liquid)
        case Esp("customerio"):
            liquid = [
                (customer_io_to_liquid(text), customer_io_context(values)) for text, values in cases
            ]
            return render_batch(engine, "liquid", liquid)
        case Esp("onesignal"):
            liquid = [
                (onesignal_to_liquid(text), onesignal_context(values)) for text, values in cases
            ]
            return render_batch(engine, "liquid", liquid)
        case Esp("brevo"):
            system = SYSTEM_VALUES[Esp("brevo")]
            contacts = [
                (text, {**system, "contact": values, "params": event_of(values)})
                for text, values in cases
            ]
            return render_batch(engine, "django", contacts)
    merged = [
        (text, {**SYSTEM_VALUES[esp], **values, **event_of(values)}) for text, values in cases
    ]
    return render_batch(engine, esp, merged)


def _attempt(esp: Esp, template: str, values: Values) -> str | NotRendered:
    if esp in _WITH_SYSTEM_VALUES:
        values = {**SYSTEM_VALUES[esp], **values, **event_of(values)}
    try:
        return _compiled(esp, template)(values)
    except NotRendered as rejected:
        return rejected


@lru_cache(maxsize=64)
def _compiled(esp: Esp, template: str) -> Renderer:
    return _COMPILERS[esp](template)
