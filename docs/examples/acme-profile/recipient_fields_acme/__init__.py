"""The profile of Acme Mail, an invented ESP with Liquid."""

from __future__ import annotations

from recipient_fields.domain.content import SystemValue
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.esp.languages.liquid import read_liquid
from recipient_fields.domain.esp.profiles import liquid, shared
from recipient_fields.domain.esp.profiles.profile import (
    Creation,
    Engine,
    Escaping,
    FilterLanguage,
    Form,
    Insertion,
    Names,
    Profile,
    Quoting,
    Strength,
    SurfaceRules,
    Syntax,
    SystemCode,
    Templates,
    ValueForm,
    Vocabulary,
    words,
)

DOCS = "https://docs.acme.example/liquid"

PROFILE = Profile(
    esp=Esp("acme"),
    title="Acme Mail",
    languages=(read_liquid,),
    engines={Engine.RUBY_LIQUID: DOCS},
    names=Names(
        source=f"{DOCS}/attributes",
        strength=Strength.VENDOR,
        rule="Acme Mail inserts attributes whose names have letters, digits and underscores.",
        forms=(Form(r"[a-z][a-z0-9_]*", "reader.NAME"),),
        creation=Creation("Add the attribute NAME under Audience > Attributes.", Strength.VENDOR),
    ),
    insertion=Insertion(
        source=f"{DOCS}/insertion",
        code="{{ EXPRESSION }}",
        with_default='{{ EXPRESSION | default: "DEFAULT" }}',
        quoting=Quoting.OTHER,
        shown_forms=liquid.SHOWN_FORMS,
    ),
    conditions=liquid.CONDITIONS,
    filters=FilterLanguage(forms=liquid.filters("Acme Mail"), dates=liquid.DATES),
    surfaces=SurfaceRules(
        html=Escaping.RAW,
        text=Escaping.RAW,
        subject=Escaping.RAW,
        source=f"{DOCS}/escaping",
        forms={
            ValueForm.ESCAPED: Templates(
                "{{ EXPRESSION | escape }}", '{{ EXPRESSION | escape | default: "DEFAULT" }}'
            ),
        },
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{ unsubscribe_link }}", source=f"{DOCS}/links", strength=Strength.VENDOR
        ),
    },
    vocabulary=Vocabulary(
        syntax=Syntax.LIQUID,
        fields=words("reader"),
        events=words("event"),
        system=words("unsubscribe_link"),
        local=liquid.LOCAL,
        tags=liquid.TAGS,
        filters=liquid.FILTERS,
    ),
    adjacent_text=liquid.ADJACENT_TEXT,
    keeping=shared.keeping("raw"),
)
