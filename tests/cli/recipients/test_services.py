"""Commands for recipients do the same with `--url` as with a storage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recipient_fields.adapters.client import RecipientFieldsClient
from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    FieldKey,
    OrganizationId,
)
from recipient_fields.domain.integrations import RefusedField, SetName

from ...adapters.client.live_server import Keyring, application, live_server
from ...support.fields import add_field
from ...support.integrations import add_integration

KLAVIYO, MAILCHIMP = 1, 2
PATHS = ["/api/v1/recipient_fields?limit=1", "/api/v1/recipient_fields", "/api/v1/integrations"]

LIST = "loyalty_tier,Shop,Age\ngold,3,30\n"
"""The key and the name of definitions."""
EXPORTED = "Loyalty Tier,Preferred shop,Age\ngold,A,30\n"
"""The names at Klaviyo."""
AUDIENCE = "TIER,STORE,Age\ngold,A,30\n"
"""The names at Mailchimp."""
COUNTERPART = "loyalty_tier,loyalty_tier_1\ngold,gold\n"
"""Two columns for one field."""


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    """Create definitions with counterparts at Klaviyo, and set their names at Mailchimp."""
    add_field(core, acme, "Loyalty tier")
    add_field(core, acme, "Preferred shop", ADMINISTRATOR)
    add_field(core, acme, "Old")
    fields = ("Loyalty Tier", "Preferred shop", "City", RefusedField("Size", "It has no type."))
    add_integration(core, acme, "klaviyo", "klaviyo", *fields)
    mailchimp = add_integration(core, acme, "mailchimp", "mailchimp")
    names = {"loyalty_tier": "TIER", "preferred_shop": "STORE", "old": "AGE"}
    set_names = {key: SetName(name) for key, name in names.items()}
    core.integrations.set_names(acme, mailchimp.id, set_names)
    core.fields.delete_field(acme, FieldKey("old"))


@pytest.fixture
def requests() -> list[str]:
    return []


@pytest.fixture
def url(core: Core, requests: list[str]) -> Iterator[str]:
    app = application(core.storage, core.fields)

    def recording(environ, start_response):
        query = environ["QUERY_STRING"]
        requests.append(environ["PATH_INFO"] + (f"?{query}" if query else ""))
        return app(environ, start_response)

    with live_server(recording) as url:
        yield url


@pytest.mark.parametrize(
    "arguments",
    [
        ("schema",),
        ("types", "--language", "python"),
        *(
            (command, content, *options)
            for command in ("check", "infer")
            for content in (LIST, EXPORTED, AUDIENCE, COUNTERPART)
            for options in ((), ("--integration", KLAVIYO), ("--integration", MAILCHIMP))
        ),
        ("check", LIST, "--integration", 99),
    ],
)
def test_the_output_is_that_for_the_storage(cli, core, acme, url, requests, tmp_path, arguments):
    path = tmp_path / "list.csv"
    command, *others = arguments
    if others and command in {"check", "infer"}:
        path.write_text(str(others[0]))
        others[0] = str(path)
    key = Keyring(core.storage)[acme]
    remote = cli("recipients", command, *others, "--url", url, RECIPIENT_FIELDS_API_KEY=key)
    stored = cli("recipients", command, *others, "--organization", acme)
    assert (remote.status, remote.out, remote.err) == (stored.status, stored.out, stored.err)
    assert requests == PATHS


def test_a_service_of_an_earlier_version_is_refused(cli, core, acme, tmp_path):
    app = application(core.storage, core.fields)

    def without_integrations(environ, start_response):
        if environ["PATH_INFO"].endswith("/integrations"):
            environ["PATH_INFO"] = "/api/v1/unknown"
        return app(environ, start_response)

    path = tmp_path / "list.csv"
    path.write_text(LIST)
    with live_server(without_integrations) as url:
        key = Keyring(core.storage)[acme]
        run = cli("recipients", "check", path, "--url", url, RECIPIENT_FIELDS_API_KEY=key)
    assert run.failure() == (
        "The service at --url does not list integrations: it is of an earlier version. Upgrade it,"
        " or use --storage and --organization."
    )


def test_the_lists_are_accepted(cli, acme, tmp_path):
    """So that the test above does not compare errors only."""
    path = tmp_path / "list.csv"
    for content, integration in ((EXPORTED, KLAVIYO), (AUDIENCE, MAILCHIMP)):
        path.write_text(content)
        checked = cli(
            *("recipients", "check", path, "--organization", acme, "--additional"),
            *("--integration", integration),
        )
        assert checked.status == 0, checked.err


def test_a_client_has_the_integrations_of_the_storage(core, acme, url):
    with RecipientFieldsClient(url, keys=Keyring(core.storage)) as client:
        assert client.list_integrations(acme) == core.integrations.list_integrations(acme)
