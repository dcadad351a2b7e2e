"""`open_key_validator` with settings in the URL and credentials in environment variables."""

from __future__ import annotations

from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest

from recipient_fields.adapters.introspection import IntrospectionKeyValidator, Issuer, bearer
from recipient_fields.adapters.introspection.settings import InvalidIntrospectionUrl
from recipient_fields.application import MissingExtra, StoredKeyValidator
from recipient_fields.application.environment import MissingCredentials, UnusableCredentials
from recipient_fields.domain import Credential
from recipient_fields.entrypoints.service.composition import create_service
from recipient_fields.entrypoints.service.log import BufferedHandler, json_formatter
from recipient_fields.entrypoints.service.selection import UnknownKeyValidator, open_key_validator
from recipient_fields.entrypoints.service.settings import Settings

from ...support.http_server import StubServer
from .issuers import CLAIMS, CLIENT, SECRET, TOKEN

PAGE = (Path(__file__).parents[3] / "docs" / "key-validators.md").read_text("utf-8")
PREFIX = "RECIPIENT_FIELDS_INTROSPECTION_"
ENVIRONMENT = {f"{PREFIX}CLIENT_ID": CLIENT, f"{PREFIX}CLIENT_SECRET": SECRET}
SETTINGS = (
    *("access_claim", "audience", "cache_seconds", "cache_tokens", "issuer", "key_id_claim"),
    *("organization_claim", "read_scope", "timeout", "write_scope"),
)


def open_validator(issuer: StubServer, query: str = "") -> IntrospectionKeyValidator:
    url = f"introspection+{issuer.url}/introspect{query}"
    validator = open_key_validator(url, ENVIRONMENT)
    assert isinstance(validator, IntrospectionKeyValidator)
    return validator


@pytest.fixture
def all_settings() -> str:
    return (
        "?organization_claim=https%3A%2F%2Fa.example%2Forg&access_claim=permissions"
        "&read_scope=r&write_scope=w&key_id_claim=jti&audience=fields+here"
        "&issuer=https://a.example&timeout=1.5&cache_seconds=60&cache_tokens=1"
    )


def test_the_url_and_the_environment_open_the_validator(issuer):
    with closing(open_validator(issuer)) as validator:
        assert isinstance(validator.validate(TOKEN), Credential)


def test_the_settings_in_the_query_are_not_sent_to_the_issuer(issuer, tokens, all_settings):
    claims = {"https://a.example/org": 7, "permissions": ["w"], "jti": "t-1"}
    tokens.active = {TOKEN: {**claims, "aud": "fields here", "iss": "https://a.example"}}

    with closing(open_validator(issuer, all_settings)) as validator:
        results = [validator.validate(TOKEN) for _ in range(2)]

    (request,) = issuer.requests
    assert request.target == "/introspect"
    assert isinstance(results[1], Credential)
    assert results[1].key_id == "t-1"
    assert results[0] == results[1]


def test_every_setting_and_variable_is_documented(all_settings):
    for setting in SETTINGS:
        assert f"`{setting}`" in PAGE
        assert f"{setting}=" in all_settings
    for variable in ("CLIENT_ID", "CLIENT_SECRET", "TOKEN"):
        assert f"`{PREFIX}{variable}`" in PAGE


@pytest.mark.parametrize(
    ("query", "message"),
    [
        *((f"?{name}=", f"The setting {name} is empty.") for name in SETTINGS),
        ("?client_secret=s3cret", "unknown setting"),
        ("?Audience=s3cret", "unknown setting"),
        ("?audience=s3cret&audience=s3cret", "is repeated"),
        ("?audience=s3cret%0A", "control characters"),
        ("?s3cret", "write them like"),
        ("?", None),
        ("?timeout=0", "up to 3 seconds"),
        ("?timeout=3.001", "up to 3 seconds"),
        ("?timeout=s3cret", "Invalid setting timeout: use a number"),
        ("?timeout=-1", "Invalid setting timeout: use a number"),
        ("?timeout=nan", "Invalid setting timeout: use a number"),
        ("?cache_seconds=300.5", "0 to 300 seconds"),
        ("?cache_tokens=0", "1 token or more"),
        ("?cache_tokens=1.5", "Invalid setting cache_tokens: use a whole number"),
        ("?timeout=3&cache_seconds=300&cache_tokens=999999", None),
    ],
)
def test_an_invalid_setting_is_reported_without_its_value(query, message):
    url = f"introspection+https://issuer.example/introspect{query}"
    if message is None:
        assert open_key_validator(url, ENVIRONMENT) is not None
        return
    with pytest.raises(InvalidIntrospectionUrl, match=message) as error:
        open_key_validator(url, ENVIRONMENT)
    assert "s3cret" not in str(error.value)
    assert SECRET not in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    "url",
    [
        *("http://issuer.example/introspect", "https://", "https:", "https://u:s3cret@a.example/"),
        *("https://a.example/#s3cret", "https://a.example:99999/", "https://a.example/s3cret ü"),
        *("https://[::1", "http://127.0.0.2/", "https://a.example/ s3cret", "https:a.example"),
    ],
)
def test_an_invalid_or_unencrypted_url_is_rejected(url):
    with pytest.raises(InvalidIntrospectionUrl, match="use one like") as error:
        open_key_validator(f"introspection+{url}", ENVIRONMENT)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("url", ["http://localhost:1/i", "http://[::1]:1/i", "https://a.example"])
def test_http_is_accepted_on_the_loopback(url):
    assert open_key_validator(f"introspection+{url}", ENVIRONMENT) is not None


@pytest.mark.parametrize("url", ["stored:x", "stored", "", ":", ":x", "https", "introspection"])
def test_an_invalid_key_validator_url_is_rejected(url):
    with pytest.raises(UnknownKeyValidator, match="as the key validator"):
        open_key_validator(url, ENVIRONMENT)


@pytest.mark.parametrize("url", ["https://issuer.example/introspect", "introspection:x", "x:y"])
def test_an_unknown_scheme_is_rejected(url):
    with pytest.raises(UnknownKeyValidator, match=f"no key validator {url.split(':')[0]}:"):
        open_key_validator(url, ENVIRONMENT)


class TestCredentials:
    URL = "introspection+https://issuer.example/introspect"

    @pytest.mark.parametrize(
        ("present", "missing"),
        [
            ((), ("CLIENT_ID", "CLIENT_SECRET")),
            (("CLIENT_ID",), ("CLIENT_SECRET",)),
            (("CLIENT_SECRET",), ("CLIENT_ID",)),
        ],
    )
    def test_missing_variables_are_listed(self, present, missing):
        with pytest.raises(MissingCredentials, match="To introspect tokens, set") as error:
            open_key_validator(self.URL, {f"{PREFIX}{name}": SECRET for name in present})
        assert str(error.value).endswith(f"; or set only {PREFIX}TOKEN.")
        assert error.value.variables == tuple(f"{PREFIX}{name}" for name in missing)
        assert SECRET not in str(error.value)

    def test_a_token_replaces_the_client_credentials(self) -> None:
        assert open_key_validator(self.URL, {f"{PREFIX}TOKEN": " mF_9.B5f-4.1JqM\n"}) is not None

    def test_a_token_and_client_credentials_exclude_each_other(self) -> None:
        with pytest.raises(UnusableCredentials, match="Set either"):
            open_key_validator(self.URL, {**ENVIRONMENT, f"{PREFIX}TOKEN": "t"})

    def test_control_characters_are_rejected(self) -> None:
        with pytest.raises(UnusableCredentials, match=f"characters .* {PREFIX}CLIENT_SECRET"):
            open_key_validator(self.URL, {**ENVIRONMENT, f"{PREFIX}CLIENT_SECRET": "a\0b"})

    def test_an_invalid_token_is_rejected(self) -> None:
        with pytest.raises(UnusableCredentials, match="Invalid token for introspection requests"):
            open_key_validator(self.URL, {f"{PREFIX}TOKEN": "s3 cret"})

    def test_the_repr_of_an_issuer_contains_no_credentials(self) -> None:
        issuer = Issuer(url="https://issuer.example", authorization=bearer("mF_9.B5f-4.1JqM"))
        assert "mF_9" not in f"{issuer} {issuer!r}"


@pytest.mark.usefixtures("without_urllib3")
def test_without_urllib3_the_error_names_the_extra() -> None:
    with pytest.raises(MissingExtra, match=r"Install recipient-fields\[introspection\]"):
        open_key_validator("introspection+https://issuer.example", ENVIRONMENT)


def test_the_service_validates_keys_with_the_validator_of_its_settings(issuer):
    url = f"introspection+{issuer.url}/introspect"
    log = BufferedHandler(StringIO(), json_formatter())
    service = create_service(Settings(storage="memory:", keys=url), ENVIRONMENT, log)
    validator = service.core.validator
    assert isinstance(validator, IntrospectionKeyValidator)
    with closing(validator):
        credential = validator.validate(TOKEN)
    assert isinstance(credential, Credential)
    assert credential.organization_id == CLAIMS["organization_id"]
    stored = create_service(Settings(storage="memory:"), {}, log)
    assert isinstance(stored.core.validator, StoredKeyValidator)
