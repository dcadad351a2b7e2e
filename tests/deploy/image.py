"""Build the image of `docs/deploy/Containerfile` with buildah, as `make image` does.

Run it as root. Without the argument `BASE`, mmdebstrap creates the base from Debian's packages, so
no registry is needed. The image contains the current commit and depends only on it, the base, the
packages of Debian and the version of buildah: two builds have the same digest.

The builds use this machine's settings for apt and pip, of which the image contains nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..fresh.run import CERTIFICATES, pip_settings
from .files import REPOSITORY

CONTAINERFILE = "docs/deploy/Containerfile"
IMAGE = "localhost/recipient-fields"
BASE = "localhost/recipient-fields-base"
SUITE = "trixie"
PACKAGES = "ca-certificates"
# Debian merges /usr since 12. Without the hook, mmdebstrap installs Perl to do so.
MERGED_USR = "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"
# mmdebstrap copies these from the machine.
FORGET = 'rm -f "$1/etc/resolv.conf" "$1/etc/hostname"'


def main() -> None:
    """Build the image of this version, and write it to `build/image`."""
    base = sys.argv[1] if len(sys.argv) > 1 else ""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    tag = f"{IMAGE}:{project['version']}"
    archive = REPOSITORY / "build" / "image" / f"recipient-fields-{project['version']}.tar"
    build(tag, base)
    archive.parent.mkdir(parents=True, exist_ok=True)
    digest = write(tag, archive)
    print(f"{tag}: {size(tag) / 1e6:.0f} MB, {digest}")
    print(f"The archive is {archive.relative_to(REPOSITORY)}.")


def write(image: str, archive: Path) -> str:
    """Write an image to an OCI archive, and return its digest, which a registry shows too.

    The archive depends only on the image. It is compressed, so the image has another digest in
    buildah's storage.
    """
    with TemporaryDirectory() as folder:
        buildah("push", "--quiet", image, f"oci:{folder}:{image.rpartition(':')[2]}")
        metadata = ("--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner")
        content = ("--mode=u=rwX,go=rX", "blobs", "index.json", "oci-layout")
        run("tar", "--create", "--file", archive, "--directory", folder, *metadata, *content)
        (manifest,) = json.loads(Path(folder, "index.json").read_text("utf-8"))["manifests"]
    return str(manifest["digest"])


def build(tag: str, base: str = "", suite: str = SUITE) -> None:
    """Build the image of the current commit, on `base` or on a new base of Debian's suite."""
    if base:
        _build(tag, base)
    else:
        with debian(suite) as created:
            _build(tag, created, f"--volume={CERTIFICATES}:{CERTIFICATES}:ro")


@contextmanager
def debian(suite: str) -> Iterator[str]:
    """Create an image of a minimal Debian with the settings of this machine, and return its name.

    The Containerfile removes the settings.
    """
    with TemporaryDirectory() as folder:
        archive, apt, pip = (Path(folder, name) for name in ("base.tar", "apt.conf", "pip.conf"))
        apt.write_text(run("apt-config", "dump", "Acquire"))
        pip.write_text(pip_settings())
        run(
            *("mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates"),
            *(f"--aptopt={apt}", MERGED_USR, f"--customize-hook={FORGET}"),
            *(f"--customize-hook=copy-in {pip} /etc", suite, archive),
        )
        container = buildah("from", "scratch")
        buildah("add", "--quiet", container, archive, "/")
        name = f"{BASE}:{suite}"
        buildah("commit", "--quiet", "--rm", container, name)
    try:
        yield name
    finally:
        buildah("rmi", "--force", name)


def _build(tag: str, base: str, *options: str) -> None:
    """Build the image of the current commit on a base."""
    time = run("git", "log", "-1", "--format=%ct")
    with TemporaryDirectory() as folder:
        source = Path(folder, "source")
        archive = Path(folder, "source.tar")
        run("git", "archive", f"--output={archive}", "HEAD")
        source.mkdir()
        run("tar", "--extract", "--file", archive, "--directory", source)
        buildah(
            *("build", "--quiet", "--isolation=chroot", "--network=host"),
            *("--no-cache", f"--timestamp={time}", *options),
            *(f"--build-arg=BASE={base}", f"--build-arg=SOURCE_DATE_EPOCH={time}"),
            *("--file", source / CONTAINERFILE, "--tag", tag, source),
        )


def size(image: str) -> int:
    """Return the bytes of the files of an image."""
    with mounted(image) as root:
        return int(run("du", "--summarize", "--bytes", "--one-file-system", root).split()[0])


@contextmanager
def mounted(image: str) -> Iterator[Path]:
    """Mount the files of an image, and return their folder."""
    container = buildah("from", image)
    try:
        yield Path(buildah("mount", container))
    finally:
        buildah("rm", container)


def buildah(*arguments: str | Path) -> str:
    """Run buildah, which must succeed, and return its output."""
    return run("buildah", *arguments)


def run(*command: str | Path) -> str:
    """Run a command, which must succeed, and return its output."""
    ran = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


if __name__ == "__main__":
    main()
