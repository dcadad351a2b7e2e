"""The rules of ESP names and of codes as they are specified: naive, and without an index.

Each function returns plain values. `fields` and `integrations` are those of one organization.
"""

from __future__ import annotations

import re

from recipient_fields.domain.esp import BUILT_IN, Esp, derive_codes
from recipient_fields.domain.esp.derived_codes import find_reference, is_reference
from recipient_fields.domain.esp.errors import NoSafeForm
from recipient_fields.domain.esp.recognition.tags import find_unclosed, is_certainly_foreign
from recipient_fields.domain.fields.values import derive_key


def key_of(field):
    """Return the key, or for a synced field the one that its name at its own ESP derives."""
    if field.origin.esp_field_name is None:
        return field.key
    return derive_key(field.origin.esp_field_name) or field.key


def synced(integration, fields):
    return sorted(
        (each for each in fields if each.origin.integration_id == integration.id),
        key=lambda each: each.id,
    )


def name(field):
    return field.origin.esp_field_name


def in_standard_form(esp, field):
    if not BUILT_IN[esp].names.standard_forms:
        return False
    try:
        derived = derive_codes(esp, name(field), standard=True)
    except NoSafeForm:
        return False
    return derived.value_expression == field.custom_value_expression


def in_table(esp, esp_name):
    return (
        bool(BUILT_IN[esp].names.standard_forms)
        and esp_name in BUILT_IN[esp].names.standard_fields.values()
    )


def with_name(integration, fields, esp_name):
    """Return the synced fields with this name: the standard one first, then by id."""
    found = [each for each in synced(integration, fields) if name(each) == esp_name]
    return sorted(found, key=lambda each: not in_standard_form(integration.esp, each))


def keys_by_name(integration, fields, definitions):
    """Return the key of the field that each ESP name means in the header of a list.

    `definitions` are the keys of the fields that stand for synced fields, by the keys of these.
    """
    found: dict[str, set[str]] = {}
    for field in fields:
        if field.origin.integration_id != integration.id and field.key not in definitions:
            esp_name_of_field = esp_name(field, integration.esp, integration, fields)
            if esp_name_of_field is not None:
                found.setdefault(esp_name_of_field[0], set()).add(field.key)
    unique = {esp_name: min(keys) for esp_name, keys in found.items() if len(keys) == 1}
    listed = {
        name(each): definitions.get(each.key, each.key) for each in synced(integration, fields)
    }
    return unique | listed


def set_name(integration, fields, field):
    """Return the set name, its form and its counterpart, or None."""
    if field.id not in integration.names:
        return None
    chosen = integration.names[field.id]
    found = with_name(integration, fields, chosen.name)
    if chosen.custom:
        standard = False
    elif found:
        standard = in_standard_form(integration.esp, found[0])
    else:
        standard = in_table(integration.esp, chosen.name)
    same_form = [e for e in found if in_standard_form(integration.esp, e) == standard]
    return chosen.name, standard, same_form[0] if same_form else None


def names_set_for_others(integration, fields, field):
    others = [each for each in fields if field is None or each.id != field.id]
    found = [set_name(integration, fields, each) for each in others]
    return {(each[0], each[1]) for each in found if each is not None}


def convention(esp, key):
    return key.upper() if esp in {Esp("mailchimp"), Esp("brevo"), Esp("activecampaign")} else key


def free_fields(integration, fields, field=None):
    """Return the synced fields of the integration whose names are not set for others."""
    taken = names_set_for_others(integration, fields, field)
    return [
        each
        for each in synced(integration, fields)
        if (name(each), in_standard_form(integration.esp, each)) not in taken
    ]


def names_of_key(integration, fields, key, field=None):
    free = free_fields(integration, fields, field)
    return {name(each) for each in free if derive_key(name(each)) == key}


def has_rivals(integration, fields, field):
    """Return whether the key of a synced field could mean another one of its integration."""
    key = key_of(field)
    if field.key != key:
        return False
    others = names_of_key(integration, fields, key)
    for exact in (key, convention(integration.esp, key)):
        if exact in others:
            return name(field) != exact
    return bool(others - {name(field)})


def rule_2(integration, fields, key, field):
    """Return the synced field of the integration with the ESP name of the key, and its state."""
    free = free_fields(integration, fields, field)
    free.sort(key=lambda each: not in_standard_form(integration.esp, each))
    wanted = [
        name(field),
        key,
        BUILT_IN[integration.esp].names.standard_fields.get(key),
        convention(integration.esp, key),
    ]
    for each in wanted:
        for candidate in free:
            if name(candidate) == each:
                return candidate, "found"
    same_key = [each for each in free if derive_key(name(each)) == key]
    if not same_key:
        return None, None
    is_choice = len(names_of_key(integration, fields, key, field)) > 1
    return min(same_key, key=lambda each: each.id), "ambiguous" if is_choice else "found"


SAMPLED = {Esp("klaviyo"), Esp("customerio"), Esp("onesignal")}
"""The ESPs that list only fields in use."""


def state(integration, fields, esp_name, standard, counterpart):
    if integration is None:
        return "unknown"
    if counterpart is not None or esp_name in integration.refused_names:
        return "found"
    if integration.last_synced_at is None or integration.esp in SAMPLED:
        return "unknown"
    is_of_table = standard or not BUILT_IN[integration.esp].names.standard_forms
    if esp_name in BUILT_IN[integration.esp].names.unlisted and is_of_table:
        return "unknown"
    return "missing"


def has_form(esp, esp_name, standard):
    try:
        derive_codes(esp, esp_name, standard=standard)
    except NoSafeForm:
        return False
    return True


def rule_3(esp, integration, fields, key, field):
    taken = set() if integration is None else names_set_for_others(integration, fields, field)
    for each in (BUILT_IN[esp].names.standard_fields.get(key), convention(esp, key)):
        if each is not None:
            standard = in_table(esp, each)
            if (each, standard) not in taken and has_form(esp, each, standard):
                return each, standard
    return None


def esp_name(field, esp, integration, fields):
    """Return (name, is standard, from, state, id of the counterpart), or None."""
    if integration is not None and field.origin.integration_id == integration.id:
        known = "ambiguous" if has_rivals(integration, fields, field) else "found"
        return name(field), in_standard_form(esp, field), "sync", known, None
    if integration is not None:
        chosen = set_name(integration, fields, field)
        if chosen is not None:
            text, standard, counterpart = chosen
            counterpart_id = None if counterpart is None else counterpart.id
            known = state(integration, fields, text, standard, counterpart)
            return text, standard, "integration", known, counterpart_id
        found, known = rule_2(integration, fields, key_of(field), field)
        if found is not None:
            return name(found), in_standard_form(esp, found), "sync", known, found.id
    derived = rule_3(esp, integration, fields, key_of(field), field)
    if derived is None:
        return None
    text, standard = derived
    return text, standard, "convention", state(integration, fields, text, standard, None), None


def all_counterparts(field, integrations, fields):
    """Return the id of the field's counterpart, by integration."""
    return {
        each.id: found[4]
        for each in integrations
        for found in [esp_name(field, each.esp, each, fields)]
        if found is not None and found[4] is not None
    }


def counterparts(field, integrations, fields):
    """Return the id of the counterpart for which the field stands in lists, by integration."""
    found = all_counterparts(field, integrations, fields)
    defined = [each for each in fields if each.origin.integration_id is None]
    if field in defined:
        return found
    if any(each.key == key_of(field) for each in defined):
        return {}
    served = {i for each in defined for i in all_counterparts(each, integrations, fields).values()}
    group = [
        each
        for each in fields
        if each not in defined and key_of(each) == key_of(field) and each.id not in served
    ]
    with_key = [each for each in group if each.key == key_of(field)]
    if field not in (with_key or [min(group, key=lambda each: each.id)] if group else []):
        return {}
    members = {each.id for each in group}
    return {place: counterpart for place, counterpart in found.items() if counterpart in members}


def find_field(key, fields):
    return next((each for each in fields if each.key == key), None)


def letters(text):
    return derive_key(text).replace("_", "")


def similar_names(field, esp, integration, fields, integrations):
    """Return the names that the last sync found, and that the field could have instead."""
    found = esp_name(field, esp, integration, fields)
    if found is None or found[3] == "found" or integration is None:
        return set()
    defined = [each for each in fields if each.origin.integration_id is None]
    in_use = {
        counterpart
        for each in defined
        for counterpart in all_counterparts(each, integrations, fields).values()
    }
    return {
        name(each)
        for each in free_fields(integration, fields)
        if letters(name(each)) == letters(found[0])
        and name(each) != found[0]
        and (found[3] == "ambiguous" or each.id not in in_use)
    }


def code(field, esp, integration, fields):
    """Return the insertion code and the value expression. One that is refused is None."""
    found = esp_name(field, esp, integration, fields)
    insertion, expression = _codes(field, esp, integration, fields, found)
    is_refused = (
        insertion is None or not field.insertable or find_unclosed(insertion, BUILT_IN) is not None
    )
    return (None if is_refused else insertion), expression


def _codes(field, esp, integration, fields, found):
    if found is not None and found[2] == "integration":
        return derived(esp, found[0], found[1])
    stored = field.custom_insertion_code, field.custom_value_expression
    codes = [each for each in stored if each is not None]
    is_foreign = any(foreign(esp, each) for each in codes)
    if field.origin.integration_id is None and codes and not is_foreign:
        return completed(esp, *stored)
    if found is None:
        return None, None
    if integration is not None and field.origin.integration_id == integration.id:
        return stored if None not in stored else derived(esp, found[0], found[1])
    counterparts = [each for each in fields if each.id == found[4]]
    if counterparts:
        stored = counterparts[0].custom_insertion_code, counterparts[0].custom_value_expression
        return stored if None not in stored else derived(esp, found[0], found[1])
    return derived(esp, found[0], found[1])


def derived(esp, esp_name, standard):
    try:
        derived = derive_codes(esp, esp_name, standard=standard)
    except NoSafeForm:
        return None, None
    return derived.insertion_code, derived.value_expression


def foreign(esp, code):
    if is_certainly_foreign(BUILT_IN, BUILT_IN[esp], code):
        return True
    readers = [each for each in BUILT_IN.esps if is_reference(BUILT_IN[each], code)]
    if esp in readers or re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", code):
        return False
    return any(each not in {Esp("sendgrid"), Esp("iterable"), Esp("onesignal")} for each in readers)


PLAIN = {
    Esp("sfmc"): r"%%=v\(\s*(.*?)\s*\)=%%",
    Esp("mailchimp"): r"\*\|\s*(.*?)\s*\|\*",
    Esp("activecampaign"): r"%\s*(.*?)\s*%",
}


def completed(esp, insertion, expression):
    """Return both codes. A missing one is derived from the other if that is a plain reference."""
    if insertion is not None and expression is not None:
        return insertion, expression
    if expression is not None:
        reference = find_reference(BUILT_IN[esp], expression)
        return None if reference is None else derived(esp, *reference)[0], expression
    plain = re.fullmatch(PLAIN.get(esp, r"\{\{\s*(.*?)\s*\}\}"), insertion.strip())
    inside = "" if plain is None else plain[1]
    reference = find_reference(
        BUILT_IN[esp], f"${inside}" if esp == Esp("activecampaign") else inside
    )
    return insertion, None if reference is None else derived(esp, *reference)[1]
