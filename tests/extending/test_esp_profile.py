"""A package of others adds the profile of an ESP, and a service without the package says so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest
from attrs import evolve, frozen

from recipient_fields.adapters.client import RecipientFieldsClient
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.domain import API, DataType, FieldDraft, FieldId, OrganizationId
from recipient_fields.domain.conditions import parse_condition
from recipient_fields.domain.content import InvalidContent, parse_content
from recipient_fields.domain.esp import (
    BUILT_IN,
    ExportedContent,
    MissingProfile,
    Profile,
    Profiles,
    export_content,
)
from recipient_fields.domain.esp.profiles.profile import FilterLanguage
from recipient_fields.domain.integrations import EspField, FieldCodes, Integration, SetName
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.http.openapi.document import document

from ..adapters.client.live_server import NO_RETRIES, Keyring, live_server
from ..console.conftest import open_console
from ..http.conftest import Clock
from ..support.command_line import CommandLine
from .conftest import ROOT, Installation

EXAMPLE = ROOT / "docs" / "examples" / "acme-profile"
TENANT = ("--organization", "1")
CONTENT = parse_content("Dear {{recipient.tier}}")
NATIVE = parse_content("{{ reader.tier }}")
TIER = FieldDraft(name="Tier", key="tier", data_type=DataType.TEXT)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
REPORTED = [EspField(name="tier", data_type=DataType.TEXT)]
MISSING = (
    "The profile of the ESP acme is not installed. Install the package that has the entry point"
    " `acme` in the group `recipient_fields.esp_profile`."
)


@pytest.fixture
def acme_mail(monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Return the profile of the example."""
    monkeypatch.syspath_prepend(EXAMPLE)
    profile: Profile = import_module("recipient_fields_acme").PROFILE
    return profile


@frozen
class Account:
    """A service with the profile, and an organization with a field and two integrations."""

    core: Core
    organization: OrganizationId
    acme: Integration
    braze: Integration

    def without_profile(self) -> Core:
        """Return the services over the same storage without the package."""
        return Core.over(self.core.storage)


@pytest.fixture
def account(acme_mail: Profile) -> Account:
    core = Core.over(MemoryStorage(), profiles=Profiles(lambda: (*BUILT_IN, acme_mail)))
    organization = core.administration.create_organization("Bakery").id
    core.fields.create_field(organization, TIER)
    created = [
        core.integrations.create_integration(organization, esp=esp, name=esp)
        for esp in ("acme", "braze")
    ]
    for each in created:
        core.integrations.sync_fields(organization, each.id, REPORTED)
    acme, braze = core.integrations.list_integrations(organization)
    return Account(core, organization, acme, braze)


@pytest.fixture
def client(account: Account) -> Iterator[RecipientFieldsClient]:
    keys = Keyring(account.core.storage)
    with (
        live_server(create_app(account.core)) as url,
        RecipientFieldsClient(url, keys=keys, retry_policy=NO_RETRIES) as client,
    ):
        yield client


def test_a_client_has_the_codes_and_exports_and_conditions_of_the_esp(
    account: Account, client: RecipientFieldsClient
) -> None:
    organization = account.organization
    exported = client.export_content(organization, CONTENT, "acme")
    assert exported.content == "Dear {{ reader.tier }}"
    gold = parse_condition('tier = "gold"')
    esp, code = client.compile_condition(organization, gold, "acme", then="A")
    assert (esp, code.code) == ("acme", '{% if reader.tier == "gold" %}A{% endif %}')
    codes = client.list_codes(organization, "tier")
    assert [each.esp for each in codes[:2]] == ["acme", "braze"]
    assert codes[0].insertion_code == "{{ reader.tier }}"
    assert [each.esp for each in client.list_integrations(organization)] == ["acme", "braze"]


def test_content_is_checked_for_code_of_the_esp(account: Account) -> None:
    content, organization = account.core.content, account.organization
    assert content.export_content(organization, NATIVE, "acme").warnings == ()
    with pytest.raises(InvalidContent, match="`reader`, which is code of Acme Mail"):
        content.export_content(organization, NATIVE, "braze")
    with pytest.raises(InvalidContent, match="This is code of Acme Mail"):
        content.check_content(organization, NATIVE)


@pytest.mark.parametrize("reference", ["recipient.tier | upper", "link.unsubscribe"])
def test_what_a_profile_leaves_out_is_refused(acme_mail: Profile, reference: str) -> None:
    profile = evolve(acme_mail, filters=FilterLanguage(forms={}), system_codes={})
    codes = FieldCodes.of(
        [TIER.define(by=API, at=NOON).with_id(FieldId(1), OrganizationId(1))],
        (),
        Profiles(lambda: [profile]),
    )
    with pytest.raises(InvalidContent, match="No source establishes"):
        export_content(parse_content(f"{{{{{reference}}}}}"), codes, "acme")


def test_the_openapi_document_lists_the_esp(account: Account) -> None:
    described = document(create_app(account.core).routes, account.core.profiles)
    assert described["components"]["schemas"]["Esp"]["enum"] == [*BUILT_IN.esps, "acme"]


def test_the_console_offers_the_esp(acme_mail: Profile) -> None:
    profiles = Profiles(lambda: (*BUILT_IN, acme_mail))
    console = open_console(Clock(), profiles=profiles)
    page = console.signed_in().get("/console/o/1/settings/integrations/new")
    assert "Acme Mail" in page.text
    console.core.storage.close()


def test_an_integration_without_its_profile_is_read_renamed_and_deleted(account: Account) -> None:
    core, organization, acme = account.without_profile(), account.organization, account.acme
    assert core.integrations.list_integrations(organization) == (acme, account.braze)
    renamed = core.integrations.rename_integration(organization, acme.id, "News")
    assert core.integrations.get_integration(organization, acme.id) == renamed
    assert len(core.integrations.delete_integration(organization, acme.id)) == 1
    assert core.integrations.list_integrations(organization) == (account.braze,)


@pytest.mark.parametrize(
    "call",
    [
        lambda core, to: core.content.export_content(to.organization_id, CONTENT, to.id),
        lambda core, to: core.content.compile_condition(
            to.organization_id, parse_condition("tier is set"), to.id, then="A"
        ),
        lambda core, to: core.content.list_merge_tags(to.organization_id, to.id),
        lambda core, to: core.integrations.sync_fields(to.organization_id, to.id, REPORTED),
        lambda core, to: core.integrations.set_names(
            to.organization_id, to.id, {"tier": SetName("t")}
        ),
    ],
    ids=["export", "condition", "merge tags", "sync", "names"],
)
def test_what_needs_the_missing_profile_says_which_package_is_missing(
    account: Account, call: Callable[[Core, Integration], object]
) -> None:
    with pytest.raises(MissingProfile) as missing:
        call(account.without_profile(), account.acme)
    assert str(missing.value) == MISSING


def test_a_missing_profile_changes_nothing_at_other_integrations(account: Account) -> None:
    core, organization = account.without_profile(), account.organization
    exports = core.content.export_for_integrations(
        organization, CONTENT, [account.acme.id, account.braze.id]
    )
    missing, exported = exports
    assert isinstance(missing.outcome, MissingProfile)
    assert isinstance(exported.outcome, ExportedContent)
    codes = core.content.list_codes(organization, "tier").codes
    assert account.acme.id not in {each.integration_id for each in codes}
    assert codes[0].integration_id == account.braze.id


def test_a_client_raises_the_error_of_a_missing_profile(account: Account) -> None:
    keys = Keyring(account.core.storage)
    with (
        live_server(create_app(account.without_profile())) as url,
        RecipientFieldsClient(url, keys=keys, retry_policy=NO_RETRIES) as client,
        pytest.raises(MissingProfile) as missing,
    ):
        client.export_content(account.organization, CONTENT, account.acme.id)
    assert str(missing.value) == MISSING


def test_the_console_shows_and_deletes_an_integration_without_its_profile(
    account: Account,
) -> None:
    console = open_console(Clock(), storage=account.core.storage)
    browser = console.signed_in(organization_id=account.organization)
    path = f"/console/o/{account.organization}/settings/integrations"
    page = browser.get(f"{path}/{account.acme.id}")
    assert "The profile of the ESP acme is not installed." in page.text
    assert browser.get(f"{path}/{account.acme.id}/names").status == 409
    fields = f"/console/o/{account.organization}/fields"
    for other in (path, f"{path}/{account.acme.id}/removed", fields):
        assert browser.get(other).status == 200
    browser.submit(browser.get(f"{path}/{account.acme.id}/delete"), {})
    assert account.core.integrations.list_integrations(account.organization) == (account.braze,)


def package(folder: Path, name: str, code: str, entry: str) -> None:
    """Write an installed distribution with one module, and an entry point for a profile."""
    (folder / f"{name}.py").write_text(dedent(code))
    information = folder / f"{name}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        f"[recipient_fields.esp_profile]\n{entry} = {name}:PROFILE\n"
    )


SAME = "from recipient_fields_acme import PROFILE\n"


@pytest.mark.usefixtures("acme_mail")
@pytest.mark.parametrize(
    ("packages", "message"),
    [
        (
            [("one", SAME, "acme"), ("two", SAME, "acme")],
            "The packages one and two have a profile of acme. Uninstall one.",
        ),
        (
            [("one", SAME, "braze")],
            "The packages recipient-fields and one have a profile of braze. Uninstall one.",
        ),
        (
            [("one", SAME, "other")],
            "The entry point other of the package one must have the name of its profile: acme.",
        ),
        ([("one", "", "acme")], "The entry point acme of the package one can't be loaded: "),
        (
            [("one", "PROFILE = 5", "acme")],
            "The entry point acme of the package one is no Profile.",
        ),
    ],
)
def test_a_service_does_not_start_with_a_package_that_can_not_be_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    packages: list[tuple[str, str, str]],
    message: str,
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for each in packages:
        package(tmp_path, *each)
        monkeypatch.delitem(sys.modules, each[0], raising=False)
    cli = CommandLine(f"sqlite:{tmp_path / 'fields.db'}")
    assert cli("serve", "--listen", "192.0.2.1:0").failure().startswith(message)
    assert cli("esp", "list").failure().startswith(message)


@pytest.mark.slow
def test_an_installed_package_adds_an_esp_to_the_command_line(
    install: Callable[[Path], Installation], tmp_path: Path
) -> None:
    package, storage = install(EXAMPLE), f"sqlite:{tmp_path / 'fields.db'}"
    script = "import sys; from recipient_fields.entrypoints.cli import main; sys.exit(main())"

    def run(*arguments: str, given: str = "") -> str:
        command = (sys.executable, "-c", script, "--storage", storage, *arguments)
        result = package.run(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return result.stdout

    (tmp_path / "content.txt").write_text("Dear {{recipient.tier}}")
    assert "acme            Acme Mail" in run("esp", "list")
    run("organizations", "create", "Bakery")
    run("fields", "create", *TENANT, "--name", "Tier", "--data-type", "text")
    run("integrations", "create", *TENANT, "--esp", "acme", "--name", "News")
    exported = run("content", "export", *TENANT, "--esp", "acme", "content.txt")
    assert exported == "Dear {{ reader.tier }}"
    assert '"acme"' in run("openapi")
