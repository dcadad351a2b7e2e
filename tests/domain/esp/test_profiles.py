"""The built-in profiles are complete and well-formed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from recipient_fields import domain
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.esp.profiles.profile import NOTHING, Strength

EVERY_PROFILE = pytest.mark.parametrize("profile", BUILT_IN, ids=lambda each: each.title)


def test_the_esps_are_known_by_these_ids():
    assert list(BUILT_IN.esps) == [
        *("sfmc", "mailchimp", "klaviyo", "braze", "customerio"),
        *("hubspot", "sendgrid", "iterable", "brevo", "activecampaign"),
        "onesignal",
    ]


@EVERY_PROFILE
def test_every_template_inserts_the_field_and_one_default(profile):
    assert re.search("NAME|EXPRESSION", profile.insertion.code)
    assert re.search("NAME|EXPRESSION", profile.insertion.with_default)
    assert profile.insertion.code.count("DEFAULT") == 0
    assert profile.insertion.with_default.count("DEFAULT") == 1


@EVERY_PROFILE
def test_every_form_contains_the_name_of_the_field(profile):
    assert profile.names.forms
    for form in (*profile.names.forms, *profile.names.standard_forms):
        assert re.search("NAME|PATH|VARIABLE", form.expression)
        assert re.compile(form.pattern)


@EVERY_PROFILE
def test_the_name_rules_of_a_profile_are_sentences_about_its_esp(profile):
    assert bool(profile.names.standard_forms) is bool(profile.names.standard_rule)
    for sentence in filter(None, (profile.names.rule, profile.names.standard_rule)):
        assert profile.title in sentence
        assert sentence[0].isupper()
        assert sentence.endswith(".")


def test_the_titles_are_the_product_names_of_the_esps():
    assert [profile.title for profile in BUILT_IN] == [
        *("Salesforce Marketing Cloud", "Mailchimp", "Klaviyo", "Braze", "Customer.io"),
        *("HubSpot", "SendGrid", "Iterable", "Brevo", "ActiveCampaign"),
        "OneSignal",
    ]


def test_some_esps_list_only_fields_in_use():
    sampling = [each.esp for each in BUILT_IN if each.names.lists_fields_in_use_only]
    assert sampling == [Esp("klaviyo"), Esp("customerio"), Esp("onesignal")]


@EVERY_PROFILE
def test_names_and_codes_have_a_source_or_none_is_known(profile):
    for part in (profile.names, profile.insertion):
        assert (part.source == NOTHING) is (part.strength is Strength.NONE)
        assert part.strength is not Strength.ENGINE


def test_no_other_module_of_the_domain_names_an_esp():
    (folder,) = map(Path, domain.__path__)
    named = [
        f"{path.relative_to(folder)}:{node.lineno}"
        for path in sorted(folder.rglob("*.py"))
        if path.parent.name != "profiles"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in BUILT_IN
    ]
    assert named == []
