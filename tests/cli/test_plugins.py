"""Storages that other distributions bring, by the entry-point group `recipient_fields.storage`."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from ..support.command_line import CommandLine, Script

LIST = ("organizations", "list", "--json")


@pytest.fixture
def distribution(tmp_path: Path) -> Path:
    """The folder of a distribution that is installed nowhere but there."""
    (tmp_path / "clouds.py").write_text(
        dedent("""
            from datetime import UTC, datetime

            from recipient_fields.adapters.memory import MemoryStorage
            from recipient_fields.domain import StorageUnavailable


            def condense(url):
                storage = MemoryStorage()
                storage.organizations.add(url, datetime.now(UTC))
                return storage


            def evaporate(url):
                raise StorageUnavailable("The sky is clear.")
        """)
    )
    information = tmp_path / "clouds-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: clouds\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        dedent("""
            [recipient_fields.storage]
            cloud = clouds:condense
            clear = clouds:evaporate
            torn = clouds:rain
            gone = no_such_module_of_ours:open
            memory = clouds:evaporate
        """)
    )
    return tmp_path


def test_an_installed_adapter_opens_the_urls_of_its_scheme(
    distribution: Path, script: Script
) -> None:
    run = script(
        *("--storage", "cloud:over/there?at=noon", *LIST),
        environment={"PYTHONPATH": str(distribution)},
    )

    organization = {"id": 1, "name": "cloud:over/there?at=noon"}
    assert run.document() == {"organizations": [organization]}


def test_the_same_scheme_is_unknown_where_the_adapter_is_not_installed(cli: CommandLine) -> None:
    assert cli("--storage", "cloud:", *LIST).failure().startswith("There is no storage cloud:.")


@pytest.mark.parametrize("scheme", ["torn", "gone"])
def test_an_adapter_that_can_not_be_loaded_is_one_clear_line(
    distribution: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.syspath_prepend(distribution)

    told = cli("--storage", f"{scheme}:", *LIST).failure()

    assert told.startswith(f"The adapter of {scheme}: can't be loaded: ")


def test_an_adapter_that_is_unavailable_says_why(
    distribution: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(distribution)

    assert cli("--storage", "clear:", *LIST).failure() == "The sky is clear."


def test_no_distribution_takes_the_place_of_a_storage_of_ours(
    distribution: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(distribution)

    assert cli("--storage", "memory:", *LIST).document() == {"organizations": []}
