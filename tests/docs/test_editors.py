"""The programs for email editors configure each editor in the shape that it expects.

The shapes are those in the type declarations of `@unlayer/types` 1.497.0, `@beefree.io/sdk` 11.7.0
and `grapesjs` 0.23.6, and on TinyMCE's page about merge tags.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ..support.node import NODE
from .blocks import ROOT, blocks_of

PAGE = "docs/editors.md"
TAGS, SAVE, UNLAYER, BEEFREE, GRAPESJS, TINYMCE = (
    block.text for block in blocks_of(PAGE, (ROOT / PAGE).read_text("utf-8"))
)
MAX_LINES = 15

LOYALTY = ("Loyalty tier", "{{recipient.loyalty_tier}}")
UNSUBSCRIBE = ("Unsubscribe", "{{link.unsubscribe}}")
TAG_LIST = [
    {"key": "loyalty_tier", "name": LOYALTY[0], "value": LOYALTY[1]},
    {"key": "link.unsubscribe", "name": UNSUBSCRIBE[0], "value": UNSUBSCRIBE[1]},
]


def run(program: str, folder: Path, **environment: str) -> Any:
    """Return what the program prints with `show`, as JSON."""
    path = folder / "program.mjs"
    path.write_text(program, "utf-8")
    ran = subprocess.run(
        [str(NODE), str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def configured(program: str, stubs: str, folder: Path, tags: object = TAG_LIST) -> Any:
    """Return what the program of an editor passes to it, and what it sends when it saves."""
    begin = f"const shown = {{}}; const tags = {json.dumps(tags)};"
    begin += "const send = (html) => { shown.sent = html; };"
    return run(f"{begin}\n{stubs}\n{program}\nconsole.log(JSON.stringify(shown));", folder)


@pytest.mark.parametrize("program", [TAGS, SAVE, UNLAYER, BEEFREE, GRAPESJS, TINYMCE])
def test_a_program_has_few_lines(program):
    assert len(program.splitlines()) <= MAX_LINES


@pytest.mark.slow
def test_the_server_reads_references_and_codes_and_exports_what_is_saved(
    demonstration: Mapping[str, str], tmp_path: Path
) -> None:
    show = """
        const saved = await save("<p>{{recipient.loyalty_tier}}</p>");
        const misspelled = "<p>{{recipient.loyalty_teir}}</p>";
        const failed = await save(misspelled).catch((error) => error.message);
        console.log(JSON.stringify({ references, codes, saved, failed }));
    """
    shown = run(f"{TAGS}\n{SAVE}\n{show}", tmp_path, **demonstration)
    by_key = {each["key"]: each for each in shown["references"]}
    assert by_key["loyalty_tier"] == TAG_LIST[0]
    assert by_key["link.unsubscribe"] == TAG_LIST[1]
    code = {each["key"]: each["value"] for each in shown["codes"]}["loyalty_tier"]
    assert "custom_attribute.${loyalty_tier}" in code
    assert shown["saved"] == f"<p>{code}</p>"
    assert shown["failed"] == "Line 1, column 4: There is no field with the key loyalty_teir."


def test_unlayer_has_groups_of_merge_tags(tmp_path):
    stubs = """
        const unlayer = {
          init: (configuration) => { shown.configuration = configuration; },
          exportHtml: (callback) => callback({ design: {}, html: "<p></p>" }),
        };
    """
    shown = configured(f"{UNLAYER}\nsave();", stubs, tmp_path)
    assert shown["configuration"]["mergeTags"] == {
        "fields": {
            "name": "Fields",
            "mergeTags": {"loyalty_tier": dict(zip(("name", "value"), LOYALTY, strict=True))},
        },
        "links": {
            "name": "Links",
            "mergeTags": {
                "link_unsubscribe": dict(zip(("name", "value"), UNSUBSCRIBE, strict=True))
            },
        },
    }
    assert shown["sent"] == "<p></p>"


def test_beefree_has_merge_tags_and_special_links(tmp_path):
    stubs = """
        const [token, template] = [{}, {}];
        class BeefreeSDK {
          start(configuration) {
            shown.configuration = configuration;
            configuration.onSave("{}", "<p></p>");
          }
        }
    """
    shown = configured(BEEFREE, stubs, tmp_path)
    assert shown["configuration"]["mergeTags"] == [{"name": LOYALTY[0], "value": LOYALTY[1]}]
    assert shown["configuration"]["specialLinks"] == [
        {"type": "Links", "label": UNSUBSCRIBE[0], "link": UNSUBSCRIBE[1]}
    ]
    assert shown["sent"] == "<p></p>"


def test_grapesjs_has_a_menu_that_inserts_the_value(tmp_path):
    stubs = """
        class Option { constructor(text, value) { Object.assign(this, { text, value }); } }
        const document = { createElement: () => ({
          options: [], value: "", add(option) { this.options.push(option); },
        }) };
        const editor_ = { getCss: () => "p {}", getHtml: () => "<p></p>", RichTextEditor: {
          add: (name, action) => {
            shown.options = [...action.icon.options];
            action.icon.value = action.icon.options[1].value;
            action.result({ insertHTML: (html) => { shown.inserted = html; } });
            shown.chosen = action.icon.value;
          },
        } };
        const grapesjs = { init: () => editor_ };
    """
    shown = configured(f"{GRAPESJS}\nsave();", stubs, tmp_path)
    assert [(each["text"], each["value"]) for each in shown["options"]] == [
        *(("Insert …", ""), LOYALTY, UNSUBSCRIBE)
    ]
    assert (shown["inserted"], shown["chosen"]) == (LOYALTY[1], "")
    assert shown["sent"] == "<style>p {}</style><p></p>"


@pytest.mark.parametrize(
    ("delimiters", "value"),
    [('["{{", "}}"]', LOYALTY[1]), ('["*|", "|*"]', "*|TIER|*")],
    ids=["references", "code"],
)
def test_tinymce_has_values_without_their_delimiters(tmp_path, delimiters, value):
    assert TINYMCE.count('["{{", "}}"]') == 1
    program = TINYMCE.replace('["{{", "}}"]', delimiters)
    other = {**TAG_LIST[1], "value": "{% unsubscribe_link %}"}
    stubs = """
        const tinymce = {
          init: (configuration) => { shown.configuration = configuration; },
          get: () => ({ getContent: () => "<p></p>" }),
        };
    """
    tags = [{**TAG_LIST[0], "value": value}, other]
    shown = configured(f"{program}\nsave();", stubs, tmp_path, tags)
    configuration = shown["configuration"]
    prefix, suffix = configuration["mergetags_prefix"], configuration["mergetags_suffix"]
    assert configuration["mergetags_list"] == [
        {
            "title": "Fields",
            "menu": [
                {"title": LOYALTY[0], "value": value.removeprefix(prefix).removesuffix(suffix)}
            ],
        }
    ]
    assert (value.startswith(prefix), value.endswith(suffix)) == (True, True)
    assert shown["sent"] == "<p></p>"
