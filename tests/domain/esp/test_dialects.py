"""The table of dialects: complete, and well formed."""

from __future__ import annotations

import re

import pytest

from recipient_fields.domain.esp import DIALECTS, Esp

EVERY_DIALECT = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.title)


def test_every_esp_has_its_dialect():
    assert list(DIALECTS) == list(Esp)


def test_the_esps_are_known_by_these_ids():
    assert [esp.value for esp in Esp] == [
        *("sfmc", "mailchimp", "klaviyo", "braze", "customerio"),
        *("hubspot", "sendgrid", "iterable", "brevo", "activecampaign"),
    ]


@EVERY_DIALECT
def test_every_template_inserts_the_field_and_one_default(dialect):
    assert re.search("NAME|EXPRESSION", dialect.insertion)
    assert re.search("NAME|EXPRESSION", dialect.insertion_with_default)
    assert dialect.insertion.count("DEFAULT") == 0
    assert dialect.insertion_with_default.count("DEFAULT") == 1


@EVERY_DIALECT
def test_every_form_names_the_field(dialect):
    assert dialect.forms
    for form in (*dialect.forms, *dialect.standard):
        assert re.search("NAME|VARIABLE", form.expression)
        assert re.compile(form.names)


@EVERY_DIALECT
def test_what_a_dialect_says_of_names_is_a_sentence(dialect):
    assert dialect.names.endswith(".")
    assert bool(dialect.standard) is dialect.standard_names.endswith(".")
