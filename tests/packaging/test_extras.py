"""What is told where a module is missing that an extra brings."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

from recipient_fields.domain import RecipientFieldsError
from recipient_fields.entrypoints.composition import open_storage

from .distributions import ROOT

BROUGHT = {
    ("client", "urllib3"): "import recipient_fields.adapters.client",
    ("cli", "click"): "import recipient_fields.entrypoints.cli",
    ("cli", "setproctitle"): "import recipient_fields.entrypoints.cli",
    ("esp", "urllib3"): "import recipient_fields.adapters.esp",
    ("http", "falcon"): "import recipient_fields.entrypoints.http",
    ("http", "prometheus_client"): "import recipient_fields.entrypoints.http.metrics",
    ("http", "structlog"): (
        "import recipient_fields.entrypoints.server.log as logs; logs.readable_lines(colors=False)"
    ),
    ("http", "waitress"): "import recipient_fields.entrypoints.server.server",
    ("introspection", "urllib3"): "import recipient_fields.adapters.introspection",
    ("postgres", "psycopg"): "import recipient_fields.adapters.postgres",
    ("postgres", "psycopg_pool"): "import recipient_fields.adapters.postgres",
    ("testing", "hypothesis"): "import recipient_fields.testing",
    ("testing", "pytest"): "import recipient_fields.testing",
}
"""What an extra brings, and what of ours can't be done without it."""

FILES_ALONE = {("docs", "swagger_ui_py")}
"""What is never imported: its static files are served where they are found."""


def declared() -> Iterator[tuple[str, str]]:
    """The extras that bring something themselves, each with the module of what it brings."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    for name in extras.keys() - {"all", "dev"}:
        for requirement in extras[name]:
            distribution = re.split(r"[\[>=<]", requirement)[0]
            if distribution != "recipient-fields":
                yield name, distribution.replace("-", "_")


def test_whatever_an_extra_brings_is_asked_for_by_name() -> None:
    assert set(declared()) - FILES_ALONE == BROUGHT.keys()


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
def test_an_import_tells_the_extra_and_the_module_that_it_misses(name: str, module: str) -> None:
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


def test_a_storage_that_misses_its_extra_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if ".adapters.postgres" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(RecipientFieldsError, match=r"Install recipient-fields\[postgres\]"):
        open_storage("postgresql://localhost/fields")
