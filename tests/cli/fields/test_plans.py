"""The commands `plan`, `apply` and `fields export`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import (
    API,
    Denied,
    HistoryQuery,
    Operation,
    OrganizationId,
    RecipientField,
    decide,
)
from recipient_fields.entrypoints.cli.fields import plans

from ...support.command_line import NOT_CONFIRMED, Run
from ...support.fields import add_field

CHANGES = 3
NOT_DELETED = "Not in the document: 1 API-managed field. To delete them, add --prune.\n"
DOCUMENT = """\
fields:
  loyalty_tier:
    name: Loyalty tier
    data_type: text
    allowed_values: [gold, silver]
  shoe_size: {name: Shoe size, data_type: number}
"""
CREATED = [
    "+ create loyalty_tier",
    '    name: "Loyalty tier"',
    '    data_type: "text"',
    '    allowed_values: ["gold","silver"]',
    "+ create shoe_size",
    '    name: "Shoe size"',
    '    data_type: "number"',
    "Plan: 2 to create, 0 to change, 0 to delete, 0 unchanged.",
]
CONFLICT = "Fields or names have changed since the plan. Nothing was changed. Plan again."


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "recipient-fields.yaml"
    path.write_text(DOCUMENT)
    return path


@pytest.fixture
def plan(run: Callable[..., Run], acme: OrganizationId) -> Callable[..., Run]:
    return lambda file, *arguments: run(acme, "plan", file, *arguments)


@pytest.fixture
def apply(run: Callable[..., Run], acme: OrganizationId) -> Callable[..., Run]:
    def apply(file: Path, *arguments: str, yes: bool = True, **settings: Any) -> Run:
        confirmed = ("--yes",) if yes else ()
        return run(acme, "apply", file, *confirmed, *arguments, **settings)

    return apply


@pytest.fixture
def defined(core: Core, acme: OrganizationId) -> Callable[[], dict[str, RecipientField]]:
    """Return the fields of the organization by key."""
    return lambda: {field.key: field for field in core.fields.list_fields(acme).fields}


def many(count: int) -> str:
    fields = {f"field_{n}": {"name": f"Field {n}", "data_type": "text"} for n in range(count)}
    return json.dumps({"fields": fields})


def test_plan_shows_new_fields_and_changes_nothing(plan, document, defined):
    run = plan(document)
    assert (run.status, run.out.splitlines(), run.err) == (CHANGES, CREATED, "")
    assert defined() == {}
    assert plan(document, "--exit-zero").status == 0


def test_apply_creates_the_fields_and_a_second_one_has_nothing_to_do(
    plan, apply, document, defined, core, acme
):
    run = apply(document)
    assert run.table() == CREATED
    assert run.messages() == "Applied 2 changes.\n"
    fields = defined()
    assert fields.keys() == {"loyalty_tier", "shoe_size"}
    assert {field.origin for field in fields.values()} == {API.origin()}
    [author, _] = [each.author for each in core.fields.list_changes(acme, HistoryQuery()).records]
    assert author.channel == API
    assert (author.name or "").startswith(("operator", "rfk_"))

    nothing = ["Plan: 0 to create, 0 to change, 0 to delete, 2 unchanged."]
    again = plan(document)
    assert (again.status, again.out.splitlines()) == (0, nothing)
    assert apply(document, yes=False).table() == nothing
    assert defined() == fields


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (
            "fields: {" + "a," * 2_000_000 + "}",
            "1:250007",
            "The document has more than 250,000 keys and values. Remove the rest.",
        ),
        (
            "".join(f"%TAG !a{number}! x\n" for number in range(200_000)) + "---\nfields: {}\n",
            "1:1",
            "Tags are not supported. Remove this line.",
        ),
    ],
    ids=["keys", "tags"],
)
def test_a_file_of_4_mib_that_takes_long_to_parse_is_rejected(
    plan, document, content, line, message
):
    """The parser needed 40 seconds for the keys, and minutes for the tags."""
    document.write_text(content)
    run = plan(document)
    assert run.status == 1
    assert f"{document}:{line}: {message}" in (run.out + run.err).splitlines()


def test_an_exported_document_has_no_changes(run, core, acme, plan, apply, document, tmp_path):
    apply(document)
    add_field(core, acme, "born", data_type="date")
    exported = run(acme, "fields", "export")
    assert exported.table() == [
        "fields:",
        "  born:",
        "    name: born",
        "    data_type: date",
        "  loyalty_tier:",
        "    name: Loyalty tier",
        "    data_type: text",
        "    allowed_values:",
        "    - gold",
        "    - silver",
        "  shoe_size:",
        "    name: Shoe size",
        "    data_type: number",
    ]
    assert run(acme, "fields", "export").out == exported.out
    as_json = run(acme, "fields", "export", "--json")
    for name, printed in (("fields.yaml", exported), ("fields.json", as_json)):
        (tmp_path / name).write_text(printed.out)
        assert plan(tmp_path / name, "--prune").status == 0


def test_two_storages_with_the_same_fields_export_the_same_bytes(
    run, core, acme, apply, document, tmp_path
):
    other = core.administration.create_organization("Globex").id
    for key in ("shoe_size", "loyalty_tier"):
        add_field(core, other, key)
    apply(document)
    applied = run(other, "apply", document, "--yes", "--replace", "shoe_size")
    assert (
        applied.table()[-1]
        == "Plan: 0 to create, 1 to change, 1 to replace, 0 to delete, 0 unchanged."
    )
    exports = [run(each, "fields", "export").out for each in (acme, other)]
    assert exports[0] == exports[1]


def test_plan_shows_changed_members_and_other_fields(plan, apply, core, acme, document):
    apply(document)
    add_field(core, acme, "old")
    document.write_text(
        DOCUMENT.replace("[gold, silver]", "[gold]\n    insertable: false").replace("Shoe", "Foot")
    )
    run = plan(document)
    assert run.out.splitlines() == [
        "~ change loyalty_tier",
        '    allowed_values: ["gold","silver"] → ["gold"]',
        "    insertable: true → false",
        "~ change shoe_size",
        '    name: "Shoe size" → "Foot size"',
        "Plan: 0 to create, 2 to change, 0 to delete, 1 unchanged.",
    ]
    assert run.err == NOT_DELETED


def test_apply_says_what_it_does_not_delete(apply, core, acme, document):
    add_field(core, acme, "old")
    assert apply(document).err == f"{NOT_DELETED}Applied 2 changes.\n"
    assert apply(document).err == NOT_DELETED


def test_prune_deletes_the_fields_that_are_not_in_the_document(
    plan, apply, core, acme, document, defined, manual
):
    add_field(core, acme, "old")
    pruned = apply(document, "--prune").table()
    assert pruned[-1] == "Plan: 2 to create, 0 to change, 1 to delete, 0 unchanged."
    assert "- delete old" in pruned
    assert defined().keys() == {"loyalty_tier", "shoe_size", manual.key}


def test_another_data_type_requires_an_option(plan, apply, core, acme, document, defined):
    add_field(core, acme, "shoe_size")
    refused = plan(document, "--json")
    assert refused.status == 1
    assert [step["action"] for step in json.loads(refused.out)["plan"]["steps"]] == [
        "create",
        "refused",
    ]
    assert refused.err == (
        "Error: 1 field can't be changed as the document defines. Nothing was changed.\n"
    )
    assert (
        "! refused shoe_size: The data type of a field can't be changed from text to number. The"
        " field can only be deleted and created again. To do this, add --replace shoe_size."
    ) in plan(document).out.splitlines()
    assert apply(document).status == 1
    assert defined().keys() == {"shoe_size"}

    replaced = apply(document, "--replace", "shoe_size").table()
    assert replaced[4:] == [
        "-/+ replace shoe_size",
        '    name: "shoe_size" → "Shoe size"',
        '    data_type: "text" → "number"',
        "Plan: 1 to create, 0 to change, 1 to replace, 0 to delete, 0 unchanged.",
    ]
    assert defined()["shoe_size"].data_type.value == "number"


def test_a_key_of_a_manual_field_is_refused_with_the_rule(plan, document, manual, tmp_path):
    document.write_text(f"fields:\n  {manual.key}: {{name: Shop, data_type: text}}\n")
    run = plan(document, "--out", str(tmp_path / "plan.json"))
    decision = decide(API, Operation.UPDATE, manual.origin)
    assert isinstance(decision, Denied)
    assert run.status == 1
    assert run.out.splitlines() == [
        f"! refused {manual.key}: {decision.reason}",
        "Plan: 0 to create, 0 to change, 0 to delete, 1 refused, 0 unchanged.",
    ]
    assert not (tmp_path / "plan.json").exists()


def test_replace_requires_a_key_of_the_document(plan, document):
    assert plan(document, "--replace", "shoe").usage_error() == (
        "The document has no field shoe, which --replace names."
    )
    assert "Use lower-case letters" in plan(document, "--replace", "Shoe").usage_error()


def test_a_plan_file_is_applied_exactly(plan, apply, document, tmp_path, defined):
    saved = tmp_path / "plan.json"
    assert plan(document, "--out", str(saved)).status == CHANGES
    document.unlink()
    assert apply(saved).table() == CREATED
    assert defined().keys() == {"loyalty_tier", "shoe_size"}
    assert apply(saved).failure() == CONFLICT


def test_a_plan_file_takes_no_other_options(plan, apply, document, tmp_path):
    plan(document, "--out", str(tmp_path / "plan.json"))
    assert apply(tmp_path / "plan.json", "--prune").usage_error() == (
        "A plan is applied as it is: omit --prune and --replace."
    )


def test_an_empty_plan_file_has_nothing_to_do(plan, apply, document, tmp_path):
    apply(document)
    assert plan(document, "--out", str(tmp_path / "plan.json")).status == 0
    assert apply(tmp_path / "plan.json", yes=False).table() == [
        "Plan: 0 to create, 0 to change, 0 to delete, 2 unchanged."
    ]


def test_a_plan_is_rejected_after_any_other_change(
    plan, apply, document, tmp_path, core, acme, defined, cli
):
    saved = tmp_path / "plan.json"
    assert plan(document, "--out", str(saved)).status == CHANGES
    create_manual = ("fields", "create", "--organization", acme, "--name", "City", "--yes")
    assert cli(*create_manual, "--data-type", "text").status == 0
    before = defined()
    assert apply(saved).failure() == CONFLICT
    assert defined() == before


def test_a_plan_of_another_organization_is_rejected(run, core, plan, document, tmp_path):
    saved = tmp_path / "plan.json"
    plan(document, "--out", str(saved))
    other = core.administration.create_organization("Globex").id
    assert run(other, "apply", saved, "--yes").failure() == CONFLICT
    assert core.fields.list_fields(other).fields == ()


def test_a_change_during_the_prompt_is_a_conflict(
    apply, core, acme, document, defined, monkeypatch
):
    monkeypatch.setattr(plans, "confirm", lambda _question: add_field(core, acme, "new"))
    run = apply(document, yes=False)
    assert (run.status, run.err) == (1, f"Error: {CONFLICT}\n")
    assert defined().keys() == {"new"}


def test_apply_prompts_for_confirmation(apply, document, defined):
    assert apply(document, yes=False).err == f"Error: {NOT_CONFIRMED}\n"
    declined = apply(document, yes=False, reply="n\n")
    assert declined.status == 1
    assert "Apply 2 changes? [y/N]" in declined.err
    assert defined() == {}
    assert apply(document, yes=False, reply="y\n").status == 0
    assert defined().keys() == {"loyalty_tier", "shoe_size"}


def test_the_violations_of_a_file_are_printed_with_their_places(plan, document, defined):
    document.write_text("fields:\n  tier:\n    name: 'Tier\u202e'\n    data_type: txt\n    a: 1\n")
    run = plan(document)
    assert (run.status, run.out) == (1, "")
    types = "text, number, boolean, date, datetime"
    assert run.err.splitlines() == [
        f"{document}:4:16: fields.tier.data_type: Use one of {types}. Did you mean text?",
        f"{document}:5:5: fields.tier.a: There is no such member.",
        f"Error: {document} has 2 errors.",
    ]


def test_at_most_a_hundred_violations_are_printed(plan, document):
    document.write_text(f"fields: {{{', '.join(f'f{n}: 1' for n in range(150))}}}\n")
    lines = plan(document).err.splitlines()
    assert len(lines) == 102
    assert lines[-2:] == ["… and 50 more.", f"Error: {document} has 150 errors."]


def test_a_missing_file_is_a_usage_error(plan, tmp_path):
    assert "No such file" in plan(tmp_path / "absent.yaml").usage_error()


def test_a_document_above_the_limit_of_fields_is_refused(plan, apply, document, defined):
    document.write_text(many(1_001))
    expected = (
        "The organization would have 1,001 API-managed fields, and its limit is 1,000. Remove"
        " fields from the document, or increase --field-limit. Nothing was changed."
    )
    assert plan(document).failure() == expected
    assert apply(document).failure() == expected
    assert defined() == {}


def test_a_plan_above_the_limit_of_operations_is_refused(plan, apply, document, defined):
    document.write_text(many(1_001))
    for command in (plan, apply):
        assert (
            command(document, "--field-limit", "2000")
            .failure()
            .startswith("The plan has 1,001 operations, and 1,000 can be applied together.")
        )
    assert defined() == {}


def test_a_document_above_the_limit_of_bytes_is_refused_with_the_option(
    cli, acme, document, defined
):
    values = [f"{number:03}{'x' * 240}" for number in range(250)]
    field = {"name": "Large", "data_type": "text", "allowed_values": values}
    document.write_text(json.dumps({"fields": {f"large_{n}": field for n in range(18)}}))

    run = cli("apply", document, "--organization", acme, "--yes", "--catalog-size", 1)

    assert run.status == 1
    assert run.err.endswith(
        "can't be applied. Nothing was changed. To permit more, add --catalog-size, and use the"
        " same value for `serve`.\n"
    )
    assert defined() == {}


def test_an_invalid_plan_has_one_line_per_error_with_the_name_of_the_file(apply, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text('{"operations": [{"operation": "delete"}, {"operation": "create"}, 5]}')

    run = apply(path)

    assert (run.status, run.out) == (1, "")
    *lines, error = run.err.splitlines()
    assert len(lines) > 2
    assert all(line.startswith(f"{path}: /") for line in lines)
    assert error == (
        f"Error: {path} is not a valid plan. Write it with `recipient-fields plan --out`."
    )


def test_a_thousand_fields_can_be_created_changed_and_deleted(apply, document, defined):
    document.write_text(many(1_000))
    assert apply(document).status == 0
    document.write_text(many(1_000).replace('"Field', '"Member'))
    assert apply(document).status == 0
    assert {field.name[:6] for field in defined().values()} == {"Member"}
    document.write_text("fields: {}")
    assert apply(document, "--prune").status == 0
    assert defined() == {}


@pytest.mark.parametrize(
    ("colour", "expected"), [({}, "\x1b[32m+ create"), ({"NO_COLOR": "1"}, "\n+ create")]
)
def test_a_terminal_has_colours(script, acme, document, colour, expected, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in colour.items():
        monkeypatch.setenv(name, value)
    _, shown = script.at_a_terminal("plan", str(document), "--organization", acme, reply="")
    assert expected in f"\n{shown}"


def test_the_plan_as_json_has_all_members(plan, document):
    run = plan(document, "--json")
    assert run.status == CHANGES
    created, _ = json.loads(run.out)["plan"]["steps"]
    assert created == {
        "action": "create",
        "key": "loyalty_tier",
        "before": None,
        "after": {
            "name": "Loyalty tier",
            "data_type": "text",
            "allowed_values": ["gold", "silver"],
            "insertable": True,
            "custom_insertion_code": None,
            "custom_value_expression": None,
        },
        "reason": None,
    }


def test_other_commands_do_not_import_yaml(script):
    run = script("organizations", "list", environment={"PYTHONPROFILEIMPORTTIME": "1"})
    assert "click" in run.err
    assert "yaml" not in run.err


def test_the_schema_is_printed(cli):
    run = cli("fields", "schema")
    assert json.loads(run.out)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
