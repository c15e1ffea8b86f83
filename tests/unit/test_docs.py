"""The documentation says what the program does: settings, verdicts, commands, links."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.config.loading import value_of, variable
from grader.config.settings import SETTINGS, Settings
from grader.model.verdict import Suspicion, Verdict
from grader.report.reasons import FAMILIES
from grader.scoring.policies import POLICIES
from grader.suites.registry import FORMATS

REPO = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *REPO.glob("*.md"),
        *REPO.glob("docs/**/*.md"),
        *REPO.glob("examples/*.md"),
        *REPO.glob("benchmarks/*.md"),
        *REPO.glob("sandbox_images/**/*.md"),
    ]
)
ADRS = sorted(REPO.glob("docs/adr/*.md"))

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MENTIONED_PATH = re.compile(
    r"`((?:grader|worker|sandbox_images|tests|docs|scripts|examples|benchmarks|agreement|deploy)"
    r"/[\w./-]*\w/?)`"
)


def page_id(path: Path) -> str:
    return str(path.relative_to(REPO))


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def shell_commands(page: Path) -> Iterator[list[str]]:
    for language, block in FENCE.findall(page.read_text()):
        if language in ("sh", "bash", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                words = line.partition("#")[0].removeprefix("$ ").split()
                if words:
                    yield words


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_paths_that_are_mentioned_exist(page: Path) -> None:
    mentioned = MENTIONED_PATH.findall(page.read_text())
    assert [path for path in mentioned if not (REPO / path).exists()] == []


@pytest.mark.parametrize("sign", Suspicion)
def test_every_sign_is_documented_with_its_family(sign: Suspicion) -> None:
    page = (REPO / "docs/verdicts.md").read_text()
    assert f"\n| `{sign}` |" in page
    assert re.findall(rf"^\| (.+?) \| [^|]*`{sign}`", page, re.MULTILINE) == [FAMILIES[sign]]


def test_every_test_that_the_threat_model_names_exists() -> None:
    page = (REPO / "docs/threat-model.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", page)
    missing = [
        name
        for path, names in named
        for name in re.findall(r"`(\w+)`", names)
        if f"def test_{name}(" not in (REPO / path).read_text()
    ]
    assert len(named) > 10
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_that_are_shown_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(), re.MULTILINE))
    for words in shell_commands(page):
        if words[0] == "make":
            assert set(words[1:]) <= targets, words
        if words[0].startswith(("./", "examples/")):
            assert (REPO / words[0]).is_file(), words


def test_grader_commands_that_are_shown_exist() -> None:
    from typer.main import get_command

    from grader.cli.app import app

    command = get_command(app)
    shown = [words for page in PAGES for words in shell_commands(page) if words[0] == "grader"]
    assert shown
    for page in PAGES:
        text = FENCE.sub("", page.read_text())
        shown += [named.split() for named in re.findall(r"`(grader [^`|]+)`", text)]
    for words in shown:
        group = command
        for word in words[1:]:
            subcommands = getattr(group, "commands", None)
            if subcommands is None or word == "--help":
                break
            assert word in subcommands, words
            group = subcommands[word]
        options = {name for parameter in group.params for name in parameter.opts}
        options |= {name for parameter in group.params for name in parameter.secondary_opts}
        used = {word.partition("=")[0] for word in words if re.match(r"--?\w", word)}
        assert used <= options | {"--help"}, words


def test_readme_counts_the_label_formats() -> None:
    assert f"[{len(FORMATS)} label formats]" in (REPO / "README.md").read_text()


def shown_default(key: str) -> str:
    value = value_of(Settings(), key)
    if (words := SETTINGS[key].default) is not None:
        return words
    if key.endswith("_bytes"):
        unit = next(unit for unit in (1 << 30, 1 << 20, 1 << 10) if value % unit == 0)
        return f"{value // unit} {({1 << 30: 'GiB', 1 << 20: 'MiB', 1 << 10: 'KiB'})[unit]}"
    if unit_of_time := re.search(r"_(s|ms)$", key):
        return f"{value:g} {unit_of_time[1]}"
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{shown}`" if shown else "none"


@pytest.mark.parametrize("key", sorted(SETTINGS))
def test_setting_has_its_row_in_the_documentation(key: str) -> None:
    meaning = SETTINGS[key].meaning.replace("|", r"\|")
    row = f"| `{key}` | `{variable(key)}` | {shown_default(key)} | {meaning} |"
    assert row in (REPO / "docs/configuration.md").read_text().splitlines()


@pytest.mark.parametrize("verdict", list(Verdict))
def test_verdict_is_documented_with_its_code(verdict: Verdict) -> None:
    row = re.compile(rf"^\|[^\n]*`{verdict.value}`[^\n]*\b{verdict.code}\b", re.MULTILINE)
    assert row.search((REPO / "docs/verdicts.md").read_text())
    assert row.search((REPO / "README.md").read_text())


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_policy_is_in_the_readme(policy: str) -> None:
    assert f"| `{policy}`" in (REPO / "README.md").read_text()


def test_every_page_of_docs_is_in_the_index() -> None:
    index = REPO / "docs/index.md"
    linked = {(index.parent / target).resolve() for target in LINK.findall(index.read_text())}
    pages = set(REPO.glob("docs/**/*.md"))
    assert pages - linked - {index} == set()


def test_decisions_have_numbers_of_their_own() -> None:
    numbers = [path.name[:4] for path in ADRS]
    assert all(number.isdecimal() for number in numbers)
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("path", ADRS, ids=page_id)
def test_decision_has_context_decision_and_consequences(path: Path) -> None:
    assert anchors(path) >= {"context", "decision", "consequences"}


def test_runbook_explains_every_error() -> None:
    sources = (file.read_text() for file in (REPO / "grader").rglob("*.py"))
    bases = dict(
        found
        for source in sources
        for found in re.findall(r"^class ([A-Z]\w+Error)\((\w+)\):", source, re.MULTILINE)
    )
    ours = {"GraderError"}
    while more := {name for name, base in bases.items() if base in ours} - ours:
        ours |= more
    table = (REPO / "docs/runbook.md").read_text().partition("## Errors")[2]
    rows = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
    explained = {name for row in rows for name in re.findall(r"`(\w+Error)`", row)}
    assert explained == ours - {"GraderError"}
