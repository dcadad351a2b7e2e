"""Storages of other distributions, in the entry-point group `recipient_fields.storage`."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from ..support.command_line import CommandLine, Script

LIST = ("organizations", "list", "--json")


@pytest.fixture
def distribution(tmp_path: Path) -> Path:
    """Create a folder in which a distribution is installed, and return it."""
    (tmp_path / "cloud_storage.py").write_text(
        dedent("""
            from datetime import UTC, datetime

            from recipient_fields.adapters.memory import MemoryStorage
            from recipient_fields.domain import StorageUnavailable


            def open_memory(url):
                storage = MemoryStorage()
                storage.organizations.add(url, datetime.now(UTC))
                return storage


            def open_unavailable(url):
                raise StorageUnavailable("The cloud is unavailable.")
        """)
    )
    information = tmp_path / "cloud_storage-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: cloud_storage\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(
        dedent("""
            [recipient_fields.storage]
            cloud = cloud_storage:open_memory
            unavailable = cloud_storage:open_unavailable
            incomplete = cloud_storage:no_such_function
            missing = no_such_module:open
            memory = cloud_storage:open_unavailable
        """)
    )
    return tmp_path


def test_an_installed_adapter_opens_the_urls_of_its_scheme(
    distribution: Path, script: Script
) -> None:
    run = script(
        *("--storage", "cloud:region/fields?replicas=2", *LIST),
        environment={"PYTHONPATH": str(distribution)},
    )

    organization = {"id": 1, "name": "cloud:region/fields?replicas=2"}
    assert run.document() == {"organizations": [organization]}


def test_the_scheme_is_unknown_if_the_adapter_is_not_installed(cli: CommandLine) -> None:
    assert cli("--storage", "cloud:", *LIST).failure().startswith("There is no storage cloud:.")


@pytest.mark.parametrize("scheme", ["incomplete", "missing"])
def test_an_adapter_that_can_not_be_loaded_is_reported_on_one_line(
    distribution: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.syspath_prepend(distribution)

    message = cli("--storage", f"{scheme}:", *LIST).failure()

    assert message.startswith(f"The adapter of {scheme}: can't be loaded: ")


def test_the_error_of_an_unavailable_adapter_is_reported(
    distribution: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(distribution)

    assert cli("--storage", "unavailable:", *LIST).failure() == "The cloud is unavailable."


def test_a_distribution_can_not_replace_a_built_in_storage(
    distribution: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(distribution)

    assert cli("--storage", "memory:", *LIST).document() == {"organizations": []}
