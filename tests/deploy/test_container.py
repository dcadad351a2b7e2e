"""The image of the Containerfile: built as `make image` does, on Debian 12 and 13, and started.

Each build takes a few minutes, most of them for the packages.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.network import free_port, http_status
from ..support.waiting import eventually
from .files import DEPLOY, REPOSITORY
from .image import build, buildah, mounted, size, write

IMAGE = "localhost/recipient-fields-test"
MOST_BYTES = 150_000_000
EMAIL = "docs/examples/emails/newsletter.html"
# The root is read-only and /tmp a new file system, as with `podman run --read-only --tmpfs /tmp`.
# The shell of root remains, and ends with unshare: the kernel does not kill a process that has
# changed its user.
READ_ONLY = """
    mount --bind "$0" "$0"
    mount -o remount,bind,ro "$0"
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    mount -t tmpfs tmpfs "$0/tmp"
    chroot "$0" setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs \\
        env --ignore-environment --chdir=/tmp PATH=/opt/recipient-fields/bin:/usr/bin "$@" || exit
"""


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def image(request: pytest.FixtureRequest) -> Iterator[str]:
    """Build the image on a release of Debian, and return its name."""
    name = f"{IMAGE}:{request.param}"
    build(name, suite=request.param)
    try:
        yield name
    finally:
        buildah("rmi", "--force", name)


@pytest.fixture(scope="module")
def root(image: str) -> Iterator[Path]:
    """Mount the image, and return its root."""
    with mounted(image) as root:
        yield root


@pytest.fixture(scope="module")
def container(image: str) -> Iterator[str]:
    """Return the name of a container of the image."""
    container = buildah("from", image)
    try:
        yield container
    finally:
        buildah("rm", container)


def read_only(root: Path, *command: str) -> list[str]:
    """Return the command that runs another one as the user of the image, in its read-only root."""
    namespaces = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
    return [*namespaces, "sh", "-euc", READ_ONLY, str(root), *command]


def output(root: Path, *command: str, stdin: str = "") -> str:
    """Run a command in the read-only root, which must succeed, and return its output."""
    ran = subprocess.run(read_only(root, *command), input=stdin, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def inside(container: str, *command: str) -> list[str]:
    """Return the command that runs another one in the container, as its user."""
    return ["buildah", "run", "--isolation=chroot", "--network=host", container, "--", *command]


def health_check(port: int) -> list[str]:
    """Return the command of the health check, with another port."""
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    (command,) = re.findall(r"^    CMD (\[.*\])$", text, re.MULTILINE)
    return [word.replace("9400", str(port)) for word in json.loads(command)]


def test_the_base_image_has_no_default() -> None:
    ran = subprocess.run(
        ["buildah", "build", "--file", DEPLOY / "Containerfile", "."],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    )

    assert ran.returncode != 0
    assert "BASE" in ran.stderr


def test_the_image_has_at_most_150_mb_and_no_settings_of_the_machine(
    image: str, root: Path
) -> None:
    assert size(image) <= MOST_BYTES
    assert not (root / "etc/apt").exists()
    for file in ("etc/pip.conf", "etc/resolv.conf", "etc/hostname"):
        assert not (root / file).exists() or not (root / file).read_bytes()


def test_a_template_is_converted(root: Path) -> None:
    template = (REPOSITORY / EMAIL).read_text("utf-8")
    convert = ("recipient-fields", "convert", "--from", "klaviyo", "--to", "portable", "-")

    assert "{{#if recipient.loyalty_tier" in output(root, *convert, stdin=template)


def test_a_storage_is_migrated_in_the_folder_that_is_writable(root: Path) -> None:
    migrate = "recipient-fields --storage sqlite:/tmp/fields.db migrate && ls /tmp/fields.db"

    assert output(root, "sh", "-c", migrate) == "/tmp/fields.db\n"
    with pytest.raises(AssertionError, match=r"Read-only|unable"):
        output(root, "recipient-fields", "--storage", "sqlite:/srv/fields.db", "migrate")


def test_the_demonstration_starts(root: Path) -> None:
    port = free_port()
    listen = ("--listen", f"127.0.0.1:{port}")
    service = subprocess.Popen(read_only(root, "recipient-fields", "serve", "--demo", *listen))
    try:
        eventually(lambda: http_status(port, "/healthz") == 200)
        assert http_status(port, "/docs") == 200
        assert http_status(port, "/console/sign-in") == 200
    finally:
        service.kill()  # unshare ignores SIGTERM, and kills its child.
        service.wait(30)
    eventually(lambda: http_status(port, "/healthz") is None)


def test_another_build_has_the_same_digest_and_archive(image: str, tmp_path: Path) -> None:
    suite = image.rpartition(":")[2]
    again = f"{IMAGE}-again:{suite}"
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    build(again, suite=suite)
    try:
        digest = write(image, first)
        assert write(again, second) == digest
    finally:
        buildah("rmi", "--force", again)

    assert first.read_bytes() == second.read_bytes()
    blob = f"blobs/{digest.replace(':', '/')}"
    manifest = subprocess.check_output(["tar", "--extract", "--to-stdout", "--file", first, blob])
    assert digest == f"sha256:{hashlib.sha256(manifest).hexdigest()}"


def test_the_service_starts_and_its_health_check_succeeds(container: str) -> None:
    port, admin_port = free_port(), free_port()
    environment = (
        *("env", "RECIPIENT_FIELDS_STORAGE=memory:", f"RECIPIENT_FIELDS_LISTEN=127.0.0.1:{port}"),
        f"RECIPIENT_FIELDS_ADMIN_LISTEN=127.0.0.1:{admin_port}",
        "RECIPIENT_FIELDS_CONNECTIONS=100",  # buildah allows 1,024 open files.
    )
    service = subprocess.Popen(inside(container, *environment, "recipient-fields", "serve"))
    try:
        eventually(lambda: http_status(admin_port, "/readyz") == 200)
        assert http_status(port, "/api/v1/recipient_fields") == 401
        subprocess.run(inside(container, *health_check(admin_port)), check=True)
    finally:
        service.terminate()
        service.wait(30)


def test_the_user_can_write_to_temporary_folders_only(container: str) -> None:
    find = ("find", "/", "-xdev", "-writable", "-not", "-type", "l", "-not", "-path", "/proc/*")
    ran = subprocess.run(inside(container, *find), capture_output=True, text=True)
    writable = {"/" + path.split("/")[1] for path in ran.stdout.split() if path != "/"}

    assert subprocess.check_output(inside(container, "id", "-u"), text=True).strip() == "10001"
    assert not writable - {"/tmp", "/var", "/dev", "/run"}, ran.stdout
