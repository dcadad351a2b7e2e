"""Brevo: a language that follows Django's."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words
from . import django

VOCABULARY = Vocabulary(
    syntax=Syntax.DJANGO,
    fields=words("contact"),
    events=words("event params"),
    nested=words("data feed feeds items product products recommendations"),
    system=words(
        "address company_address date_now doubleoptin mirror preview_text sender.* unsubscribe"
        " update_profile"
    ),
    common=words(
        "address company_address data feed feeds items preview_text product products"
        " recommendations"
    ),
    local=django.LOCAL,
    tags=django.TAGS | words("set macro endmacro import ssi"),
    filters=django.FILTERS
    | words(
        "date_i18n float formatdate integer intcomma markdown replace split time_add time_parse"
    ),
)
