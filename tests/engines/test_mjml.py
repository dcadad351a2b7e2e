"""MJML compiles exported files, and keeps the code in them.

npm installs mjml, whose version is in `tests/engines/mjml/package.json`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from pathlib import Path

import pytest

from recipient_fields.domain.content import (
    InvalidContent,
    WarningCode,
    parse_content,
    preview_content,
)
from recipient_fields.domain.esp import Esp, ExportOptions, export_content

from ..support.node import NODE, install_packages
from .generation import Form, esp_name, stored, synced_codes, synced_fields
from .rendering import EVERY_ENGINE, render

HERE = Path(__file__).parent / "mjml"

FILE = """<mjml>
<mj-head><mj-title>Hi {{recipient.tier}}</mj-title></mj-head>
<mj-body>
{{#if recipient.tier = "gold"}}
<mj-section>{{#if recipient.visits > 1}}<mj-column>
  {{#if recipient.visits > 3}}<mj-text>Often {{recipient.tier | default: "x"}}</mj-text>{{else}}
  <mj-button href="https://x.example/?t={{recipient.tier}}">Seldom</mj-button>{{/if}}
</mj-column>{{/if}}<mj-column><mj-text>Gold</mj-text></mj-column></mj-section>
{{else if recipient.tier = "silver"}}
<mj-wrapper>{{#if recipient.vip}}<mj-section><mj-group>
  {{#if recipient.visits > 1}}<mj-column><mj-text>Silver</mj-text></mj-column>{{/if}}
  <mj-column><mj-text>Very important</mj-text></mj-column>
</mj-group></mj-section>{{/if}}</mj-wrapper>
{{else}}
<mj-hero>{{#if recipient.visits > 1}}<mj-text>Other</mj-text>{{/if}}</mj-hero>
{{/if}}
<mj-section><mj-column>
  <mj-social>{{#if recipient.vip}}<mj-social-element href="/">Club</mj-social-element>{{/if}}
  </mj-social>
  <mj-navbar>{{#if recipient.vip}}<mj-navbar-link href="/">Lounge</mj-navbar-link>{{/if}}
  </mj-navbar>
  <mj-accordion>{{#if recipient.vip}}<mj-accordion-element><mj-accordion-title>Perks
  </mj-accordion-title></mj-accordion-element>{{/if}}</mj-accordion>
  <mj-table><tr>{{#if recipient.vip}}<td>Cell</td>{{/if}}</tr></mj-table>
  <mj-image alt="{{recipient.tier}}" src="x.png" />
</mj-column></mj-section>
</mj-body></mjml>"""
RECIPIENTS: Sequence[Mapping[str, object]] = (
    {"tier": "gold", "visits": 5, "vip": True},
    {"tier": "gold", "visits": 2, "vip": False},
    {"tier": "gold", "visits": 1, "vip": True},
    {"tier": "silver", "visits": 2, "vip": True},
    {"tier": "silver", "visits": 1, "vip": True},
    {"tier": "silver", "visits": 1, "vip": False},
    {"tier": "bronze", "visits": 2, "vip": False},
    {"visits": 1, "vip": True},
)
WORDS = re.compile(
    r"(Hi\b *\w*|Often \w+|Seldom|Gold|Silver|Very important|Other|Club|Lounge|Perks|Cell"
    r"|alt=\"[^\"]*\")"
)


@pytest.fixture(scope="module")
def compile_files() -> Iterator[Callable[..., list[str]]]:
    """Return a function that compiles files in MJML, in one process for all tests."""
    packages = install_packages(HERE, "mjml")
    with subprocess.Popen(
        [NODE, HERE / "compile.cjs"],
        env={"NODE_PATH": str(packages)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:

        def compile_files(*files: str) -> list[str]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{json.dumps(files)}\n")
            process.stdin.flush()
            compiled: list[str] = json.loads(process.stdout.readline())
            return compiled

        yield compile_files


@EVERY_ENGINE
def test_the_compiled_file_shows_what_the_compiled_preview_shows(compile_files, esp, engine):
    content = parse_content(FILE)
    exported = export_content(content, synced_codes(esp), esp)
    assert WarningCode.LOST_IN_MJML not in {each.code for each in exported.warnings}
    previews = [preview_content(content, synced_fields(esp), each).content for each in RECIPIENTS]
    template, *expected = compile_files(exported.content, *previews)
    if esp == Esp("activecampaign"):  # No source establishes how it reads the percent signs of CSS.
        template = re.sub(r"(\d)%", r"\1px", template)
    for recipient, preview in zip(RECIPIENTS, expected, strict=True):
        values = stored(esp, recipient, Form.TYPED)
        shown = render(
            esp, template, {esp_name(esp, key): each for key, each in values.items()}, engine
        )
        found, wanted = (
            [each.strip() for each in WORDS.findall(unescape(text))] for text in (shown, preview)
        )
        assert found == wanted, (recipient, template)


def test_a_part_that_a_file_includes_keeps_its_code(compile_files):
    source = """{{#if recipient.tier = "gold"}}<mj-section><mj-column>
<mj-text>{{recipient.tier}}</mj-text></mj-column></mj-section>{{/if}}"""
    part = export_content(parse_content(source), synced_codes(Esp("sfmc")), Esp("sfmc"))
    (template,) = compile_files(f"<mjml><mj-body>{part.content}</mj-body></mjml>")
    for tier, shown in (("gold", True), ("silver", False)):
        text = render(Esp("sfmc"), template, {esp_name(Esp("sfmc"), "tier"): tier})
        assert (">gold<" in text) is shown


@pytest.mark.parametrize(
    "place",
    [
        "<mjml><mj-head>{}</mj-head><mj-body></mj-body></mjml>",
        "<mjml><mj-head><mj-attributes>{}</mj-attributes></mj-head><mj-body></mj-body></mjml>",
        "<mjml>{}<mj-body></mj-body></mjml>",
        "{}<mjml><mj-body></mj-body></mjml>",
        "<mjml><mj-body></mj-body></mjml>{}",
        "<mjml><mj-body {}></mj-body></mjml>",
    ],
)
@pytest.mark.parametrize(
    "code", ["{{#if recipient.vip}} {{/if}}", "{% if x %}", "{{recipient.tier}}"]
)
def test_code_that_mjml_drops_is_a_mistake(compile_files, place, code):
    source = place.format(code)
    with pytest.raises(InvalidContent) as raised:
        export_content(parse_content(source), synced_codes(Esp("braze")), Esp("braze"))
    assert "MJML drops this code" in str(raised.value)
    options = ExportOptions(strict=False)
    exported = export_content(
        parse_content(source), synced_codes(Esp("braze")), Esp("braze"), options
    )
    if "<mj-body {" not in place:  # MJML can't read this file.
        (compiled,) = compile_files(exported.content)
        assert not re.search(r"\{[{%]", compiled)


@pytest.mark.parametrize(
    ("esp", "quote", "other"),
    [(Esp("sendgrid"), '"', "single"), (Esp("activecampaign"), "'", "double")],
)
def test_code_with_the_quotes_of_its_attribute_is_a_mistake(esp, quote, other):
    """MJML reads attributes before the ESP reads the code in them."""
    reference = "{{recipient.tier | default: 'x'}}"
    source = f"<mjml><mj-body><mj-hero background-url={quote}{reference}{quote} /></mj-body></mjml>"
    with pytest.raises(InvalidContent, match=f"Write the attribute in {other} quotes"):
        export_content(parse_content(source), synced_codes(esp), esp)


def test_code_of_the_esp_in_a_part_that_a_file_includes_is_a_mistake():
    with pytest.raises(InvalidContent, match="column 26: MJML drops this code"):
        export_content(
            parse_content("<mj-section></mj-section>{% if x %}"),
            synced_codes(Esp("braze")),
            Esp("braze"),
        )
