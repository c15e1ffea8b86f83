"""Write each variant's requirements.lock: every wheel of both architectures by its hash.

    python -m sandbox_images.lock

A variant's own packages stand in its requirements.in. What the plain image has already is
pinned to the same version, and left out of the lock of the image that is built on it. The lock of
`language` has the programs that images of other languages take from wheels.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PYTHON_VERSION = "3.11"
"""Of Debian bookworm, which the images are based on."""

MACHINES = ("x86_64", "aarch64")

_HERE = Path(__file__).resolve().parent
_GLIBC_MINORS = (17, 24, 26, 27, 28, 31, 34, 35)


def platform_options(machine: str) -> list[str]:
    """Return pip's options for wheels that run in the images on a machine."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in _GLIBC_MINORS]
    platforms.append(f"manylinux2014_{machine}")
    options = ["--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON_VERSION}"]
    return options + [f"--platform={platform}" for platform in platforms]


def main() -> None:
    """Write the locks; each includes the one before."""
    pinned: list[str] = []
    for variant in ("python", "science", "language"):
        found: dict[str, set[str]] = {}
        for machine in MACHINES:
            for requirement, digest in _resolve(variant, machine, pinned):
                found.setdefault(requirement, set()).add(digest)
        new = {name: digests for name, digests in found.items() if name not in pinned}
        lines = [_line(name, new[name]) for name in sorted(new)]
        lock = _HERE / variant / "requirements.lock"
        lock.write_text("# Written by sandbox_images/lock.py.\n" + "".join(lines))
        pinned += new


def _resolve(variant: str, machine: str, pinned: Iterable[str]) -> list[tuple[str, str]]:
    """Return name and version, and hash, of all that a variant needs."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report=-"]
    command += ["--ignore-installed", "--target=unused", *platform_options(machine)]
    command += [f"--requirement={_HERE / variant / 'requirements.in'}", *pinned]
    listing = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return [
        (
            f"{entry['metadata']['name'].lower()}=={entry['metadata']['version']}",
            entry["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for entry in json.loads(listing.stdout)["install"]
    ]


def _line(requirement: str, digests: Iterable[str]) -> str:
    return " \\\n".join((requirement, *(f"    --hash=sha256:{d}" for d in sorted(digests)))) + "\n"


if __name__ == "__main__":
    main()
