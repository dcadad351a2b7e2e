"""Use cases read what is asked: their cost does not grow with the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from attrs import evolve

from recipient_fields.adapters.row_mapping import stored_field
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import Core
from recipient_fields.domain import (
    DataType,
    FieldDraft,
    FieldId,
    FieldKey,
    IntegrationId,
    OrganizationId,
)
from recipient_fields.domain.conditions import parse_condition
from recipient_fields.domain.content import InvalidContent, parse_content
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField

from ..support.growth import count_calls

KEYS = [f"size_{number}" for number in range(20)]
OURS, MAIN, OTHER = OrganizationId(1), IntegrationId(1), IntegrationId(2)


@pytest.fixture(params=[100, 400])
def core(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Core]:
    """Create an organization with this number of synced fields, and 20 of the API."""
    with closing(SqliteStorage(tmp_path / "fields.db")) as storage:
        core = Core.over(storage)
        fill(core, request.param)
        yield core


def fill(core: Core, synced: int) -> None:
    core.administration.create_organization("Ours")
    fields = evolve(core.fields, limit=1_000)
    for key in KEYS:
        fields.create_field(OURS, FieldDraft(name=key, key=key, data_type=DataType.TEXT))
    for esp in (Esp("klaviyo"), Esp("braze")):
        core.integrations.create_integration(OURS, esp=esp, name=esp)
    for integration_id in (MAIN, OTHER):
        names = [f"Size {number}" for number in range(synced)]
        reported = [EspField(name=name, data_type=DataType.TEXT) for name in names]
        core.integrations.sync_fields(OURS, integration_id, reported)


def test_an_export_reads_the_fields_that_its_keys_mean(core):
    content = parse_content(" ".join(f"{{{{recipient.{key}}}}}" for key in KEYS))
    for target in (MAIN, Esp("klaviyo")):
        export = partial(core.content.export_content, OURS, content, target)
        assert count_calls(stored_field, export) == 2 * len(KEYS)


def test_the_codes_of_a_field_read_it_and_its_counterparts(core):
    for reference in (FieldKey("size_3"), FieldId(4)):
        list_codes = partial(core.content.list_codes, OURS, reference)
        assert count_calls(stored_field, list_codes) == 3


def test_a_condition_reads_the_fields_that_its_keys_mean(core):
    condition = parse_condition('size_1 = "L" or size_2 = "L"')
    compile_for = partial(core.content.compile_condition, OURS, condition, MAIN, then="a")
    assert count_calls(stored_field, compile_for) == 4


def test_a_suggestion_reads_the_whole_catalog(core):
    content = parse_content("{{recipient.siz_1}}")
    with pytest.raises(InvalidContent) as caught:
        core.content.export_content(OURS, content, MAIN)
    [violation] = caught.value.violations
    assert violation.suggestion == "size_1"
