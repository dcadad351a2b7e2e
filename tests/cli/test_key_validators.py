"""`serve --keys`: which validator, and what is told where it can't be had."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from ..support.command_line import CommandLine

SERVE = ("serve", "--listen", "192.0.2.1:0")
"""Where nobody can listen: what is not refused before fails there, instead of serving."""
ISSUER = "introspection+https://issuer.example/introspect"
CREDENTIALS = {
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_ID": "fields",
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_SECRET": "s3cret",
}


@pytest.fixture
def _distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that brings validators which can't be had."""
    (tmp_path / "gatekeepers.py").write_text(
        dedent("""
            from recipient_fields.domain import KeyValidationUnavailable


            def doze(url):
                raise KeyValidationUnavailable("The gatekeeper sleeps.")
        """)
    )
    information = tmp_path / "gatekeepers-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: gatekeepers\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        dedent("""
            [recipient_fields.key_validator]
            asleep = gatekeepers:doze
            torn = gatekeepers:wake
            gone = no_such_module_of_ours:open
            stored = gatekeepers:doze
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nosuch:somewhere", "There is no key validator nosuch:. Use stored: or"),
        ("https://user:s3cret@issuer.example", "There is no key validator https:. Use"),
        ("two\nlines:", "There is no key validator two lines:."),
        ("STORED:", "There is no key validator STORED:."),
        ("memory", "Use stored: or introspection+https://… as the key validator."),
        ("stored:s3cret", "Use stored: or introspection+https://… as the key validator."),
        ("introspection+http://issuer.example/", "Invalid introspection URL: use one like"),
        (
            f"{ISSUER}?secret=s3cret",
            "The URL has an unknown setting. The settings are access_claim,",
        ),
    ],
)
def test_a_url_that_names_no_validator_is_one_clear_line(
    cli: CommandLine, file: Path, url: str, told: str
) -> None:
    failure = cli(*SERVE, "--keys", url, **CREDENTIALS).failure()

    assert failure.startswith(told)
    assert "s3cret" not in failure
    assert not file.exists()


def test_missing_credentials_are_one_clear_line_that_names_them(cli: CommandLine) -> None:
    assert cli(*SERVE, RECIPIENT_FIELDS_KEYS=ISSUER).failure() == (
        "To introspect tokens, set RECIPIENT_FIELDS_INTROSPECTION_CLIENT_ID,"
        " RECIPIENT_FIELDS_INTROSPECTION_CLIENT_SECRET;"
        " or set only RECIPIENT_FIELDS_INTROSPECTION_TOKEN."
    )


@pytest.mark.usefixtures("_distribution")
@pytest.mark.parametrize("scheme", ["torn", "gone"])
def test_an_adapter_that_can_not_be_loaded_is_one_clear_line(cli: CommandLine, scheme: str) -> None:
    told = cli(*SERVE, "--keys", f"{scheme}:").failure()

    assert told.startswith(f"The adapter of {scheme}: can't be loaded: ")


@pytest.mark.usefixtures("_distribution")
def test_an_adapter_that_is_unavailable_says_why(cli: CommandLine) -> None:
    assert cli(*SERVE, "--keys", "asleep:").failure() == "The gatekeeper sleeps."


@pytest.mark.usefixtures("_distribution")
def test_no_distribution_takes_the_place_of_the_stored_keys(cli: CommandLine) -> None:
    told = cli(*SERVE, "--keys", "stored:").failure()

    assert told.startswith("Can't listen on 192.0.2.1:0")


@pytest.mark.parametrize("url", [ISSUER, "nosuch:"])
def test_a_demonstration_is_for_stored_keys(cli: CommandLine, file: Path, url: str) -> None:
    wrong = cli(*SERVE, "--demo", "--keys", url, **CREDENTIALS).misuse()

    assert wrong == "--demo creates an API key in the storage: use --keys stored:"
    assert not file.exists()
