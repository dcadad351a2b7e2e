"""An operator's first day: the commands of the pages, on an empty Debian 13 with systemd."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..docs.blocks import Block, blocks_of
from ..support.waiting import eventually
from .files import REPOSITORY
from .machine import CLONE, Machine

PAGES = (
    "installing",
    "operating/data",
    "operating/monitoring",
    "operating/production-checklist",
    "operating/proxies",
    "operating/storage",
    "operating/upgrading",
)
BLOCKS = [
    block
    for page in PAGES
    for block in blocks_of(
        f"docs/{page}.md", (REPOSITORY / "docs" / f"{page}.md").read_text("utf-8")
    )
    if Path(__file__).name in (block.not_run or "")
]
READ = (
    "curl --silent --fail-with-body --cacert /etc/ssl/fields.example.com.pem"
    " https://fields.example.com/api/v1/recipient_fields"
    ' --header "Authorization: Bearer $RECIPIENT_FIELDS_API_KEY"'
)
VERSION = re.compile(r"recipient_fields-([\d.]+)-py3")


def block_with(text: str, page: str) -> str:
    """Return the block of a page that contains this text."""
    (block,) = (b for b in BLOCKS if b.page == f"docs/{page}.md" and text in b.text)
    return block.text


def checklist() -> list[str]:
    return [block.text for block in BLOCKS if block.page.endswith("checklist.md")]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Return a machine on which the first block of the checklist has run."""
    folder = tmp_path_factory.mktemp("machine")
    machine = Machine.create(folder / "root")
    install, *_ = checklist()
    machine.prepare(install)
    # After its start, the machine has no network: the upgrade installs these.
    machine.prepare(
        "/opt/recipient-fields/bin/pip download --quiet --dest /srv/packages --no-deps"
        " --require-hashes --requirement requirements.txt --requirement requirements-build.txt"
    )
    install_release(machine)
    with machine.running():
        machine.paste("export PIP_NO_INDEX=1 PIP_FIND_LINKS=/srv/packages")
        yield machine


def install_release(machine: Machine) -> None:
    """Install the files of a release as *Installing* does, and delete the installation."""
    block = block_with("SHA256SUMS", "installing")
    (version,) = {*VERSION.findall(block)}
    folder = machine.root / "srv" / "release"
    folder.mkdir()
    source = folder / f"recipient_fields-{version}.tar.gz"
    archive = (
        "git",
        "archive",
        f"--prefix=recipient_fields-{version}/",
        f"--output={source}",
        "HEAD",
    )
    subprocess.run(archive, cwd=REPOSITORY, check=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
            *("--wheel-dir", folder, source),
        ],
        check=True,
    )
    sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in folder.iterdir()]
    (folder / "SHA256SUMS").write_text("".join(sums))

    installed = f"/opt/recipient-fields-{version}"
    printed = machine.prepare(
        f"mv {installed} /opt/kept; cd ../release\n{block}\n"
        f"{installed}/bin/recipient-fields --version\nrm -r {installed}; mv /opt/kept {installed}"
    )
    assert f"recipient-fields, version {version}" in printed


def test_an_operators_first_day(machine: Machine) -> None:
    _, roles, start, nginx, prometheus, first_request = checklist()
    machine.paste(roles)
    machine.paste(start)
    machine.paste(nginx)
    machine.paste(prometheus)
    eventually(lambda: is_ready(machine))
    assert '{"recipient_fields":[]}' in machine.paste(first_request)
    metrics = "curl --silent 127.0.0.1:9090/api/v1/query?query=up%7Bjob=%22recipient-fields%22%7D"
    eventually(lambda: [each["value"][1] for each in results(machine.paste(metrics))] == ["1", "1"])
    assert "/console/sign-in" in machine.paste(
        "curl --silent --cacert /etc/ssl/fields.example.com.pem --output /dev/null"
        " --write-out '%{redirect_url}' https://fields.example.com/console"
    )
    check_secrets(machine)
    check_slow_start_of_the_database(machine)
    check_certificate(machine)
    check_audit_log_and_pruning(machine)
    dump = check_backup(machine)
    check_restore(machine, dump)
    check_upgrade(machine)


def is_ready(machine: Machine) -> bool:
    probe = "curl --silent 127.0.0.1:940{0,1}/readyz || true"
    return machine.paste(probe).count('"ready"') == 2


def results(text: str) -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = json.loads(text)["data"]["result"]
    return found


def check_secrets(machine: Machine) -> None:
    """Only root can read the files with passwords, and no process has one on its command line."""
    modes = machine.paste("stat --format '%a %U' /etc/recipient-fields*")
    assert {*modes.splitlines()} == {"600 root"}
    machine.paste(
        "cat /proc/[0-9]*/cmdline > /root/lines 2> /dev/null || true\n"
        "sed 's/.*://' /etc/recipient-fields-owner.pgpass > /root/password"
    )
    found = "grep --text --count --fixed-strings --file /root/password /root/lines || true"
    assert machine.paste(found) == "0\n"


def check_slow_start_of_the_database(machine: Machine) -> None:
    """Systemd starts the service again until PostgreSQL accepts connections."""
    machine.paste(
        "systemctl stop postgresql; systemctl restart recipient-fields@0 recipient-fields@1"
    )
    restarts = "systemctl show --value --property NRestarts recipient-fields@0"
    eventually(lambda: int(machine.paste(restarts)) > 6)
    machine.paste("systemctl start postgresql")
    eventually(lambda: is_ready(machine))


def check_certificate(machine: Machine) -> None:
    """Check that nginx serves a renewed certificate after the hook has run."""
    machine.paste(block_with("renewal-hooks", "operating/proxies"))
    machine.paste(
        "mkdir /root/lineage; openssl req -x509 -newkey rsa:2048 -noenc -subj /CN=renewed"
        " -addext subjectAltName=DNS:fields.example.com -keyout /root/lineage/privkey.pem"
        " -out /root/lineage/fullchain.pem 2> /dev/null\n"
        "RENEWED_LINEAGE=/root/lineage /etc/letsencrypt/renewal-hooks/deploy/recipient-fields"
    )
    shown = (
        "openssl s_client -connect 127.0.0.1:443 -servername fields.example.com < /dev/null"
        " 2> /dev/null | openssl x509 -noout -subject"
    )
    eventually(lambda: "renewed" in machine.paste(shown))
    assert machine.paste(READ) == '{"recipient_fields":[]}'


def check_audit_log_and_pruning(machine: Machine) -> None:
    machine.paste(block_with("logrotate", "operating/monitoring"))
    command = "/opt/recipient-fields/bin/recipient-fields keys create --organization Acme"
    machine.paste(f"runuser -u recipient-fields -- {command} --name Audited > /dev/null")
    timers = machine.paste(block_with("recipient-fields-prune", "operating/data"))
    assert "recipient-fields-prune@1.timer" in timers
    log = "/var/log/recipient-fields/audit.log"
    assert machine.paste(f"stat --format '%a %U' {log}").split() == ["600", "recipient-fields"]
    machine.paste("logrotate --force /etc/logrotate.d/recipient-fields")
    assert f"{log}-" in machine.paste(f"ls {log}*")
    machine.paste("systemctl start recipient-fields-prune@1.service")


def check_backup(machine: Machine) -> str:
    """Return the path of the dump."""
    machine.paste(
        READ + " --header 'Content-Type: application/json' --data"
        """ '{"recipient_field": {"name": "City", "key": "city", "data_type": "text"}}'"""
    )
    (name,) = machine.paste(block_with("recipient-fields-backup", "operating/storage")).split()[-1:]
    dump = f"/var/lib/recipient-fields-backups/{name}"
    assert machine.paste(f"stat --dereference --format '%a' {dump}").strip() == "600"
    return dump


def check_restore(machine: Machine, dump: str) -> None:
    """Restore the dump on a second server, and use it as the service does."""
    machine.paste("pg_createcluster --start 17 other > /dev/null; export PGPORT=5433")
    machine.paste(f"DUMP={dump}")
    machine.paste(block_with("pg_restore", "operating/storage"))
    url = "postgresql://recipient_fields_service:$SERVICE_PASSWORD@127.0.0.1:5433/recipient_fields"
    command = "/opt/recipient-fields/bin/recipient-fields fields list --organization Acme"
    fields = machine.paste(f'RECIPIENT_FIELDS_STORAGE="{url}" {command}')
    assert "city" in fields
    timeout = machine.paste(f'psql --tuples-only --command "SHOW statement_timeout" "{url}"')
    assert timeout.strip() == "2500ms"
    machine.paste("unset PGPORT OWNER_PASSWORD SERVICE_PASSWORD; pg_dropcluster --stop 17 other")


def check_upgrade(machine: Machine) -> None:
    """Upgrade to a version that differs in its number only. A failed command ends the block."""
    block = block_with("pg_dump", "operating/upgrading")
    old = machine.paste("readlink /opt/recipient-fields").strip()
    new = "99.0.0"
    block = re.sub(r"/opt/recipient-fields-[\d.]+", f"/opt/recipient-fields-{new}", block)
    # The folder of the old version exists, so the second command of the block fails.
    assert "status 1" in machine.paste(f"set +e\n{block}\necho status $?; set -e")
    assert machine.paste("readlink /opt/recipient-fields").strip() == old

    machine.paste(
        f"sed -i 's/^version = .*/version = \"{new}\"/' pyproject.toml; git -c user.name=Dana"
        f" -c user.email=dana@acme.example commit --quiet --all --message 'Release {new}'"
    )
    printed = machine.paste(block)
    assert printed.count("ready") == 2
    build = machine.paste("curl --silent 127.0.0.1:940{0,1}/metrics | grep build_info{")
    assert build.count(f'version="{new}"') == 2
    assert "city" in machine.paste(READ)


def test_every_command_that_the_pages_promise_to_test_has_run() -> None:
    """A block whose lines are all in the checklist is not run twice."""
    in_checklist = {line for text in checklist() for line in text.splitlines()}
    parts = {
        "renewal-hooks": "proxies",
        "logrotate": "monitoring",
        "recipient-fields-prune": "data",
        "recipient-fields-backup": "storage",
        "pg_restore": "storage",
    }
    run = {
        *checklist(),
        *(block_with(part, f"operating/{page}") for part, page in parts.items()),
        block_with("SHA256SUMS", "installing"),
        block_with("pg_dump", "operating/upgrading"),
    }

    def is_run(block: Block) -> bool:
        return block.text in run or in_checklist.issuperset(block.text.splitlines())

    assert [str(block) for block in BLOCKS if not is_run(block)] == []


def test_the_installation_ignores_the_files_of_earlier_builds(machine: Machine) -> None:
    stale = f"{CLONE}/build/lib/recipient_fields/domain"
    machine.paste(
        f"mkdir -p {stale}; echo > {stale}/stale.py; docs/deploy/install.sh /root/installed"
    )

    assert machine.paste("find /root/installed -name stale.py") == ""
    machine.paste("find /root/installed -path '*recipient_fields/domain/__init__.py' | grep .")
