"""A Debian 13 with systemd in a container, which has only a loopback interface after its start."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from ..fresh.run import CERTIFICATES, pip_settings
from ..support.waiting import eventually
from .files import REPOSITORY

BASE = REPOSITORY / "build" / "first-day" / "debian.tar"
"""The packages of Debian, which are the same for each run. `make clean` deletes it."""

PACKAGES = "systemd,systemd-sysv,dbus,ca-certificates"
NSPAWN = ("systemd-nspawn", "--quiet", "--register=no", "--keep-unit")
CLONE = "/srv/recipient-fields"
_END = "-- end of the block --"
# Before the machine starts, packages start no server: it would use the ports of the host.
_START_NOTHING = (
    "printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d"
)


class CommandFailed(Exception):
    """A command ended with another status than 0; the message has all output."""


@define
class Machine:
    """A folder with Debian's files, and one shell of root in it after the start."""

    root: Path
    _shell: subprocess.Popen[str] | None = field(default=None, init=False)

    @classmethod
    def create(cls, root: Path) -> Machine:
        """Unpack Debian, and clone the current commit into `CLONE`."""
        if not BASE.exists():
            BASE.parent.mkdir(parents=True, exist_ok=True)
            new = BASE.with_suffix(".new.tar")
            options = ("--quiet", "--variant=minbase", f"--include={PACKAGES}")
            subprocess.run(["mmdebstrap", *options, "trixie", new], check=True)
            new.rename(BASE)
        root.mkdir()
        subprocess.run(["tar", "--extract", "--file", BASE, "--directory", root], check=True)
        for path in (Path("/etc/resolv.conf"), CERTIFICATES):
            shutil.copy(path, root / path.relative_to("/"))
        (root / "etc/pip.conf").write_text(pip_settings())
        (root / "etc/hosts").write_text("127.0.0.1 localhost fields.example.com\n")
        clone = root / CLONE.lstrip("/")
        subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
        return cls(root)

    def prepare(self, commands: str) -> str:
        """Run commands before the start, with the network of the host, and return their output."""
        script = (
            f"set -euo pipefail; cd {CLONE}\n{_START_NOTHING}\n{commands}\nrm /usr/sbin/policy-rc.d"
        )
        nspawn = (*NSPAWN, f"--directory={self.root}", "--as-pid2", "--resolv-conf=off")
        ran = subprocess.run(
            [*nspawn, "bash", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if ran.returncode != 0:
            raise CommandFailed(ran.stdout)
        return ran.stdout

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start systemd for the block."""
        nspawn = (*NSPAWN, f"--directory={self.root}", "--private-network", "--resolv-conf=off")
        with (self.root.parent / "console.log").open("w") as console:
            process = subprocess.Popen(
                [*nspawn, "--boot"], stdin=subprocess.DEVNULL, stdout=console, stderr=console
            )
            try:
                enter = eventually(lambda: _started(process.pid))
                self._shell = subprocess.Popen(
                    [
                        *enter,
                        "env",
                        "--ignore-environment",
                        "HOME=/root",
                        "PATH=/usr/sbin:/usr/bin",
                        "bash",
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                self.paste("set -euo pipefail")
                yield
            finally:
                if self._shell is not None:
                    self._shell.kill()
                    self._shell.communicate()
                process.terminate()
                process.wait(60)

    def paste(self, commands: str) -> str:
        """Run commands in the shell of root, in the clone, and return their output.

        Raises: CommandFailed if one fails. The shell has ended then.
        """
        shell = self._shell
        assert shell is not None
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(f"{commands.rstrip()}\necho; echo '{_END}'\n")
        shell.stdin.flush()
        lines: list[str] = []
        for line in shell.stdout:
            if line.rstrip() == _END:
                return "".join(lines)[:-1]
            lines.append(line)
        raise CommandFailed(f"{commands}\n{''.join(lines)}")


def _started(nspawn: int) -> tuple[str, ...] | None:
    """Return the command that enters the machine, or None until systemd has started its units.

    The first children of systemd-nspawn end soon: the one that starts systemd is not the first.
    """
    children = Path(f"/proc/{nspawn}/task/{nspawn}/children").read_text().split()
    for child in children:
        folder = f"--wd=/proc/{child}/root{CLONE}"
        enter = ("nsenter", "--target", child, "--all", "--root", folder)
        state = subprocess.run(
            [*enter, "systemctl", "is-active", "multi-user.target"], capture_output=True, text=True
        )
        if state.stdout.strip() == "active":
            return enter
    return None
