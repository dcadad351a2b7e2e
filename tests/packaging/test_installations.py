"""Installations with pip in empty environments, for each extra."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..docs.blocks import blocks_of
from ..support.postgres import new_database
from ..support.service import Client
from .distributions import ROOT
from .environments import TIMEOUT, Environment

pytestmark = pytest.mark.slow

CORE = (
    *(
        "domain",
        "domain.conditions",
        "domain.content",
        "domain.esp",
        "domain.integrations",
        "application",
    ),
    *("adapters.memory", "adapters.sqlite"),
)
NEEDS = {
    "adapters.client": "client",
    "adapters.esp": "esp",
    "adapters.introspection": "introspection",
    "adapters.passwords": "console",
    "adapters.postgres": "postgres",
    "entrypoints.cli": "cli",
    "entrypoints.http": "http",
    "entrypoints.service.composition": "http",
    "entrypoints.service.hosting": "http",
    "entrypoints.wsgi": "http",
    "testing": "testing",
}
"""The importable modules that require an extra, with the extra."""


@pytest.fixture(scope="module")
def new_environment(
    tmp_path_factory: pytest.TempPathFactory, wheel: Path
) -> Callable[[str], Environment]:
    """Return a function that creates an environment with the wheel and the extras."""

    def make(extras: str = "") -> Environment:
        environment = Environment.create(tmp_path_factory.mktemp("environments") / "venv")
        environment.install(f"{wheel}{extras}")
        return environment

    return make


@pytest.fixture(scope="module")
def bare(new_environment: Callable[[str], Environment]) -> Environment:
    return new_environment("")


@pytest.fixture(scope="module")
def serving(new_environment: Callable[[str], Environment]) -> Environment:
    return new_environment("[http,cli]")


@pytest.fixture(scope="module")
def in_production(new_environment: Callable[[str], Environment]) -> Environment:
    return new_environment("[cli,postgres]")


def output(run: subprocess.CompletedProcess[str]) -> str:
    """Return the standard output of a process, which must have succeeded."""
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def command(environment: Environment, storage: str, *arguments: str) -> str:
    """Run `recipient-fields` in the environment and return its output."""
    script = environment.script("recipient-fields")
    return output(environment.run(script, *arguments, RECIPIENT_FIELDS_STORAGE=storage))


def new_key(environment: Environment, storage: str) -> str:
    command(environment, storage, "organizations", "create", "Acme")
    return command(environment, storage, "keys", "create", "--organization", "1", "--name", "Test")


def test_the_core_installs_attrs_cattrs_and_what_cattrs_requires(bare: Environment) -> None:
    assert bare.installed() == {"attrs", "cattrs", "recipient-fields", "typing_extensions"}


def test_the_installed_package_is_imported(bare: Environment) -> None:
    found = output(bare.python("import recipient_fields.domain as d; print(d.__file__)"))

    assert Path(found).is_relative_to(bare.folder)


def test_the_embedding_example_runs_with_only_the_core(bare: Environment) -> None:
    example, *_ = blocks_of("embedding.md", (ROOT / "docs/embedding.md").read_text("utf-8"))

    assert example.shows is not None
    assert output(bare.python(example.text)) == example.shows.text.strip()


def test_the_first_names_require_no_extra(bare: Environment) -> None:
    assert output(bare.python("from recipient_fields import *; print(__version__)"))


@pytest.mark.parametrize("module", CORE)
def test_the_domain_imports_only_attrs_and_the_core_also_cattrs(
    bare: Environment, module: str
) -> None:
    cattrs = set() if module.startswith("domain") else {"cattrs", "typing_extensions"}
    program = f"""if True:
        import sys
        before = {{*sys.modules}}
        from recipient_fields.{module} import *
        new = {{name.partition(".")[0] for name in sys.modules.keys() - before}}
        print(*sorted(new - sys.stdlib_module_names))
    """

    imported = output(bare.python(program)).split()
    assert (
        {"attrs", "recipient_fields"}
        <= {*imported}
        <= {"attr", "attrs", "recipient_fields", *cattrs}
    )


def test_the_sqlite_storage_finds_its_migrations(bare: Environment) -> None:
    program = "from recipient_fields.adapters.sqlite import SqliteStorage as S; S('f.db').check()"

    assert output(bare.python(program)) == ""


@pytest.mark.parametrize("module", NEEDS)
def test_a_failed_import_names_the_missing_extra(bare: Environment, module: str) -> None:
    program = (
        f"try:\n    import recipient_fields.{module}\n"
        "except ModuleNotFoundError as error:\n    print(error, error.name)"
    )

    message = output(bare.python(program))
    name = message.rpartition(" ")[2]
    assert message == (
        f"The module {name} is missing. Install recipient-fields[{NEEDS[module]}]. {name}"
    )


def test_the_command_reports_its_missing_extra_in_one_line(bare: Environment) -> None:
    run = bare.run(bare.script("recipient-fields"), "--help")

    assert (run.returncode, run.stdout) == (1, "")
    (line,) = run.stderr.splitlines()
    assert line == "Error: The module click is missing. Install recipient-fields[cli]."


@pytest.fixture
def service(serving: Environment) -> Iterator[str]:
    """Run a service with a SQLite file in the environment, and return its URL."""
    process = subprocess.Popen(
        [serving.script("recipient-fields"), "serve", "--listen", "127.0.0.1:0"],
        cwd=serving.workplace,
        env=serving.variables(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process:
        try:
            yield next(
                found[0]
                for line in process.stderr
                if (found := re.search(r"http://127\.0\.0\.1:\d+", line))
            )
        finally:
            process.terminate()
            process.communicate(timeout=TIMEOUT)


def test_the_installed_service_responds(serving: Environment, service: str) -> None:
    key = new_key(serving, "sqlite:recipient-fields.db")

    assert Client(service)("GET", "/healthz").status == 200
    assert Client(service, key).fields() == []


def test_the_installed_service_serves_the_api_reference(service: str) -> None:
    assert Client(service)("GET", "/docs/swagger-ui-bundle.js").status == 200


def test_the_demonstration_of_the_readme_works_as_printed(serving: Environment) -> None:
    with serving.demonstration() as lines:
        commands = [line for line in lines if line.startswith("curl ")]
        responses = [output(serving.run("bash", "-c", each)) for each in commands]
        (link,) = re.findall(r"http://\S+/console/links/\S+", "".join(lines))
        page = output(serving.run("curl", "-s", "-i", link))

    assert responses[0].startswith("Hello {{${first_name} | default: 'there'}},\n")
    assert [response.split()[1] for response in responses[1:]] == ["201", "403"]
    assert page.split()[1] == "200"
    assert "Sign in" in page


def test_the_command_reports_the_missing_extra_of_a_storage_in_one_line(
    serving: Environment,
) -> None:
    script = serving.script("recipient-fields")

    run = serving.run(script, "--storage", "postgresql://localhost/x", "migrate")

    assert (run.returncode, run.stdout) == (1, "")
    (line,) = run.stderr.splitlines()
    assert line == "Error: The module psycopg is missing. Install recipient-fields[postgres]."


def test_migrations_run_with_the_installed_package(
    in_production: Environment, server_url: str
) -> None:
    with new_database(server_url) as url:
        command(in_production, url, "migrate")
        key = new_key(in_production, url)

        assert key.startswith("rfk_")
