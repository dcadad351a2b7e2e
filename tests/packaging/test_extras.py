"""The error message if the module of an extra is not installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement

from .distributions import ROOT

pytestmark = pytest.mark.slow

BROUGHT = {
    ("client", "urllib3"): "import recipient_fields.adapters.client",
    ("console", "argon2"): "import recipient_fields.adapters.passwords",
    ("console", "jinja2"): "import recipient_fields.entrypoints.console.app",
    ("console", "zxcvbn"): "import recipient_fields.adapters.passwords",
    ("secrets", "cryptography"): "import recipient_fields.adapters.secrets",
    ("cli", "click"): "import recipient_fields.entrypoints.cli",
    ("cli", "setproctitle"): "import recipient_fields.entrypoints.cli",
    ("cli", "wcwidth"): (
        "from recipient_fields.entrypoints.cli.output import table_lines;"
        " list(table_lines(['é'], []))"
    ),
    ("cli", "yaml"): "import recipient_fields.entrypoints.cli.fields.files",
    ("esp", "urllib3"): "import recipient_fields.adapters.esp",
    ("http", "falcon"): "import recipient_fields.entrypoints.http",
    ("http", "prometheus_client"): "import recipient_fields.entrypoints.http.metrics",
    ("http", "structlog"): (
        "import recipient_fields.entrypoints.service.log as log; log.text_formatter(colors=False)"
    ),
    ("http", "waitress"): "import recipient_fields.entrypoints.server.server",
    ("introspection", "urllib3"): "import recipient_fields.adapters.introspection",
    ("postgres", "psycopg"): "import recipient_fields.adapters.postgres",
    ("postgres", "psycopg_pool"): "import recipient_fields.adapters.postgres",
    ("traces", "opentelemetry.exporter.otlp.proto.http"): (
        "import recipient_fields.entrypoints.service.traces"
    ),
    ("traces", "opentelemetry.sdk"): "import recipient_fields.entrypoints.service.traces",
    ("testing", "hypothesis"): "import recipient_fields.testing",
    ("testing", "pytest"): "import recipient_fields.testing",
}
"""Each module of an extra, and a statement that requires it."""

MODULES = {
    "Jinja2": "jinja2",
    "PyYAML": "yaml",
    "argon2_cffi": "argon2",
    "opentelemetry_exporter_otlp_proto_http": "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry_sdk": "opentelemetry.sdk",
}
"""The modules of distributions that have other names."""

FILES_ALONE = {("docs", "flask_swagger_ui")}
"""Modules that are never imported: the service uses only their static files."""


def declared() -> Iterator[tuple[str, str]]:
    """Yield each extra with each module that it installs itself."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    for name in extras.keys() - {"all", "dev"}:
        for requirement in extras[name]:
            distribution = re.split(r"[\[>=<]", requirement)[0]
            if distribution != "recipient-fields":
                module = distribution.replace("-", "_")
                yield name, MODULES.get(module, module)


def test_every_module_of_an_extra_has_a_case() -> None:
    assert set(declared()) - FILES_ALONE == BROUGHT.keys()


def test_no_extra_permits_a_version_of_jinja2_with_known_vulnerabilities() -> None:
    required = [Requirement(text) for text in requires("recipient-fields") or []]
    lowest = [each for each in required if each.name == "Jinja2"]

    assert lowest
    assert not any(each.specifier.contains("3.1.5") for each in lowest)
    assert all(each.specifier.contains("3.1.6") for each in lowest)


WITHOUT_A_MODULE = """
import sys

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent)
exec(sys.argv[2])
"""


@pytest.mark.parametrize(("name", "module"), BROUGHT)
def test_a_failed_import_names_the_extra_and_the_module(name: str, module: str) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            WITHOUT_A_MODULE,
            module,
            BROUGHT[name, module],
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stderr.splitlines()[-1] == (
        "recipient_fields.application.extras.MissingExtra: "
        f"The module {module} is missing. Install recipient-fields[{name}]."
    )
