"""The composition root: which validator a URL and an environment open."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from recipient_fields.adapters.introspection import IntrospectionKeyValidator, Issuer, bearer
from recipient_fields.adapters.introspection.environment import InvalidIntrospectionUrl
from recipient_fields.application import MissingExtra, StoredKeyValidator
from recipient_fields.application.environment import MissingCredentials, UnusableCredentials
from recipient_fields.domain import Credential
from recipient_fields.entrypoints.composition import open_core
from recipient_fields.entrypoints.selection import UnknownKeyValidator, open_key_validator

from ...support.http_server import Stage
from .issuers import CLAIMS, CLIENT, SECRET, TOKEN, Tokens

PAGE = (Path(__file__).parents[3] / "docs" / "key-validators.md").read_text("utf-8")
PREFIX = "RECIPIENT_FIELDS_INTROSPECTION_"
ENVIRONMENT = {f"{PREFIX}CLIENT_ID": CLIENT, f"{PREFIX}CLIENT_SECRET": SECRET}
SETTINGS = (
    *("access_claim", "audience", "cache_seconds", "cache_tokens", "issuer", "key_id_claim"),
    *("organization_claim", "read_scope", "timeout", "write_scope"),
)


def opened(issuer: Stage, query: str = "") -> IntrospectionKeyValidator:
    url = f"introspection+{issuer.url}/introspect{query}"
    validator = open_key_validator(url, ENVIRONMENT)
    assert isinstance(validator, IntrospectionKeyValidator)
    return validator


@pytest.fixture
def many_settings() -> str:
    return (
        "?organization_claim=https%3A%2F%2Fa.example%2Forg&access_claim=permissions"
        "&read_scope=r&write_scope=w&key_id_claim=jti&audience=fields+here"
        "&issuer=https://a.example&timeout=1.5&cache_seconds=60&cache_tokens=1"
    )


def test_a_url_and_an_environment_open_the_validator(issuer: Stage) -> None:
    with closing(opened(issuer)) as validator:
        assert isinstance(validator.validate(TOKEN), Credential)


def test_the_query_holds_settings_that_the_issuer_is_not_sent(
    issuer: Stage, tokens: Tokens, many_settings: str
) -> None:
    claims = {"https://a.example/org": 7, "permissions": ["w"], "jti": "t-1"}
    tokens.active = {TOKEN: {**claims, "aud": "fields here", "iss": "https://a.example"}}

    with closing(opened(issuer, many_settings)) as validator:
        proven = [validator.validate(TOKEN) for _ in range(2)]

    (heard,) = issuer.heard
    assert heard.target == "/introspect"
    assert isinstance(proven[1], Credential)
    assert proven[1].key_id == "t-1"
    assert proven[0] == proven[1]


def test_every_setting_and_variable_is_documented(many_settings: str) -> None:
    for setting in SETTINGS:
        assert f"`{setting}`" in PAGE
        assert f"{setting}=" in many_settings
    for variable in ("CLIENT_ID", "CLIENT_SECRET", "TOKEN"):
        assert f"`{PREFIX}{variable}`" in PAGE


@pytest.mark.parametrize(
    ("query", "told"),
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
def test_a_setting_that_is_unknown_or_can_not_be_is_told_without_its_value(
    query: str, told: str | None
) -> None:
    url = f"introspection+https://issuer.example/introspect{query}"
    if told is None:
        assert open_key_validator(url, ENVIRONMENT) is not None
        return
    with pytest.raises(InvalidIntrospectionUrl, match=told) as error:
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
def test_an_issuer_is_asked_at_a_sound_url_that_nobody_can_listen_to(url: str) -> None:
    with pytest.raises(InvalidIntrospectionUrl, match="use one like") as error:
        open_key_validator(f"introspection+{url}", ENVIRONMENT)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("url", ["http://localhost:1/i", "http://[::1]:1/i", "https://a.example"])
def test_on_the_loopback_it_need_not_be_encrypted(url: str) -> None:
    assert open_key_validator(f"introspection+{url}", ENVIRONMENT) is not None


@pytest.mark.parametrize("url", ["stored:x", "stored", "", ":", ":x", "https", "introspection"])
def test_what_is_no_url_of_a_validator_is_told(url: str) -> None:
    with pytest.raises(UnknownKeyValidator, match="as the key validator"):
        open_key_validator(url, ENVIRONMENT)


@pytest.mark.parametrize("url", ["https://issuer.example/introspect", "introspection:x", "x:y"])
def test_an_unknown_scheme_is_told(url: str) -> None:
    with pytest.raises(UnknownKeyValidator, match=f"no key validator {url.split(':')[0]}:"):
        open_key_validator(url, ENVIRONMENT)


class TestTheCredentials:
    URL = "introspection+https://issuer.example/introspect"

    @pytest.mark.parametrize(
        ("given", "missing"),
        [
            ((), ("CLIENT_ID", "CLIENT_SECRET")),
            (("CLIENT_ID",), ("CLIENT_SECRET",)),
            (("CLIENT_SECRET",), ("CLIENT_ID",)),
        ],
    )
    def test_that_are_missing_are_named(
        self, given: tuple[str, ...], missing: tuple[str, ...]
    ) -> None:
        with pytest.raises(MissingCredentials, match="To introspect tokens, set") as error:
            open_key_validator(self.URL, {f"{PREFIX}{name}": SECRET for name in given})
        assert str(error.value).endswith(f"; or set only {PREFIX}TOKEN.")
        assert error.value.variables == tuple(f"{PREFIX}{name}" for name in missing)
        assert SECRET not in str(error.value)

    def test_can_be_a_token(self) -> None:
        assert open_key_validator(self.URL, {f"{PREFIX}TOKEN": " mF_9.B5f-4.1JqM\n"}) is not None

    def test_are_of_one_kind(self) -> None:
        with pytest.raises(UnusableCredentials, match="Set either"):
            open_key_validator(self.URL, {**ENVIRONMENT, f"{PREFIX}TOKEN": "t"})

    def test_hold_no_control_characters(self) -> None:
        with pytest.raises(UnusableCredentials, match=f"characters .* {PREFIX}CLIENT_SECRET"):
            open_key_validator(self.URL, {**ENVIRONMENT, f"{PREFIX}CLIENT_SECRET": "a\0b"})

    def test_a_token_that_can_be_none_is_told(self) -> None:
        with pytest.raises(UnusableCredentials, match="Invalid token for introspection requests"):
            open_key_validator(self.URL, {f"{PREFIX}TOKEN": "s3 cret"})

    def test_are_not_shown(self) -> None:
        issuer = Issuer(url="https://issuer.example", authorization=bearer("mF_9.B5f-4.1JqM"))
        assert "mF_9" not in f"{issuer} {issuer!r}"


@pytest.fixture
def without_urllib3(monkeypatch: pytest.MonkeyPatch) -> None:
    package = "recipient_fields.adapters.introspection"
    for name in [name for name in sys.modules if name.startswith(package)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(package)
    monkeypatch.setitem(sys.modules, "urllib3", None)


@pytest.mark.usefixtures("without_urllib3")
def test_without_its_extra_it_says_what_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"Install recipient-fields\[introspection\]"):
        open_key_validator("introspection+https://issuer.example", ENVIRONMENT)


def test_a_core_has_the_validator_that_it_is_opened_with(issuer: Stage) -> None:
    url = f"introspection+{issuer.url}/introspect"
    core = open_core("memory:", keys_url=url, environment=ENVIRONMENT)
    validator = core.validator
    assert isinstance(validator, IntrospectionKeyValidator)
    with closing(validator):
        proven = validator.validate(TOKEN)
    assert isinstance(proven, Credential)
    assert proven.organization_id == CLAIMS["organization_id"]
    assert isinstance(open_core("memory:").validator, StoredKeyValidator)
