from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a certificate and its key in one file."""
    folder = tmp_path_factory.mktemp("certificate")
    names = ("-subj", "/CN=fields.example.com", "-keyout", "key.pem", "-out", "certificate.pem")
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    file = folder / "both.pem"
    file.write_bytes((folder / "key.pem").read_bytes() + (folder / "certificate.pem").read_bytes())
    return file
