"""Storages and key validators of other distributions, found by their entry points."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from ..support.command_line import CommandLine, Script

LIST = ("organizations", "list", "--json")
SERVE = ("serve", "--listen", "192.0.2.1:0")
"""The address belongs to no machine: the command fails there if it has accepted the options."""


@pytest.fixture
def distribution(tmp_path: Path) -> Path:
    """Return a folder with an installed distribution that has storages and key validators."""
    (tmp_path / "cloud.py").write_text(
        dedent("""
            from datetime import UTC, datetime

            from recipient_fields.adapters.memory import MemoryStorage
            from recipient_fields.domain import KeyValidationUnavailable, StorageUnavailable


            def open_memory(url):
                storage = MemoryStorage()
                storage.organizations.add(url, datetime.now(UTC))
                return storage


            def open_unavailable(url):
                raise StorageUnavailable("The cloud is unavailable.")


            def open_unavailable_validator(url):
                raise KeyValidationUnavailable("The key validator is unavailable.")
        """)
    )
    information = tmp_path / "cloud-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: cloud\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        dedent("""
            [recipient_fields.storage]
            cloud = cloud:open_memory
            unavailable = cloud:open_unavailable
            incomplete = cloud:no_such_function
            missing = no_such_module:open
            memory = cloud:open_unavailable

            [recipient_fields.key_validator]
            unavailable = cloud:open_unavailable_validator
            incomplete = cloud:no_such_function
            stored = cloud:open_unavailable_validator
        """)
    )
    return tmp_path


@pytest.fixture
def _installed(distribution: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the distribution in this process."""
    monkeypatch.syspath_prepend(distribution)


def test_an_installed_adapter_opens_the_urls_of_its_scheme(
    distribution: Path, script: Script
) -> None:
    run = script(
        *("--storage", "cloud:region/fields?replicas=2", *LIST),
        environment={"PYTHONPATH": str(distribution)},
    )

    organization = {"id": 1, "name": "cloud:region/fields?replicas=2"}
    assert run.document() == {"organizations": [organization]}


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("--storage", "incomplete:", *LIST), "The adapter of incomplete: can't be loaded: "),
        (("--storage", "missing:", *LIST), "The adapter of missing: can't be loaded: "),
        (("--storage", "unavailable:", *LIST), "The cloud is unavailable."),
        ((*SERVE, "--keys", "incomplete:"), "The adapter of incomplete: can't be loaded: "),
        ((*SERVE, "--keys", "unavailable:"), "The key validator is unavailable."),
    ],
)
def test_an_adapter_that_can_not_be_used_is_reported_on_one_line(
    cli: CommandLine, command: tuple[str, ...], message: str
) -> None:
    assert cli(*command).failure().startswith(message)


@pytest.mark.usefixtures("_installed")
def test_a_distribution_can_not_replace_a_built_in_adapter(cli: CommandLine) -> None:
    assert cli("--storage", "memory:", *LIST).document() == {"organizations": []}
    assert cli(*SERVE, "--keys", "stored:").failure().startswith("Can't listen on 192.0.2.1:0")
