"""Building the sandbox images, even if no registry can be reached.

An image holds a Python, the packages of its variant and the harness. The recipes are in
sandbox_images/. The packages that a build needs are fetched here, on the host, because a build may
have no network at all. An image is labelled with a digest of its harness, because both ends of the
wire must have the same version.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import IO

import sandbox_images
from grader import languages
from grader.config.settings import Settings
from grader.model.errors import ConfigurationError, ImageNotFoundError, SandboxError
from grader.sandbox.docker.engine import Engine
from grader.sandbox.packages import install_further, install_locked, parse_packages

VARIANTS = ("python", "science")
"""The images for Python. `grader.languages` names those of other languages."""

DEFAULT_BASE = "debian:bookworm-slim"
_RELEASE = "bookworm"

HARNESS_LABEL = "grader.harness"

_RECIPES = Path(sandbox_images.__file__).parent
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "no_proxy")

Progress = Callable[[str], None]
"""Takes a line that says what is happening."""


def image_name(variant: str, settings: Settings) -> str:
    """Return the name of a variant's image.

    Raises:
        ImageNotFoundError: There is no such variant.
    """
    if variant in VARIANTS:
        return str(getattr(settings.images, variant))
    if all(part in VARIANTS or languages.in_image(part) for part in languages.parts(variant)):
        # Like the plain image that it is built on, but with the variant's name as the tag.
        return f"{_without_tag(settings.images.python)}:{variant.replace('+', '-')}"
    message = f"there is no image variant {variant!r}; expected one of {', '.join(all_variants())}"
    raise ImageNotFoundError(message)


def all_variants() -> tuple[str, ...]:
    """Return the variants for Python and those for other languages."""
    found = dict.fromkeys(language.image for language in languages.languages().values())
    return (*VARIANTS, *found)


def _without_tag(image: str) -> str:
    name, colon, tag = image.rpartition(":")
    return name if colon and "/" not in tag else image


@cache
def harness_digest() -> str:
    """Return a digest of this grader's harness. An image must be labelled with it."""
    digest = hashlib.sha256()
    for path in _harness_files():
        digest.update(f"{path.relative_to(_RECIPES)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def check(engine: Engine, variant: str, settings: Settings) -> str:
    """Return the id of a variant's image, after checking that it fits this grader.

    Raises:
        ImageNotFoundError: It is missing or has another harness. The message says what to run.
        SandboxUnavailableError: The engine does not answer.
    """
    name = image_name(variant, settings)
    found = engine.image(name)
    remedy = f"run `grader images build {variant}`"
    if found is None:
        message = f"there is no image {name}: {remedy}"
        raise ImageNotFoundError(message)
    image, labels = found
    stamp = labels.get(HARNESS_LABEL)
    if stamp != harness_digest():
        has = f"harness {stamp[:12]}" if stamp else "no harness of this grader"
        message = f"the image {name} has {has}, this grader needs {harness_digest()[:12]}: {remedy}"
        raise ImageNotFoundError(message)
    return image


def build(
    variant: str = "python",
    *,
    progress: Progress,
    settings: Settings | None = None,
    base: str | None = None,
    wheels: Path | None = None,
    packages: str | None = None,
) -> str:
    """Build a variant's image, and its base if that is missing.

    Args:
        variant: One of `all_variants`, or several of them that `languages.joined` has joined.
        progress: Called with each line that the build prints.
        settings: None for the defaults.
        base: The image to build on. It needs Debian's apt, or a Python 3.11. None: for "python",
            `DEFAULT_BASE`, which is pulled or else made with debootstrap; for all others, the
            plain image.
        wheels: A folder with every wheel of the variant's lock and of `packages`, for a host
            without a package index. None: pip fetches them.
        packages: Further Python packages for the image, with blanks between them, such as
            "matplotlib bs4"; or the path of a requirements file. Only for `VARIANTS`.

    Returns:
        The image's name.

    Raises:
        ConfigurationError: The host lacks pip or the Docker SDK, `packages` does not name
            packages, or the variant takes none.
        ImageNotFoundError: No such variant, or its base is missing and cannot be made here; the
            message says how.
        SandboxError: A step of the build failed.
        SandboxUnavailableError: No engine answers.
    """
    settings = settings or Settings()
    name = image_name(variant, settings)
    further = [] if packages is None else parse_packages(packages)
    if further and variant not in VARIANTS:
        message = f"packages are for the images {' and '.join(VARIANTS)}, not for {variant!r}"
        raise ConfigurationError(message)
    engine = Engine.connect(settings.docker.host)
    try:
        if base is None:
            base = _default_base(engine, variant, settings, progress)
        before = engine.image(name)
        arguments = {"BASE": base, **_proxies()}
        if found := languages.in_image(variant):
            arguments["PACKAGES"] = " ".join(debian_packages(found))
        labels = {HARNESS_LABEL: harness_digest()}
        with tempfile.TemporaryFile() as context:
            machine = engine.info().machine
            write_context(context, variant, machine, wheels, further, progress=progress)
            context.seek(0)
            for line in engine.build(context, name=name, arguments=arguments, labels=labels):
                progress(line)
        after = engine.image(name)
        if before is not None and after is not None and before[0] != after[0]:
            engine.remove_image(before[0])
    finally:
        engine.close()
    return name


def debian_packages(found: Iterable[languages.Language]) -> list[str]:
    """Return the Debian packages that the image of some languages needs."""
    names = (
        package
        for language in found
        for program, package in language.packages.items()
        if program not in language.wheels
    )
    return list(dict.fromkeys(" ".join(names).split()))


def _proxies() -> dict[str, str]:
    """Return the host's proxy settings as build arguments, which images do not keep."""
    both_cases = (*_PROXY_VARIABLES, *(name.upper() for name in _PROXY_VARIABLES))
    return {name: os.environ[name] for name in both_cases if name in os.environ}


# ---------------------------------------------------------------- base


def _default_base(engine: Engine, variant: str, settings: Settings, progress: Progress) -> str:
    if variant == "python":
        _provide_base(engine, progress)
        return DEFAULT_BASE
    below = next((part for part in languages.parts(variant) if part in VARIANTS), "python")
    if below == variant:
        below = "python"
    try:
        check(engine, below, settings)
    except ImageNotFoundError:
        build(below, progress=progress, settings=settings)
    return image_name(below, settings)


def _provide_base(engine: Engine, progress: Progress) -> None:
    """Make sure that the default base exists: pull it, else make it from Debian's packages."""
    if engine.image(DEFAULT_BASE) is not None:
        return
    progress(f"Pulling {DEFAULT_BASE}")
    try:
        engine.pull(DEFAULT_BASE)
    except SandboxError as error:
        progress(f"{error}; making it with debootstrap instead")
        _require_debootstrap(error)
        _bootstrap(engine, progress)


def _require_debootstrap(cause: SandboxError) -> None:
    missing = []
    if os.geteuid() != 0:
        missing.append("root")
    if shutil.which("debootstrap") is None:
        missing.append("debootstrap (apt-get install debootstrap)")
    if missing:
        message = (
            f"the base image {DEFAULT_BASE} is missing and could not be pulled, and making it "
            f"here needs {' and '.join(missing)}. On any machine that has both:\n"
            f"  debootstrap --variant=minbase {_RELEASE} root\n"
            f"  tar -C root -c . | docker import - {DEFAULT_BASE}"
        )
        raise ImageNotFoundError(message) from cause


def _bootstrap(engine: Engine, progress: Progress) -> None:
    with tempfile.TemporaryDirectory(prefix="grader-base-") as folder:
        root, archive = Path(folder, "root"), Path(folder, "root.tar")
        command = ["debootstrap", "--variant=minbase", _RELEASE, str(root)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            last = ""
            for line in process.stdout:
                last = line.strip() or last
                progress(last)
        if process.returncode:
            message = f"debootstrap failed with exit code {process.returncode}: {last}"
            raise SandboxError(message)
        tar = ["tar", "--numeric-owner", "--exclude=./var/cache/apt/archives/*.deb"]
        subprocess.run([*tar, "-C", str(root), "-cf", str(archive), "."], check=True)
        engine.import_archive(str(archive), DEFAULT_BASE)


# ---------------------------------------------------------------- context


def _harness_files() -> list[Path]:
    return [_RECIPES / "__init__.py", *sorted((_RECIPES / "harness").rglob("*.py"))]


def write_context(
    context: IO[bytes],
    variant: str,
    machine: str,
    wheels: Path | None = None,
    further: Sequence[str] = (),
    *,
    progress: Progress,
) -> None:
    """Write the build context: the recipe, the variant's packages and the harness.

    Args:
        context: Gets it, as a tar archive.
        variant: One of `all_variants`.
        machine: What the image is for, as `os.uname().machine` names it.
        wheels: As of `build`.
        further: Packages for the image besides those of its lock.
        progress: As of `build`.

    Raises:
        ConfigurationError: The host lacks pip.
        SandboxError: The packages cannot be fetched.
    """
    with (
        tempfile.TemporaryDirectory(prefix="grader-packages-") as folder,
        tarfile.open(fileobj=context, mode="w") as archive,
    ):
        recipe = _RECIPES / (variant if variant in VARIANTS else "language")
        dockerfile, prebuilt = Path(folder, "Dockerfile"), Path(folder, "prebuilt")
        packages = Path(folder, "packages")
        steps = _write_prebuilt(variant, prebuilt)
        if steps:
            archive.add(prebuilt, prebuilt.name, filter=_plain)
        if programs := _programs_of_wheels(variant):
            progress(f"Fetching {' and '.join(programs)}")
            install_locked(packages, recipe / "requirements.lock", machine, wheels)
            steps += "\nCOPY programs /usr/local/bin/\n"
            for name, inside in programs.items():
                archive.add(packages / inside, f"programs/{name}", filter=_plain)
        dockerfile.write_text((recipe / "Dockerfile").read_text() + steps)
        archive.add(dockerfile, dockerfile.name, filter=_plain)
        if variant in VARIANTS:
            progress(f"Fetching the packages of the {variant} image")
            install_locked(packages, recipe / "requirements.lock", machine, wheels)
            if further:
                progress(f"Fetching {' '.join(further)}")
                below = VARIANTS[: VARIANTS.index(variant) + 1]
                locks = [_RECIPES / each / "requirements.lock" for each in below]
                install_further(packages, further, locks=locks, machine=machine, wheels=wheels)
            # Their first lines would name the host's Python.
            shutil.rmtree(packages / "bin", ignore_errors=True)
            archive.add(packages, "packages", filter=_plain)
        for path in _harness_files():
            archive.add(path, str(path.relative_to(_RECIPES.parent)), filter=_plain)


def _programs_of_wheels(variant: str) -> dict[str, str]:
    """Return the programs that a variant has from wheels, with their paths there."""
    found = languages.in_image(variant)
    return {name: path for language in found for name, path in language.wheels.items()}


def _write_prebuilt(variant: str, folder: Path) -> str:
    """Write what to make for a variant's compilers beforehand; return the steps that make it."""
    found = {each.prebuilt for each in languages.in_image(variant) if each.prebuilt is not None}
    steps = [f"\nCOPY {folder.name} {languages.PREBUILT}\n"] if found else []
    for each in sorted(found):
        source = folder / each.source_path
        for path in (source, folder / each.path):
            path.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(each.source)
        command = each.command_for(
            file=f"{languages.PREBUILT}/{each.path}",
            source=f"{languages.PREBUILT}/{each.source_path}",
        )
        steps.append(f"RUN {json.dumps(command)}\n")
    return "".join(steps)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Drop what differs between hosts, so that an unchanged step comes from the cache."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
