"""The table of dialects is complete and well-formed."""

from __future__ import annotations

import re

import pytest

from recipient_fields.domain.esp import DIALECTS, Esp

EVERY_DIALECT = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.title)


def test_every_esp_has_a_dialect():
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
def test_every_form_contains_the_name_of_the_field(dialect):
    assert dialect.forms
    for form in (*dialect.forms, *dialect.standard):
        assert re.search("NAME|PATH|VARIABLE", form.expression)
        assert re.compile(form.pattern)


@EVERY_DIALECT
def test_the_name_rules_of_a_dialect_are_sentences_about_its_esp(dialect):
    assert bool(dialect.standard) is bool(dialect.standard_name_rule)
    for sentence in filter(None, (dialect.name_rule, dialect.standard_name_rule)):
        assert dialect.title in sentence
        assert sentence[0].isupper()
        assert sentence.endswith(".")


def test_the_titles_are_the_product_names_of_the_esps():
    assert [dialect.title for dialect in DIALECTS.values()] == [
        *("Salesforce Marketing Cloud", "Mailchimp", "Klaviyo", "Braze", "Customer.io"),
        *("HubSpot", "SendGrid", "Iterable", "Brevo", "ActiveCampaign"),
    ]


def test_some_esps_list_only_fields_in_use():
    sampling = [esp for esp, dialect in DIALECTS.items() if dialect.lists_fields_in_use_only]
    assert sampling == [Esp.KLAVIYO, Esp.CUSTOMER_IO]
