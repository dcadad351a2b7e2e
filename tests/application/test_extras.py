"""What an import of something optional tells where it fails."""

from __future__ import annotations

import pytest

from recipient_fields.application import MissingExtra
from recipient_fields.application.extras import brought_by


def test_the_error_for_a_missing_module_names_its_extra() -> None:
    with (
        pytest.raises(MissingExtra) as told,
        brought_by("postgres", "psycopg", "no_such_module"),
    ):
        exec("import no_such_module")

    assert str(told.value) == (
        "The module no_such_module is missing. Install recipient-fields[postgres]."
    )
    assert told.value.name == "no_such_module"


@pytest.mark.parametrize(
    "defect",
    [
        "import recipient_fields.adapters.postgress",
        "import psycopg.no_such_module",
        "from psycopg import no_such_name",
        "import another_package_that_is_not_installed",
    ],
)
def test_an_import_that_fails_for_another_reason_is_no_missing_extra(defect: str) -> None:
    with (
        pytest.raises(ImportError) as told,
        brought_by("postgres", "psycopg", "psycopg_pool"),
    ):
        exec(defect)

    assert not isinstance(told.value, MissingExtra)
