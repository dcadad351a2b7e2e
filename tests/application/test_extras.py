"""Errors of imports that require an extra."""

from __future__ import annotations

import pytest

from recipient_fields.application import MissingExtra
from recipient_fields.application.extras import requires_extra


def test_the_error_for_a_missing_module_names_its_extra() -> None:
    with (
        pytest.raises(MissingExtra) as missing,
        requires_extra("postgres", "psycopg", "no_such_module"),
    ):
        exec("import no_such_module")

    assert str(missing.value) == (
        "The module no_such_module is missing. Install recipient-fields[postgres]."
    )
    assert missing.value.name == "no_such_module"


@pytest.mark.parametrize(
    "defect",
    [
        "import recipient_fields.adapters.postgress",
        "import psycopg.no_such_module",
        "from psycopg import no_such_name",
        "import another_package_that_is_not_installed",
    ],
)
def test_an_import_that_fails_for_another_reason_is_no_missing_extra(defect):
    with (
        pytest.raises(ImportError) as missing,
        requires_extra("postgres", "psycopg", "psycopg_pool"),
    ):
        exec(defect)

    assert not isinstance(missing.value, MissingExtra)
