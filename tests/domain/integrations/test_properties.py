"""ESP names and codes follow their specification, for generated organizations."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipient_fields.domain import (
    Catalog,
    FieldId,
    IntegrationId,
    RecipientField,
    RecipientSchema,
    find_columns,
)
from recipient_fields.domain.conditions import InvalidCondition, parse_condition
from recipient_fields.domain.content import InvalidContent, parse_content
from recipient_fields.domain.content.resolution import EMAIL_KEY
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportOptions,
    NameState,
    NotExpressible,
    check_condition_for,
    compile_condition,
    export_content,
)
from recipient_fields.domain.esp.derived_codes import has_safe_form
from recipient_fields.domain.integrations import (
    FieldCodes,
    IntegrationRequired,
    NamesQuery,
    SetName,
)
from recipient_fields.domain.integrations.selection import CatalogRequired, SelectedNames
from recipient_fields.domain.integrations.setting import set_names

from . import specification
from .catalogs import NAMES, ORGANIZATION, Organization, organizations, reports
from .specification import has_form

EXAMPLES = int(os.environ.get("RECIPIENT_FIELDS_GENERATED_EXAMPLES", settings().max_examples))
THOROUGHLY = settings(max_examples=EXAMPLES)
BRIEFLY = settings(THOROUGHLY, max_examples=max(EXAMPLES // 4, 1))
"""For properties that run exports: these take more time than the names."""


def targets(organization):
    """Return each integration and one other ESP, each with its ESP and its integration."""
    integrations = [(each.id, each.esp, each) for each in organization.integrations.values()]
    return [*integrations, (organization.other_esp, organization.other_esp, None)]


def summary(name):
    if name is None:
        return None
    counterpart_id = None if name.counterpart is None else name.counterpart.id
    return name.name, name.standard, name.name_from.value, name.state.value, counterpart_id


@THOROUGHLY
@given(organizations())
def test_each_field_has_the_specified_name_at_each_target(organization):
    names, fields = organization.names, organization.fields
    for target, esp, integration in targets(organization):
        for field in fields:
            expected = specification.esp_name(field, esp, integration, fields)
            assert summary(names.find(field, target)) == expected


@THOROUGHLY
@given(organizations())
def test_each_key_has_the_specified_codes_at_each_target(organization):
    codes, fields = FieldCodes(organization.names), organization.fields
    for target, esp, integration in targets(organization):
        for key in {*organization.theme.keys, *(field.key for field in fields)}:
            code = codes.find(key, target)
            expected = specification.find_field(key, fields)
            assert (code and code.field) == expected
            if code is not None:
                found = code.insertion_code, code.value_expression
                assert found == specification.code(expected, esp, integration, fields)
                assert (code.insertion_code is None) is (code.insertion_refusal is not None)
                assert (code.value_expression is None) is (code.expression_refusal is not None)


def keys_of(organization):
    return sorted({*organization.theme.keys, *(field.key for field in organization.fields)})


def target_of(organization, integration, esp):
    """Return the argument for a target, or None if the ESP alone would mean an integration."""
    if integration is not None:
        return integration.id
    return None if esp in {each.esp for each in organization.integrations.values()} else esp


def exported(codes, key, target, form=""):
    """Return the content with a reference to the key, or None if it can't be exported.

    A name that the last sync did not find is permitted.
    """
    content = parse_content(f"{{{{recipient.{key}{form}}}}}")
    try:
        return export_content(content, codes, target, ExportOptions(strict=False)).content
    except InvalidContent:
        return None


def compiled(codes, key, target):
    """Return the code of a condition on the key, "refused", or None if the key is unknown."""
    condition = parse_condition(f'{key} = "x"')
    try:
        check_condition_for(condition, codes, target)
        code = compile_condition(condition, codes, target, then="A", strict=False)
    except InvalidCondition:
        return None
    except NotExpressible:
        return "refused"
    return f"{code.prelude or ''}{code.code}"


@BRIEFLY
@given(organizations())
def test_content_and_conditions_have_the_codes_of_each_key(organization):
    fields = organization.fields
    codes = FieldCodes(organization.names)
    for _, esp, integration in targets(organization):
        target = target_of(organization, integration, esp)
        if target is None:
            continue
        for key in keys_of(organization):
            field = specification.find_field(key, fields)
            content, condition = exported(codes, key, target), compiled(codes, key, target)
            inserted_expression = exported(codes, key, target, " | expression")
            if field is None:
                assert content is None or key == EMAIL_KEY  # the ESP's own field
                assert condition is None
                continue
            insertion_code, expression = specification.code(field, esp, integration, fields)
            assert (content is None) is (insertion_code is None)
            if content is not None:
                without_guard = "".join(content.replace("|default_if_none:''", "").split())
                assert without_guard.endswith("".join(insertion_code.split()))
            assert (inserted_expression is None) is (expression is None)
            assert expression is None or inserted_expression.endswith(expression)
            if expression is None:
                assert condition == "refused"
            elif condition != "refused":
                assert expression in condition


@BRIEFLY
@given(organizations())
def test_lists_have_the_fields_of_keys_names_and_esp_names(organization):
    names, fields = organization.names, organization.fields
    integrations = organization.integrations.values()
    standing = {
        counterpart: field
        for field in sorted(fields, key=lambda each: each.id, reverse=True)
        for counterpart in specification.counterparts(field, integrations, fields).values()
    }
    by_id = {field.id: field for field in fields}
    assert {names.by_key[key].id for key in names.definitions} == standing.keys()
    for counterpart_id in standing:
        definition = names.by_key[names.definitions[by_id[counterpart_id].key]]
        served = specification.counterparts(definition, integrations, fields).values()
        assert counterpart_id in served
    found = find_columns(keys_of(organization), fields, names.definitions)
    for key in keys_of(organization):
        if key in names.by_key:
            assert found[key] == [key]
    for integration in integrations:
        by_name = names.keys_by_name(integration.id)
        assert by_name == specification.keys_by_name(integration, fields, names.definitions)
    schema = RecipientSchema.of(fields, definitions=names.definitions)
    for key, definition_key in names.definitions.items():
        values = {definition_key: "x", key: "y"}
        rules = [each.rule.value for each in schema.check(values, suggest=False).violations]
        assert rules == ["duplicate_item"]


@BRIEFLY
@given(organizations(), st.data())
def test_no_sync_makes_a_content_or_a_list_fail_unless_the_esp_lost_the_field(organization, data):
    before = FieldCodes(organization.names)
    worked = {
        (key, target): code
        for _, esp, integration in targets(organization)
        if (target := target_of(organization, integration, esp)) is not None
        for key in keys_of(organization)
        if (code := before.find(key, target)) is not None
        if exported(before, key, target) is not None
    }
    defined = [each for each in organization.fields if each.origin.integration_id is None]
    titles = [title for each in defined for title in (each.key, each.name)]
    matched = find_columns(titles, before.names.fields, before.names.definitions)
    integration_id = data.draw(st.sampled_from(sorted(organization.integrations)))
    plan = organization.sync(integration_id, *data.draw(reports(organization.theme)))
    lost = {field.id for field in plan.removed}
    set_names = {each.name for each in organization.integrations[integration_id].names.values()}
    forms_lost = {each.origin.esp_field_name for each in plan.removed} & set_names
    after = FieldCodes(organization.names)
    for (key, target), code in worked.items():
        assert code is not None
        used = {code.field.id, code.counterpart and code.counterpart.id}
        if lost.isdisjoint(used) and not (code.esp_name and code.esp_name.name in forms_lost):
            assert exported(after, key, target) is not None
    now = find_columns(titles, after.names.fields, after.names.definitions)
    assert now == matched


@THOROUGHLY
@given(organizations(), st.data())
def test_no_sync_makes_a_key_fail_unless_the_esp_lost_the_field(organization, data):
    before = FieldCodes(organization.names)
    worked = {
        (key, target): code
        for target, _, _ in targets(organization)
        for key in {*organization.theme.keys, *(field.key for field in organization.fields)}
        if (code := before.find(key, target)) is not None and code.insertion_code is not None
    }
    integration_id = data.draw(st.sampled_from(sorted(organization.integrations)))
    plan = organization.sync(integration_id, *data.draw(reports(organization.theme)))
    lost = {field.id for field in plan.removed}
    set_names = {each.name for each in organization.integrations[integration_id].names.values()}
    forms_lost = {each.origin.esp_field_name for each in plan.removed} & set_names
    after = FieldCodes(organization.names)
    for (key, target), code in worked.items():
        counterpart = code.esp_name and code.esp_name.counterpart
        if not lost.isdisjoint({code.field.id, counterpart and counterpart.id}):
            continue
        # Without its synced field, a name that is set can have another form: that of the key.
        if code.esp_name and code.esp_name.name in forms_lost:
            continue
        now = after.find(key, target)
        assert now is not None
        assert now.insertion_code is not None


def shown_name(name):
    return None if name is None else (name.name, name.standard, name.state.value)


@THOROUGHLY
@given(organizations(), st.data())
def test_a_sync_plans_each_change_of_a_name_or_a_state(organization, data):
    integration_id = data.draw(st.sampled_from(sorted(organization.integrations)))
    plan = organization.plan(integration_id, *data.draw(reports(organization.theme)))

    def shown():
        fields = organization.fields
        return {
            (field.id, each.id): found and (found[0], found[1], found[3])
            for each in organization.integrations.values()
            for field in fields
            for found in [specification.esp_name(field, each.esp, each, fields)]
        }

    before = shown()
    organization.store(plan)
    after = shown()
    by_id = {field.id: field for field in organization.fields}
    expected = {
        (by_id[field_id].key, each): (before.get((field_id, each)), name)
        for (field_id, each), name in after.items()
        if (field_id, each) in before
        or (by_id[field_id].origin.integration_id == each and name[2] == "ambiguous")
        if before.get((field_id, each)) != name
    }
    planned = {
        (each.field.key, each.field.integration.id): tuple(
            shown_name(named and named.esp_name) for named in (each.before, each.after)
        )
        for each in plan.name_changes
    }
    assert planned == expected


@THOROUGHLY
@given(organizations(), st.data())
def test_a_sync_links_the_new_fields_for_which_others_stand(organization, data):
    integration_id = data.draw(st.sampled_from(sorted(organization.integrations)))
    plan = organization.store(
        organization.plan(integration_id, *data.draw(reports(organization.theme)))
    )
    standing = {
        (names.definition_of(field).key, field.key)
        for names in [organization.names]
        for field in names.fields
        if field.key in {each.key for each in plan.created}
        if names.definition_of(field) is not None
    }
    assert {(each.definition.key, each.counterpart.key) for each in plan.links} == standing
    alone = [each.key for each in plan.standalone]
    assert sorted([*alone, *(key for _, key in standing)]) == sorted(e.key for e in plan.created)


@THOROUGHLY
@given(organizations(), st.data(), st.randoms(use_true_random=False))
def test_the_order_of_the_report_does_not_matter(organization, data, random):
    """Also of names that differ only in case."""
    integration_id = data.draw(st.sampled_from(sorted(organization.integrations)))
    report = data.draw(reports(organization.theme))
    shuffled = random.sample(report, len(report))
    plan = organization.plan(integration_id, *report)
    other = organization.plan(integration_id, *shuffled)
    assert (other.changes, other.name_changes) == (plan.changes, plan.name_changes)
    assert (other.digest, other.links) == (plan.digest, plan.links)
    assert set(other.refused) == set(plan.refused)


@THOROUGHLY
@given(organizations(Esp("mailchimp")), st.data())
def test_all_proposed_names_can_be_set_at_once(organization, data):
    for key in ("loyalty_tier_of_last_year", "loyalty_tier_of_this_year", "loyalty_tiers"):
        organization.define(key)
    integration_id = data.draw(st.sampled_from(sorted(organization.integrations)))
    integration = organization.integrations[integration_id]
    codes = {
        field.key: FieldCodes(organization.names).get(field, integration_id)
        for field in organization.fields
    }
    proposed = {key: code.proposal for key, code in codes.items() if code.proposal is not None}
    for key, code in codes.items():
        has_no_name = code.esp_name is None and code.name_from is None
        assert (key in proposed) or not has_no_name
        if key in proposed:
            assert (proposed[key].integration_id, proposed[key].key) == (integration_id, key)
            assert has_no_name or proposed[key].name in code.similar_names
    changes = {key: SetName(each.name) for key, each in proposed.items()}
    changed = set_names(integration, organization.fields, changes)
    organization.integrations[integration_id] = changed
    after = FieldCodes(organization.names)
    for field in organization.fields:
        if field.key in proposed:
            code = after.get(field, integration_id)
            assert code.value_expression is not None
            assert not field.insertable or exported(after, field.key, integration_id) is not None
        elif field.origin.integration_id is None:  # no definition loses its name
            before = codes[field.key]
            assert after.get(field, integration_id).esp_name == before.esp_name


@THOROUGHLY
@given(organizations())
def test_the_similar_names_are_those_that_the_last_sync_found(organization):
    names, fields = organization.names, organization.fields
    integrations = organization.integrations.values()
    for target, esp, integration in targets(organization):
        for field in fields:
            expected = specification.similar_names(field, esp, integration, fields, integrations)
            name = names.find(field, target)
            if name is None or name.state is NameState.FOUND:
                continue
            assert names.find_similar(field, target) == tuple(sorted(expected))


@THOROUGHLY
@given(organizations())
def test_each_field_stands_for_the_specified_counterparts(organization):
    names, integrations = organization.names, organization.integrations.values()
    definitions: dict[FieldId, list[RecipientField]] = {}
    for field in sorted(organization.fields, key=lambda each: each.id):
        expected = specification.counterparts(field, integrations, organization.fields)
        found = names.counterparts(field)
        assert {place: each.id for place, each in found.items()} == expected
        for counterpart in found.values():
            definitions.setdefault(counterpart.id, []).append(field)
    for field in organization.fields:
        standing = definitions.get(field.id, [])
        standing.sort(key=lambda each: each.key != specification.key_of(field))
        assert names.definition_of(field) == (standing[0] if standing else None)
        assert not (standing and names.counterparts(field))


@given(st.sampled_from(BUILT_IN.esps), st.sampled_from(NAMES), st.booleans())
def test_a_name_has_a_safe_form_if_its_codes_can_be_derived(esp, name, standard):
    assert has_safe_form(BUILT_IN[esp], name, standard=standard) is has_form(esp, name, standard)


@THOROUGHLY
@given(organizations())
def test_a_part_of_the_catalog_gives_the_same_codes_or_requires_the_whole(organization):
    whole = FieldCodes(organization.names)
    for field in organization.fields:
        for target, _, _ in targets(organization):
            for query in (
                NamesQuery(keys=[field.key], targets=[target]),
                NamesQuery(field_ids=[field.id]),
            ):
                codes = FieldCodes(select(organization, query))
                with suppress(CatalogRequired, IntegrationRequired):
                    meant = codes.names.resolve_target(target)
                    assert codes.get(field, meant) == whole.get(field, meant)


@BRIEFLY
@given(organizations(), st.data())
def test_content_is_exported_from_a_part_of_the_catalog_or_from_the_whole(organization, data):
    keys = [*organization.theme.keys, EMAIL_KEY]
    used = data.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=3))
    content = parse_content(" ".join(f"{{{{recipient.{key}}}}}" for key in used))
    whole = FieldCodes(organization.names)
    for target, _, _ in targets(organization):
        query = NamesQuery(keys=content.keys(), targets=[target])
        with suppress(CatalogRequired):
            codes = FieldCodes(select(organization, query))
            assert outcome(export_content, content, codes, target) == outcome(
                export_content, content, whole, target
            )


def test_only_what_is_wrong_requires_the_whole_catalog():
    organization = Organization("braze", "mailchimp", keys=["tier", "level"])
    organization.sync(IntegrationId(1), "Tier", "Size")
    content = parse_content("{{recipient.tier}} {{recipient.email}} {{recipient.size}}")
    for target in (Esp("braze"), IntegrationId(1), IntegrationId(2), Esp("klaviyo")):
        query = NamesQuery(keys=content.keys(), targets=[target])
        assert export_content(content, FieldCodes(select(organization, query)), target).content
    unknown = parse_content("{{recipient.tire}}")
    query = NamesQuery(keys=unknown.keys(), targets=[Esp("braze")])
    with pytest.raises(CatalogRequired):
        export_content(unknown, FieldCodes(select(organization, query)), Esp("braze"))


def select(organization, query):
    catalog = Catalog(ORGANIZATION, 1, organization.fields)
    selected, integrations = query.select(catalog, organization.integrations.values())
    return SelectedNames(query, selected.fields, integrations)


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except (InvalidContent, IntegrationRequired) as error:
        return type(error), str(error)
