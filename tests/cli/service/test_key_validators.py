"""`serve --keys` selects a key validator, or reports on one line why it can't."""

from __future__ import annotations

import pytest

SERVE = ("serve", "--listen", "192.0.2.1:0")
"""The address belongs to no machine: the command fails there if it has accepted the options."""
ISSUER = "introspection+https://issuer.example/introspect"
CREDENTIALS = {
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_ID": "fields",
    "RECIPIENT_FIELDS_INTROSPECTION_CLIENT_SECRET": "s3cret",
}


@pytest.mark.parametrize(
    ("url", "message"),
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
def test_an_invalid_url_is_reported_on_one_line(cli, file, url, message):
    failure = cli(*SERVE, "--keys", url, **CREDENTIALS).failure()

    assert failure.startswith(message)
    assert "s3cret" not in failure
    assert not file.exists()


def test_missing_credentials_are_named_in_the_error(cli):
    assert cli(*SERVE, RECIPIENT_FIELDS_KEYS=ISSUER).failure() == (
        "To introspect tokens, set RECIPIENT_FIELDS_INTROSPECTION_CLIENT_ID,"
        " RECIPIENT_FIELDS_INTROSPECTION_CLIENT_SECRET;"
        " or set only RECIPIENT_FIELDS_INTROSPECTION_TOKEN."
    )


@pytest.mark.parametrize("url", [ISSUER, "nosuch:"])
def test_a_demonstration_requires_stored_keys(cli, file, url):
    message = cli(*SERVE, "--demo", "--keys", url, **CREDENTIALS).usage_error()

    assert message == "--demo creates an API key in the storage: use --keys stored:"
    assert not file.exists()
