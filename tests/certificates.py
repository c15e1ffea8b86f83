"""Certificates for tests: an authority of their own, and what it has signed."""

import subprocess
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """Signs certificates for 127.0.0.1. All of its files are PEM."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.certificate = folder / "authority.pem"
        self._key = folder / "authority.key"
        _openssl(
            "req", "-x509", *_KEY, "-keyout", self._key, "-out", self.certificate,
            "-subj", "/CN=authority of a test", "-days", "2",
        )  # fmt: skip

    def issue(self, name: str) -> tuple[Path, Path]:
        """Return a new certificate and its key."""
        certificate, key, request = (
            self._folder / f"{name}.{kind}" for kind in ("pem", "key", "csr")
        )
        _openssl(
            "req", *_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}",
            "-addext", "subjectAltName=IP:127.0.0.1",
        )  # fmt: skip
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key,
            "-out", certificate, "-copy_extensions", "copy", "-days", "2",
        )  # fmt: skip
        return certificate, key


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
