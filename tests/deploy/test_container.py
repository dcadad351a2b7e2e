"""The Containerfile: built with buildah on a Debian that mmdebstrap creates, and started."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.network import free_port, http_status
from ..support.waiting import eventually
from .files import DEPLOY, REPOSITORY

BASE = "localhost/recipient-fields-base"
IMAGE = "localhost/recipient-fields-test"
# The packages come from where this machine gets its own.
SOURCES = [
    f"--volume={path}:{path}:ro"
    for path in ("/etc/apt", "/etc/pip.conf", "/etc/ssl/certs")
    if Path(path).exists()
]


def buildah(*arguments: str | Path) -> str:
    """Run buildah, which must succeed, and return its output."""
    ran = subprocess.run(["buildah", *arguments], capture_output=True, text=True, cwd=REPOSITORY)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout.strip()


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the image, and return the name of a container of it."""
    archive = tmp_path_factory.mktemp("base") / "base.tar"
    debian = ("mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates", "bookworm")
    subprocess.run([*debian, archive], check=True)
    base = buildah("from", "scratch")
    buildah("add", "--quiet", base, archive, "/")
    buildah("commit", "--quiet", "--rm", base, BASE)
    try:
        buildah(
            *("build", "--format=docker", "--isolation=chroot", "--network=host", *SOURCES),
            *(f"--build-arg=BASE={BASE}", "--file", DEPLOY / "Containerfile", "--tag", IMAGE, "."),
        )
        container = buildah("from", IMAGE)
        try:
            yield container
        finally:
            buildah("rm", container)
            buildah("rmi", IMAGE)
    finally:
        buildah("rmi", "--force", BASE)


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
