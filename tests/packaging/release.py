"""Build what a release publishes, and commit and tag it, as CONTRIBUTING.md describes.

A release is built from a commit in a temporary worktree. The folder `dist`, the tag and the branch
change last, and only if all of them can.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click

ROOT = Path(__file__).resolve().parents[2]
PROJECT, CHANGELOG, CONTAINERFILE = "pyproject.toml", "CHANGELOG.md", "docs/deploy/Containerfile"
PAGES = ("README.md", "docs/installing.md", "docs/first-email.md", CONTAINERFILE)
"""The files that show the version, as `version 1.0.0`, `version="1.0.0"` or in a file name."""


@click.group
def main() -> None:
    """Build, commit and tag releases."""


@main.command
@click.argument("version", default="")
def release(version: str) -> None:
    """Commit VERSION, build the release into dist/VERSION, and tag the commit."""
    _check(version)
    target, tag = ROOT / "dist" / version, f"v{version}"
    with _worktree() as source, ExitStack() as undo:
        _set_version(source, version)
        _git("commit", "--quiet", "--all", f"--message=Release {version}", cwd=source)
        commit = _git("rev-parse", "HEAD", cwd=source)
        built = _build(source)
        undo.callback(shutil.rmtree, target, ignore_errors=True)
        shutil.copytree(built, target)
        signed = _has_signing_key()
        message = f"--message=Recipient Fields {version}"
        _git("tag", "--sign" if signed else "--annotate", message, tag, commit)
        undo.callback(_git, "tag", "--delete", tag)
        if signed and "\n-----BEGIN " not in _git("cat-file", "tag", tag):
            # Git 2.39 creates an unsigned tag if it can't read an SSH key.
            raise click.ClickException("git did not sign the tag: correct its `user.signingKey`.")
        _git("merge", "--quiet", "--ff-only", commit)
        undo.pop_all()
    kind = "signed" if signed else "unsigned (git has no `user.signingKey`)"
    click.echo(f"Built dist/{version}. The tag {tag} of commit {commit[:12]} is {kind}.")
    click.echo("Nothing is published yet: CONTRIBUTING.md describes the next steps.")


@main.command
def dist() -> None:
    """Build the release of the current commit again, into dist/VERSION."""
    version = _version(ROOT)
    if not re.search(rf"^## {re.escape(version)} ", (ROOT / CHANGELOG).read_text("utf-8"), re.M):
        raise click.ClickException(
            f"This commit is not a release: {CHANGELOG} has no section `## {version}`. Check out"
            " the tag of a release. To build the wheel of this commit, run"
            " `pip wheel --no-deps --wheel-dir dist .`"
        )
    target = ROOT / "dist" / version
    _require_absent(target)
    with _worktree() as source:
        shutil.copytree(_build(source), target)
    click.echo(f"Built dist/{version}.")


@main.command
@click.argument("file", type=click.Path(path_type=Path))
def sbom(file: Path) -> None:
    """Write the software bill of materials to FILE."""
    _write_sbom(ROOT, file)


def section(changelog: str, title: str) -> str:
    """Return the text of the section with this title, which is a version or `Unreleased`."""
    pattern = rf"^## {re.escape(title)}(?: - [^\n]+)?\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        raise click.ClickException(f"{CHANGELOG} has no section `## {title}`.")
    return f"{found[1].strip()}\n"


def with_release(changelog: str, version: str, date: str) -> str:
    """Return the changelog with the section Unreleased as that of the version, and a new one."""
    if not re.search(r"^- ", section(changelog, "Unreleased"), re.MULTILINE):
        raise click.ClickException(
            f"The section Unreleased of {CHANGELOG} is empty: list the changes of this version."
        )
    titles = f"## Unreleased\n\n## {version} - {date}"
    return re.sub(r"^## Unreleased$", titles, changelog, count=1, flags=re.MULTILINE)


def _check(version: str) -> None:
    if not re.fullmatch(r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}", version):
        raise click.ClickException(
            f"Invalid version {version!r}: use three numbers, as in `make release VERSION=1.0.0`."
        )
    current = _version(ROOT)
    if _numbers(version) <= _numbers(current):
        raise click.ClickException(f"Use a version after {current}, the one in {PROJECT}.")
    if _git("tag", "--list", f"v{version}"):
        raise click.ClickException(f"The tag v{version} exists: use a later version.")
    _require_absent(ROOT / "dist" / version)
    if changes := _git("status", "--porcelain"):
        raise click.ClickException(f"Commit or remove these changes first:\n{changes}")
    with_release((ROOT / CHANGELOG).read_text("utf-8"), version, "")


def _require_absent(target: Path) -> None:
    if target.exists():
        raise click.ClickException(f"{target.relative_to(ROOT)} exists: remove it first.")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _version(source: Path) -> str:
    project = tomllib.loads((source / PROJECT).read_text("utf-8"))["project"]
    return str(project["version"])


def _has_signing_key() -> bool:
    settings = _git("config", "--name-only", "--list").splitlines()
    return "user.signingkey" in settings


@contextmanager
def _worktree() -> Iterator[Path]:
    """Check out the current commit in a temporary folder, with the default permissions."""
    os.umask(0o022)
    with TemporaryDirectory() as folder:
        source = Path(folder) / "recipient-fields"
        _git("worktree", "add", "--quiet", "--detach", str(source))
        try:
            yield source
        finally:
            _git("worktree", "remove", "--force", str(source))


def _set_version(source: Path, version: str) -> None:
    """Write the version to all files that show it."""
    old = re.escape(_version(source))
    _substitute(source / PROJECT, rf'^(version = "){old}"$', rf'\g<1>{version}"')
    for page in PAGES:
        pattern = rf'([Vv]ersion |version="|recipient[-_]fields-){old}\b'
        _substitute(source / page, pattern, rf"\g<1>{version}")
    changelog = source / CHANGELOG
    today = datetime.now(UTC).date().isoformat()
    changelog.write_text(with_release(changelog.read_text("utf-8"), version, today), "utf-8")
    _run(sys.executable, "tests/docs/reference.py", cwd=source)  # writes the badges


def _substitute(file: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, file.read_text("utf-8"), flags=re.MULTILINE)
    if not count:
        raise click.ClickException(f"{file.name} does not show the current version.")
    file.write_text(text, "utf-8")


def _build(source: Path) -> Path:
    """Build everything that the release of this commit publishes, and return its folder."""
    version = _version(source)
    notes = section((source / CHANGELOG).read_text("utf-8"), version)
    folder = source / "dist" / version
    folder.mkdir(parents=True)
    (folder / "release-notes.md").write_text(notes, "utf-8")
    shutil.copyfile(source / CONTAINERFILE, folder / "Containerfile")
    time = int(_git("log", "-1", "--format=%ct", cwd=source))
    _build_distributions(source, folder, time)
    _write_sbom(source, folder / f"recipient_fields-{version}.cdx.json")
    sums = [f"{_sha256(file)}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums), "utf-8")
    return folder


def _build_distributions(source: Path, folder: Path, time: int) -> None:
    """Build the source distribution, and the wheel from it, and check their metadata."""
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source))
    _run(*build, SOURCE_DATE_EPOCH=str(time))
    (sdist,) = folder.glob("*.tar.gz")
    _normalize(sdist, time)
    distributions = map(str, (sdist, *folder.glob("*.whl")))
    _run(sys.executable, "-m", "twine", "check", "--strict", *distributions)


def _normalize(sdist: Path, time: int) -> None:
    """Remove times and owners from a source distribution: setuptools has no option for this."""

    def normalized(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
        return member

    with TemporaryDirectory() as folder:
        # Python's own extraction has no safe filter before 3.11.4, which Debian 12 lacks.
        subprocess.run(["tar", "-xf", sdist, "-C", folder], check=True)
        (content,) = Path(folder).iterdir()
        with (
            sdist.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=time) as compressed,
            tarfile.open(fileobj=compressed, mode="w") as archive,
        ):
            archive.add(content, content.name, filter=normalized)  # in the order of the names


def _write_sbom(source: Path, file: Path) -> None:
    """Describe the requirements of the service, with the versions of requirements.txt."""
    with TemporaryDirectory() as environment:
        _run(sys.executable, "-m", "venv", "--without-pip", environment)
        pip = (sys.executable, "-m", "pip", "--python", f"{environment}/bin/python")
        requirements = str(source / "requirements.txt")
        _run(*pip, "install", "--require-hashes", "--no-deps", "--requirement", requirements)
        cyclonedx = (sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible")
        project = str(source / PROJECT)
        _run(*cyclonedx, "--pyproject", project, "--output-file", str(file), environment)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _git(*arguments: str, cwd: Path = ROOT) -> str:
    return _run("git", *arguments, cwd=cwd).strip()


def _run(*command: str, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command, which must succeed, and return its standard output."""
    run = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise click.ClickException(f"{shlex.join(command)}:\n{run.stdout}{run.stderr}")
    return run.stdout


if __name__ == "__main__":
    main()
