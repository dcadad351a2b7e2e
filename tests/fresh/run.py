"""Follow the README in minimal roots of Debian, as a newcomer does, and print a table.

Run `make test-fresh` as root. For each release, mmdebstrap creates a root with the packages below.
There, an ordinary user with an empty environment does what `visit.sh` contains: clone the current
commit into a path with a blank, `make serve`, the printed commands and the link, the first commands
of the wheel, `make test`.

The roots use the network of this machine, its name servers, its certificates, and those of its
settings for apt, pip and npm that name no local file. Logs: `build/fresh/RELEASE.log`.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "fresh"
PACKAGES = "python3,python3-venv,python3-pip,git,make,ca-certificates,curl"
# Without security updates, as the newest image installs it. Its Python 3.11.2 has the defects of
# regular expressions that tests/packaging/patterns.py describes; the updates correct them.
BOOKWORM = "deb http://deb.debian.org/debian bookworm main"
RELEASES = {"12": ("bookworm", BOOKWORM), "13": ("trixie",), "testing": ("testing",)}
"""The suite, and the mirror if it differs from mmdebstrap's."""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy")
HOME = "/home/newcomer"
TITLES = ("release", "python", "seconds", "packages", "mb", "commands", "minutes")
RESULTS = ("passed", "failed", "status")
ENTER = """
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" setpriv --reuid=newcomer --regid=newcomer --init-groups \
        env --ignore-environment HOME={home} PATH=/usr/local/bin:/usr/bin:/bin \
        bash {home}/visit.sh
"""


def main() -> None:
    """Visit the releases, print the table, and fail unless everything worked in each."""
    releases = sys.argv[1:] or list(RELEASES)
    if unknown := set(releases) - set(RELEASES):
        sys.exit(f"Unknown release {', '.join(sorted(unknown))}: use {', '.join(RELEASES)}.")
    BUILD.mkdir(parents=True, exist_ok=True)
    rows = [visit(release) for release in releases]
    titles = (*TITLES, *RESULTS)
    table = [titles, *([row.get(title, "-") for title in titles] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        print("  ".join(map(str.ljust, cells, widths)).rstrip())
    if any(row.get("status") != "ok" for row in rows):
        sys.exit(f"Something failed. See {BUILD}/RELEASE.log.")


def visit(release: str) -> dict[str, str]:
    """Return the row of the table for a release."""
    log, root = BUILD / f"{release}.log", BUILD / release
    print(f"Debian {release}: about 10 minutes. Log: {log}", flush=True)
    shutil.rmtree(root, ignore_errors=True)
    with log.open("w") as output:
        try:
            create(root, RELEASES[release], output)
            # The visit runs in namespaces, so that nothing of it remains.
            command = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc")
            enter = ENTER.format(home=HOME)
            subprocess.run([*command, enter, "sh", root], stdout=output, stderr=output, check=False)
        finally:
            shutil.rmtree(root, ignore_errors=True)
    found = re.findall(r"(?m)^visit: (\w+)=(.*)$", log.read_text(errors="replace"))
    return {"release": release, "status": "failed", **dict(found)}


def create(root: Path, suite: tuple[str, ...], output: IO[str]) -> None:
    """Create the root of a suite, with an ordinary user and what the user visits."""
    apt = BUILD / "apt.conf"
    apt.write_text(run("apt-config", "dump", "Acquire"))
    options = ("--variant=minbase", f"--include={PACKAGES}", f"--aptopt={apt}")
    debian = ["mmdebstrap", *options, suite[0], str(root), *suite[1:]]
    subprocess.run(debian, stdout=output, stderr=output, check=True)
    for path in (Path("/etc/resolv.conf"), CERTIFICATES):
        shutil.copy(path, root / path.relative_to("/"))
    (root / "etc/pip.conf").write_text(pip_settings())
    run("chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", "newcomer")
    home = root / HOME.lstrip("/")
    (home / ".npmrc").write_text(f"cafile={CERTIFICATES}\n")
    shutil.copy(Path(__file__).with_name("visit.sh"), home)
    run("git", "-C", REPOSITORY, "bundle", "create", "--quiet", home / "repository.bundle", "HEAD")


def pip_settings() -> str:
    """Return those settings of pip on this machine that work in a root."""
    lines = ["[global]"]
    for line in run(sys.executable, "-m", "pip", "config", "list").splitlines():
        name, _, value = line.partition("=")
        name, (text,) = name.rpartition(".")[2], shlex.split(value)
        if name in PIP_SETTINGS and "file:" not in text:
            lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"


def run(*command: object) -> str:
    """Return the output of the command, which must succeed."""
    arguments = [str(each) for each in command]
    return subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main()
