"""A release: refused input, failures that change nothing, and everything that it publishes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from zipfile import ZipFile

import click
import pytest
from attrs import frozen
from packaging.utils import canonicalize_name

from .distributions import ROOT, copy_tree, files_in, sdist_in, wheel_in
from .environments import Environment
from .release import section, with_release

CHANGELOG = """# Changelog

## Unreleased

### Added

- A field.

## 0.1.0 - 2026-01-31

- The first version.
"""

SMALL_PROJECT = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "recipient-fields"
version = "0.1.0"
readme = "README.md"

[tool.setuptools]
packages = ["small"]
"""


@frozen
class Repository:
    """A git repository with the release program, whose configuration is its own."""

    folder: Path
    umask: int = 0o022

    def commit_all(self) -> None:
        """Create the repository and commit all files."""
        (self.folder / ".gitignore").write_text("dist/\n*.egg-info/\n__pycache__/\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Maintainer")
        self.git("config", "user.email", "maintainer@recipient-fields.example")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=Start")

    def git(self, *arguments: str) -> str:
        """Run git, which must succeed, and return its output."""
        run = self._run("git", *arguments)
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    def program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the release program."""
        return self._run(sys.executable, "tests/packaging/release.py", *arguments)

    def state(self) -> Mapping[str, object]:
        """Return everything that a failed release must not change."""
        return {
            "branch": self.git("log", "--format=%H %D"),
            "tags": self.git("tag", "--list"),
            "changes": self.git("status", "--porcelain"),
            "worktrees": self.git("worktree", "list"),
            "dist": files_in(self.folder / "dist"),
        }

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "GIT_CONFIG_GLOBAL": str(self.folder / "absent")},
            umask=self.umask,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def small(tmp_path: Path) -> Repository:
    """Create a repository with a small project, which takes few seconds to release."""
    folder = tmp_path / "small"
    texts = {
        "pyproject.toml": SMALL_PROJECT,
        "CHANGELOG.md": CHANGELOG,
        "README.md": "Version 0.1.0 is small.\n",
        "docs/installing.md": "pipx install recipient_fields-0.1.0-py3-none-any.whl\n",
        "docs/first-email.md": "recipient-fields, version 0.1.0\n",
        "docs/deploy/Containerfile": 'LABEL org.opencontainers.image.version="0.1.0"\n',
        "requirements.txt": "",
        "small/__init__.py": "",
        "tests/docs/reference.py": "",
        "tests/packaging/release.py": (ROOT / "tests/packaging/release.py").read_text("utf-8"),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    repository = Repository(folder)
    repository.commit_all()
    return repository


def refused(repository: Repository, version: str) -> str:
    """Return the message with which the program refuses a release and changes nothing."""
    before = repository.state()

    run = repository.program("release", version)

    assert (run.returncode, run.stdout) == (1, "")
    assert repository.state() == before
    return run.stderr


def test_a_section_of_the_changelog_ends_at_the_next_one() -> None:
    assert section(CHANGELOG, "Unreleased") == "### Added\n\n- A field.\n"
    assert section(CHANGELOG, "0.1.0") == "- The first version.\n"


def test_the_dots_of_a_version_match_only_dots() -> None:
    with pytest.raises(click.ClickException, match=r"no section `## 0\.1\.0`"):
        section(CHANGELOG.replace("0.1.0", "0x1.0"), "0.1.0")


def test_a_release_gets_the_section_unreleased_and_starts_a_new_one() -> None:
    changelog = with_release(CHANGELOG, "1.0.0", "2026-02-28")

    assert section(changelog, "Unreleased") == "\n"
    assert section(changelog, "1.0.0") == section(CHANGELOG, "Unreleased")
    assert section(changelog, "0.1.0") == section(CHANGELOG, "0.1.0")
    assert "\n\n## Unreleased\n\n## 1.0.0 - 2026-02-28\n\n### Added\n" in changelog


@pytest.mark.parametrize(
    "version", ["", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.0rc1", "01.0.0", "1.0.0\n", "1\uff11.0.0"]
)
def test_a_malformed_version_is_refused(small, version):
    message = refused(small, version)

    assert message.startswith(f"Error: Invalid version {version!r}: use three numbers")
    assert "`make release VERSION=1.0.0`" in message


@pytest.mark.parametrize("version", ["0.1.0", "0.0.10"])
def test_a_version_that_is_not_higher_is_refused(small, version):
    assert refused(small, version) == (
        "Error: Use a version after 0.1.0, the one in pyproject.toml.\n"
    )


def test_a_version_with_a_tag_is_refused(small):
    small.git("tag", "v0.10.0")

    assert refused(small, "0.10.0") == "Error: The tag v0.10.0 exists: use a later version.\n"


def test_an_earlier_build_is_not_overwritten(small):
    (small.folder / "dist/0.2.0").mkdir(parents=True)
    (small.folder / "dist/0.2.0/old").touch()

    assert refused(small, "0.2.0") == "Error: dist/0.2.0 exists: remove it first.\n"


@pytest.mark.parametrize("file", ["README.md", "new.py"])
def test_uncommitted_changes_are_refused(small, file):
    (small.folder / file).write_text("Changed.\n")

    message = refused(small, "0.2.0")

    assert message.startswith("Error: Commit or remove these changes first:\n")
    assert file in message


def test_an_empty_section_unreleased_is_refused(small):
    (small.folder / "CHANGELOG.md").write_text("## Unreleased\n\n### Added\n\n## 0.1.0\n\n- One.\n")
    small.git("commit", "--quiet", "--all", "--message=Empty")

    assert refused(small, "0.2.0").startswith("Error: The section Unreleased of CHANGELOG.md is")


def test_a_page_without_the_version_is_refused(small):
    (small.folder / "docs/first-email.md").write_text("recipient-fields, version 0.0.9\n")
    small.git("commit", "--quiet", "--all", "--message=Forget the version")

    assert refused(small, "0.2.0") == "Error: first-email.md does not show the current version.\n"


def test_only_a_released_commit_can_be_built_again(small):
    small.git("commit", "--quiet", "--allow-empty", "--message=After 0.1.0")
    changelog = small.folder / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## 0.1.0", "## 0.0.9"))
    small.git("commit", "--quiet", "--all", "--message=No section")
    before = small.state()

    run = small.program("dist")

    assert run.returncode == 1
    assert run.stderr == (
        "Error: This commit is not a release: CHANGELOG.md has no section `## 0.1.0`. Check out the"
        " tag of a release. To build the wheel of this commit, run"
        " `pip wheel --no-deps --wheel-dir dist .`\n"
    )
    assert small.state() == before


@pytest.mark.slow
def test_metadata_with_a_defect_is_refused(small: Repository) -> None:
    (small.folder / "README.md").rename(small.folder / "README.rst")
    text = (small.folder / "pyproject.toml").read_text().replace("README.md", "README.rst")
    (small.folder / "pyproject.toml").write_text(text)
    (small.folder / "README.md").write_text("Version 0.1.0\n")
    (small.folder / "README.rst").write_text(".. nosuch::\n\n`unclosed\n")
    small.git("add", "--all")
    small.git("commit", "--quiet", "--message=Break the description")

    assert "twine check --strict" in refused(small, "0.2.0")


@pytest.mark.slow
def test_a_failed_signature_changes_nothing(small: Repository) -> None:
    small.git("config", "gpg.format", "ssh")
    small.git("config", "user.signingKey", str(small.folder / ".git/no-such-key"))

    message = refused(small, "0.2.0")

    assert message.startswith(("Error: git tag --sign ", "Error: git did not sign the tag: "))


@pytest.mark.slow
def test_a_change_during_the_build_is_kept_and_nothing_is_released(small: Repository) -> None:
    readme = small.folder / "README.md"
    before = small.state()
    hook = small.folder / ".git/hooks/post-commit"
    hook.write_text(f"#!/bin/sh\necho edited >> {shlex.quote(str(readme))}\n")
    hook.chmod(0o755)

    run = small.program("release", "0.2.0")

    assert run.returncode == 1
    assert run.stderr.startswith("Error: git merge ")
    assert {**small.state(), "changes": ""} == before
    assert readme.read_text().endswith("edited\n")


@pytest.mark.slow
def test_the_tag_is_signed_if_git_has_a_signing_key(small: Repository) -> None:
    key = small.folder / ".git/key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    allowed = small.folder / ".git/allowed"
    allowed.write_text(f"maintainer@recipient-fields.example {key.with_suffix('.pub').read_text()}")
    small.git("config", "gpg.format", "ssh")
    small.git("config", "user.signingKey", str(key))
    small.git("config", "gpg.ssh.allowedSignersFile", str(allowed))

    run = small.program("release", "0.2.0")

    assert run.returncode == 0, run.stderr
    assert " is signed.\n" in run.stdout
    small.git("verify-tag", "v0.2.0")


@pytest.fixture(scope="module")
def version() -> str:
    """Return the version of the trial: the next major one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return f"{int(project['version'].partition('.')[0]) + 1}.0.0"


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory, version: str) -> Repository:
    """Release this project in a new repository, under a strict umask."""
    folder = copy_tree(tmp_path_factory.mktemp("trial") / "repository")
    changelog = folder / "CHANGELOG.md"
    unreleased = "## Unreleased\n\n### Changed\n\n- A trial.\n"
    text = changelog.read_text("utf-8").replace("## Unreleased\n", unreleased, 1)
    changelog.write_text(text, "utf-8")
    repository = Repository(folder, umask=0o077)
    repository.commit_all()

    run = repository.program("release", version)

    assert run.returncode == 0, run.stderr
    assert f"The tag v{version} of commit " in run.stdout
    assert " is unsigned " in run.stdout
    return repository


@pytest.fixture(scope="module")
def published(trial: Repository, version: str) -> Path:
    """Return the folder with everything that the trial would publish."""
    return trial.folder / "dist" / version


@pytest.mark.slow
def test_a_release_is_one_commit_with_an_annotated_tag(trial: Repository, version: str) -> None:
    assert trial.git("log", "--format=%s") == f"Release {version}\nStart"
    assert (
        trial.git("rev-parse", f"v{version}^{{commit}}", "main").split()
        == [trial.git("rev-parse", "HEAD")] * 2
    )
    assert trial.git("cat-file", "-t", f"v{version}") == "tag"
    assert trial.git("status", "--porcelain") == ""
    assert len(trial.git("worktree", "list").splitlines()) == 1
    assert set(trial.git("diff", "--name-only", "HEAD~").splitlines()) == {
        *("CHANGELOG.md", "README.md", "pyproject.toml", "docs/_static/badges.svg"),
        *("docs/deploy/Containerfile", "docs/installing.md", "docs/first-email.md"),
    }


@pytest.mark.slow
def test_no_page_shows_the_earlier_version(trial: Repository) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    old = re.compile(rf"(?:[Vv]ersion |[vV]ersion=\"|recipient_fields-){project['version']}\b")
    pages = [*trial.folder.glob("*.md"), *(trial.folder / "docs").rglob("*.*")]
    texts = {page: page.read_text("utf-8", "replace") for page in pages}
    texts.pop(trial.folder / "CHANGELOG.md")

    assert [page for page, text in texts.items() if old.search(text)] == []


@pytest.mark.slow
def test_everything_is_published_with_its_checksum(published: Path, version: str) -> None:
    names = {
        *("Containerfile", "release-notes.md", f"recipient_fields-{version}.cdx.json"),
        f"recipient_fields-{version}-py3-none-any.whl",
        f"recipient_fields-{version}.tar.gz",
    }
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]

    checked = subprocess.run(check, cwd=published, capture_output=True, text=True, check=True)

    assert files_in(published) == names | {"SHA256SUMS"}
    assert set(checked.stdout.splitlines()) == {f"{name}: OK" for name in names}
    modes = {path.stat().st_mode & 0o777 for path in published.iterdir()}
    assert modes == {0o644}


@pytest.mark.slow
def test_the_notes_are_the_section_of_the_changelog(
    trial: Repository, published: Path, version: str
) -> None:
    notes = (published / "release-notes.md").read_text("utf-8")
    changelog = (trial.folder / "CHANGELOG.md").read_text("utf-8")

    assert notes.startswith("### Changed\n\n- A trial.\n")
    assert notes == section(changelog, version)


@pytest.mark.slow
def test_the_bill_of_materials_has_the_versions_of_the_lock(published: Path, version: str) -> None:
    bill = json.loads((published / f"recipient_fields-{version}.cdx.json").read_text("utf-8"))
    locked = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.M)

    assert bill["bomFormat"] == "CycloneDX"
    assert (bill["metadata"]["component"]["name"], bill["metadata"]["component"]["version"]) == (
        "recipient-fields",
        version,
    )
    components = {(canonicalize_name(c["name"]), c["version"]) for c in bill["components"]}
    assert {"falcon", "psycopg", "waitress"} <= {name for name, _ in components}
    assert components <= set(locked)


@pytest.mark.slow
def test_another_clone_builds_the_same_bytes(
    trial: Repository, published: Path, version: str, tmp_path: Path
) -> None:
    again = Repository(tmp_path / "another name" / "clone", umask=0o002)
    again.folder.parent.mkdir()
    trial.git("clone", "--quiet", f"--branch=v{version}", str(trial.folder), str(again.folder))

    run = again.program("dist")

    assert run.returncode == 0, run.stderr
    built = again.folder / "dist" / version
    assert contents(built) == contents(published)


@pytest.mark.slow
def test_nothing_published_contains_a_path_or_an_index_of_this_machine(
    trial: Repository, published: Path
) -> None:
    settings = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    addresses = {
        address
        for values in re.findall(r"(?:index-url|find-links)='(.*)'$", settings, re.MULTILINE)
        for address in values.split()
    }
    paths = {str(ROOT), str(trial.folder), sys.prefix}
    worktree = f"{re.escape(tempfile.gettempdir())}/tmp[a-z0-9_]{{8}}"
    ours = "|".join([worktree, *map(re.escape, (addresses | paths) - {"https://pypi.org/simple"})])
    found = {
        name: match[0]
        for name, content in texts_in(published)
        if (match := re.search(ours.encode(), content))
    }

    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("distribution", [wheel_in, sdist_in])
def test_the_demonstration_runs_from_each_distribution(
    published: Path, version: str, distribution: Callable[[Path], Path], tmp_path: Path
) -> None:
    environment = Environment.create(tmp_path / "venv")
    environment.install(f"{distribution(published)}[cli]")

    shown = environment.run(environment.script("recipient-fields"), "--version")
    with environment.demonstration() as lines:
        command = next(line for line in lines if line.startswith("curl "))
        response = environment.run("bash", "-c", command)

    assert shown.stdout == f"recipient-fields, version {version}\n"
    assert response.stdout.startswith("Hello {{${first_name} | default: 'there'}},\n")


def contents(folder: Path) -> Mapping[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files_in(folder)}


def texts_in(published: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a release, and those in its archives."""
    yield from contents(published).items()
    with ZipFile(wheel_in(published)) as wheel:
        yield from ((name, wheel.read(name)) for name in wheel.namelist())
    with tarfile.open(sdist_in(published)) as sdist:
        for member in sdist:
            if (file := sdist.extractfile(member)) is not None:
                yield member.name, file.read()
