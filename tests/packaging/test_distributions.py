"""The source distribution and the wheel contain the right files and metadata."""

from __future__ import annotations

import subprocess
import tomllib
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from .distributions import (
    FOLDERS,
    ROOT,
    build,
    copy_tree,
    files_in,
    files_of_sdist,
    files_of_wheel,
    sdist_in,
    wheel_in,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tree(tmp_path_factory.mktemp("clean") / "checkout")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


@pytest.fixture(scope="module")
def metadata_text(wheel: Path) -> str:
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


@pytest.fixture
def metadata(metadata_text: str) -> Message:
    return Parser().parsestr(metadata_text)


def without_metadata(files: set[str]) -> set[str]:
    return {file for file in files if ".dist-info/" not in file}


def test_the_wheel_contains_every_file_of_the_packages_and_no_other(
    wheel: Path, checkout: Path
) -> None:
    mapped = {
        f"recipient_fields/{path}{file}"
        for path, folder in FOLDERS.items()
        for file in files_in(checkout / folder)
        if not f"{path}{file}".startswith("entrypoints/library/")
    }

    assert without_metadata(files_of_wheel(wheel)) == mapped


def test_the_package_is_marked_as_typed(wheel: Path) -> None:
    assert "recipient_fields/py.typed" in files_of_wheel(wheel)


def test_the_wheel_contains_the_migrations_and_the_statements(wheel: Path) -> None:
    folders = {file.rpartition("/")[0] for file in files_of_wheel(wheel) if file.endswith(".sql")}

    assert folders == {
        "recipient_fields/adapters/postgres",
        "recipient_fields/adapters/postgres/citus",
        "recipient_fields/adapters/postgres/migrations",
        "recipient_fields/adapters/relational",
        "recipient_fields/adapters/sqlite/migrations",
    }


def test_the_wheel_contains_the_standard_metadata_files(wheel: Path) -> None:
    files = files_of_wheel(wheel)

    assert {file.partition(".dist-info/")[2] for file in files - without_metadata(files)} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
        "top_level.txt",
    }


def test_the_source_distribution_contains_everything_for_building_and_testing(
    made: Path, checkout: Path
) -> None:
    made_on_the_way = {"PKG-INFO", "setup.cfg"}
    files = {
        file
        for file in files_of_sdist(sdist_in(made)) - made_on_the_way
        if ".egg-info/" not in file
    }

    assert files == files_in(checkout) - made_on_the_way


def test_the_tree_and_the_source_distribution_build_identical_wheels(
    wheel: Path, checkout: Path
) -> None:
    again = wheel_in(build(checkout, "--wheel"))

    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_an_unpacked_source_distribution_builds_the_same_source_distribution(
    made: Path, tmp_path: Path
) -> None:
    subprocess.run(["tar", "-xf", sdist_in(made), "-C", tmp_path], check=True)
    (source,) = tmp_path.iterdir()

    again = sdist_in(build(source, "--sdist"))

    assert files_of_sdist(again) == files_of_sdist(sdist_in(made))


def test_the_metadata_is_valid(metadata_text: str) -> None:
    read = Metadata.from_email(metadata_text, validate=True)

    assert read.name == "recipient-fields"
    assert read.license_expression == "MIT"
    assert read.license_files == ["LICENSE"]


def test_the_metadata_contains_the_readme(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text("utf-8")


def test_only_attrs_and_cattrs_are_required_without_an_extra(metadata: Message) -> None:
    requirements = map(Requirement, metadata.get_all("Requires-Dist", []))

    assert [needed.name for needed in requirements if needed.marker is None] == [
        "attrs",
        "cattrs",
    ]


def test_the_metadata_has_every_extra_with_its_requirements(
    metadata: Message, project: dict[str, Any]
) -> None:
    extras = project["optional-dependencies"]
    requirements = [Requirement(text) for text in metadata.get_all("Requires-Dist", [])]

    assert metadata.get_all("Provides-Extra") == list(extras)
    for extra, needed in extras.items():
        given = {
            (found.name, found.specifier, frozenset(found.extras))
            for found in requirements
            if found.marker is not None and found.marker.evaluate({"extra": extra})
        }
        assert given == {
            (wanted.name, wanted.specifier, frozenset(wanted.extras))
            for wanted in map(Requirement, needed)
        }


def test_the_extra_all_includes_every_extra_for_users(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])

    assert everything.extras == extras.keys() - {"all", "dev"}
