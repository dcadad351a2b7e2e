"""The hook, the action and the job on the page about repositories find a mistake."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from recipient_fields.application import system_clock
from recipient_fields.application.esp.snapshots import FieldSnapshot, render_snapshot
from recipient_fields.domain.integrations import EspNames

from .distributions import ROOT
from .environments import Environment

pytestmark = pytest.mark.slow

MISTAKE = "emails/a.html:1:6: error: There is no field with the key first_name. [unknown_field]"
COMMAND = "::error file=emails/a.html,line=1,col=6,title=recipient-fields unknown_field::"
_YAML = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with a copy of this project."""
    folder = tmp_path_factory.mktemp("project")
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    commit(folder)
    return folder


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """Return a repository with a snapshot without fields, and with a template."""
    folder = tmp_path / "templates"
    (folder / "emails").mkdir(parents=True)
    snapshot = FieldSnapshot(system_clock(), EspNames((), ()))
    (folder / "recipient-fields.lock.json").write_bytes(render_snapshot(snapshot))
    (folder / "recipient-fields.toml").write_text('snapshot = "recipient-fields.lock.json"\n')
    (folder / "emails/a.html").write_text("Dear {{recipient.first_name}}")
    (folder / "emails/b.html").write_text("{{recipient.old}}")
    commit(folder)
    return folder


def examples() -> list[Any]:
    """Return the examples on the page: for pre-commit, for GitHub and for GitLab."""
    page = (ROOT / "docs/repository.md").read_text("utf-8")
    return [yaml.safe_load(block) for block in _YAML.findall(page)]


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments]
    run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return run.stdout


def commit(folder: Path) -> None:
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Add files")


def test_pre_commit_checks_the_changed_files(project: Path, templates: Path, tmp_path: Path):
    environment = Environment.create(tmp_path / "environment")
    environment.install("pre-commit")
    config = examples()[0]
    config["repos"][0]["repo"] = str(project)
    (templates / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))

    def run(*files: str) -> str:
        found = subprocess.run(
            [environment.script("pre-commit"), "run", "--files", *files],
            cwd=templates,
            env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
        )
        assert found.returncode == 1, found.stderr
        return found.stdout

    git(templates, "add", ".pre-commit-config.yaml")
    changed = run("emails/a.html")
    assert MISTAKE in changed
    assert "emails/b.html" not in changed
    assert "emails/b.html" in run("recipient-fields.lock.json")


def test_the_action_and_the_job_for_gitlab_find_a_mistake(
    project: Path, templates: Path, tmp_path: Path
):
    *_, use = examples()[1]["jobs"]["templates"]["steps"]
    variables = {
        **os.environ,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ACTION_PATH": str(project),
        "ARGUMENTS": use["with"]["arguments"],
    }
    install, check = yaml.safe_load((project / "action.yml").read_text())["runs"]["steps"]

    def run(script: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(
            shell, cwd=templates, env={**variables, "PATH": path}, capture_output=True, text=True
        )

    assert run(install["run"]).returncode == 0
    found = run(check["run"])
    assert found.returncode == 3
    assert MISTAKE in found.stdout
    assert COMMAND in found.stdout
    pip, job = examples()[2]["templates"]["script"]
    assert pip.startswith('pip install "recipient-fields[cli] @ git+https://')
    installed = f"{tmp_path / 'recipient-fields/bin'}:{os.environ['PATH']}"
    found = run(job, installed)
    assert (found.returncode, MISTAKE in found.stdout) == (3, True)
