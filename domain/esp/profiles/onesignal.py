"""OneSignal: Liquid, whose variables are the tags of a user."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve

from ...content import Surface
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ..languages.blocks import Certainty, Tag, scan
from ..languages.conditions import Atom, Falsy, Feature, Presence
from ..languages.liquid import read_liquid
from ..languages.paths import write_liquid
from ..languages.tree import Output, Path
from ..names import Esp
from . import liquid, shared
from .profile import (
    Creation,
    Engine,
    Escaping,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    FilterRefusal,
    Form,
    Insertion,
    Names,
    Profile,
    Quoting,
    Strength,
    SurfaceRules,
    Syntax,
    SystemCode,
    Vocabulary,
    words,
)

_SYNTAX = "documentation.onesignal.com/docs/en/using-liquid-syntax"

_LINK = re.compile(r"\[unsubscribe_url\]")

_UNSUBSCRIBE = "documentation.onesignal.com/docs/create-custom-unsubscribe-page"

_FALSE_TEXTS = {
    Falsy.EMPTY_TEXT: "",
    Falsy.ZERO: "0",
    Falsy.FALSE: "false",
    Falsy.FALSE_TEXT: "false",
}
"""How tags hold falsy values: Liquid reads each text as true."""
_ROOTS = words("app data_feed journey message org subscription template user")
"""The variables with OneSignal's own values. A tag with such a name can't be inserted."""


def _presence(*falsy: Falsy) -> Presence:
    texts = dict.fromkeys(_FALSE_TEXTS[each] for each in falsy)
    others = (Atom(f'{{operand}} != "{each}"', f'{{operand}} == "{each}"') for each in texts)
    return Presence((Atom("{operand}"), *others), frozenset({Falsy.MISSING, *falsy}))


def read_link(text: str) -> Iterator[Tag]:
    """Yield the links to unsubscribe, which are not Liquid, in order."""

    def read(tag: re.Match[str]) -> Tag:
        return Tag(*tag.span(), (Output(*tag.span(), Path((tag[0],))),), Certainty.POSSIBLE)

    return scan(text, _LINK, read)


PROFILE = Profile(
    esp=Esp("onesignal"),
    title="OneSignal",
    languages=(read_liquid, read_link),
    engines={
        Engine.RUBY_LIQUID: "OneSignal documents Shopify's Liquid, and dates as Ruby reads them.",
        Engine.LIQUIDJS: "The engine is not public, and LiquidJS is the other common one.",
    },
    names=Names(
        source="documentation.onesignal.com/docs/en/personalization-properties-and-tags",
        strength=Strength.VENDOR,
        rule=(
            "No source establishes how OneSignal inserts a tag that is not letters, digits and"
            " underscores after a letter, or that is `condition_` and a number."
        ),
        # The variables of conditions and filters have the other names.
        forms=(Form(r"(?!condition_[0-9]+\Z)[A-Za-z][A-Za-z0-9_]*", "NAME"),),
        standard_rule="A standard field of OneSignal is email, external_id or language.",
        standard_forms=(Form("email|external_id|language", "subscription.NAME"),),
        reserved=liquid.LOCAL | _ROOTS | {"number_parts"},
        standard_fields={"email": "email"},
        unlisted=frozenset({"email"}),
        lists_fields_in_use_only=True,
        creation=Creation(
            "Set the tag NAME of a user, which creates it: PATCH"
            " /apps/{app_id}/users/by/{alias_label}/{alias_id}.",
            Strength.NONE,
        ),
    ),
    insertion=Insertion(
        source=_SYNTAX,
        code="{{ EXPRESSION }}",
        with_default='{{ EXPRESSION | default: "DEFAULT" }}',
        quoting=Quoting.OTHER,
    ),
    conditions=evolve(
        liquid.CONDITIONS,
        readings={
            data_type: evolve(reading, variable=f"_{reading.variable}")
            for data_type, reading in liquid.CONDITIONS.readings.items()
        },
        presences=(
            _presence(),
            _presence(Falsy.EMPTY_TEXT),
            _presence(Falsy.ZERO),
            _presence(Falsy.FALSE, Falsy.FALSE_TEXT),
            _presence(Falsy.EMPTY_TEXT, Falsy.FALSE, Falsy.FALSE_TEXT),
            _presence(*_FALSE_TEXTS),
        ),
        caveats=dict.fromkeys(
            (Feature.TRUE, Feature.FALSE, Feature.BOOLEAN_SET), (shared.NO_BOOLEANS,)
        ),
    ),
    filters=FilterLanguage(
        forms={
            **liquid.filters("OneSignal"),
            FilterName.TITLE: FilterRefusal(
                "{title} refers to Shopify's Liquid, which has no filter that writes each word with"
                " a capital.",
                _SYNTAX,
                Strength.VENDOR,
            ),
            FilterName.DATE: FilterForm(
                code='VALUE | date: "ARGUMENT"',
                source=_SYNTAX,
                strength=Strength.VENDOR,
                difference_of_instants=shared.INSTANTS,
            ),
        },
        dates=liquid.DATES,
        shared=liquid.SHARED,
    ),
    surfaces=SurfaceRules(
        html=Escaping.UNKNOWN,
        caveats={Surface.HTML: shared.NOT_ESTABLISHED.format("OneSignal")},
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="[unsubscribe_url]", source=_UNSUBSCRIBE, strength=Strength.VENDOR
        ),
        SystemValue.YEAR: SystemCode(
            code="{{ 'now' | date: '%Y' }}", source=_SYNTAX, strength=Strength.VENDOR
        ),
    },
    events=EventData(
        ways=(
            EventWay(
                name="message.custom_data",
                sent_by="the request that sends a message",
                value="message.custom_data",
                source=_SYNTAX,
            ),
        ),
        write_path=write_liquid,
        loop=liquid.LOOP,
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.LIQUID,
        any_name=True,
        has_members=False,
        fields=words("subscription"),
        events=words("journey"),
        nested=words("data_feed"),
        system=words("subscription.unsubscribe_token [unsubscribe_url]"),
        common=_ROOTS,
        local=liquid.LOCAL,
        tags=liquid.TAGS,
        filters=liquid.FILTERS,
    ),
    adjacent_text=liquid.ADJACENT_TEXT,
    keeping=shared.keeping("raw"),
)
