import math
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import pytest

from grader.config.loading import complete_key, load_settings, parse_size, value_of, variable
from grader.config.settings import SETTINGS, SandboxChoice, Settings
from grader.model import Limits, MiB
from grader.model.errors import ConfigurationError
from grader.model.overrides import ExtractionRule
from grader.model.setting import declared


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's grader.toml out of the tests."""
    monkeypatch.chdir(tmp_path)


def keys_of(record: Any, prefix: str = "") -> set[str]:
    keys = set()
    for field in fields(record):
        value = getattr(record, field.name)
        name = f"{prefix}{field.name}"
        keys |= keys_of(value, f"{name}.") if is_dataclass(value) else {name}
    return keys


def with_value(key: str, value: Any) -> Settings:
    table, _, name = key.rpartition(".")
    changed: Any = {name: value}
    if table:
        changed = {table: replace(getattr(Settings(), table), **changed)}
    return replace(Settings(), **changed)


def is_choice(kind: Any) -> bool:
    return any(isinstance(k, type) and issubclass(k, Enum) for k in (kind, *get_args(kind)))


NUMBERS = sorted(key for key in SETTINGS if type(value_of(Settings(), key)) in (int, float))


def test_every_field_is_declared() -> None:
    assert keys_of(Settings()) == set(SETTINGS)


@pytest.mark.parametrize("key", NUMBERS)
def test_number_out_of_its_range_is_refused(key: str) -> None:
    setting = SETTINGS[key]
    outside = [math.nan, math.inf, -math.inf]
    outside += [] if setting.least is None else [setting.least - 0.01]
    outside += [] if setting.above is None else [setting.above, setting.above - 1]
    outside += [] if setting.most is None else [math.nextafter(setting.most, math.inf)]
    for number in outside:
        with pytest.raises(ConfigurationError, match=rf"^{re.escape(key)} is \S+; expected "):
            with_value(key, number)


@pytest.mark.parametrize(
    ("key", "bound"),
    [
        (key, bound)
        for key in NUMBERS
        for bound in (SETTINGS[key].least, SETTINGS[key].most)
        if bound is not None and key not in ("server.held_bytes", "conversation.relevance_weight")
    ],
)
def test_number_at_its_bound_is_accepted(key: str, bound: float) -> None:
    assert value_of(with_value(key, bound), key) == bound


@pytest.mark.parametrize("key", sorted(k for k, kind, _ in declared(Settings) if is_choice(kind)))
def test_unknown_name_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{re.escape(key)} is 'isolate'; expected one"):
        with_value(key, "isolate")


def test_name_may_be_given_as_text() -> None:
    assert with_value("require_integrity", "isolated").require_integrity is not None


@pytest.mark.parametrize("key", NUMBERS)
def test_count_size_or_time_has_a_lower_bound(key: str) -> None:
    may_be_negative = re.compile(
        r"reward\.(neutral|format_weight|length_weight)|math\.(right|wrong|missing)"
    )
    setting = SETTINGS[key]
    has_bound = setting.least is not None or setting.above is not None
    assert has_bound != bool(may_be_negative.fullmatch(key))


def test_variables_of_all_keys_differ() -> None:
    assert len({variable(key) for key in SETTINGS}) == len(SETTINGS)


def test_nothing_set_gives_the_defaults() -> None:
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert loaded.origins == {}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        pytest.param("sandbox", "native", SandboxChoice.NATIVE, id="choice"),
        pytest.param("slots", "3", 3, id="whole number"),
        pytest.param("stop_early", "yes", True, id="yes"),
        pytest.param("stop_early", "FALSE", False, id="false"),
        pytest.param("extraction", "last_block", ExtractionRule.LAST_BLOCK, id="rule"),
        pytest.param("problems", "p.jsonl", Path("p.jsonl"), id="path"),
        pytest.param("limits.cpu_time_s", "2.5", 2.5, id="number"),
        pytest.param("limits.cpu_time_s", "2", 2.0, id="whole number for a number"),
        pytest.param("limits.memory_bytes", "1GiB", 1024 * MiB, id="size"),
        pytest.param("limits.memory_bytes", "1048576", MiB, id="bytes"),
        pytest.param("docker.runtime", "runsc", "runsc", id="text"),
    ],
)
def test_variable_sets_its_key(key: str, text: str, value: object) -> None:
    loaded = load_settings(environ={variable(key): text})
    found = value_of(loaded.settings, key)
    assert (found, type(found)) == (value, type(value))
    assert loaded.origins == {key: variable(key)}


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        pytest.param({"GRADER_SLOT": "3"}, "did you mean GRADER_SLOTS", id="misspelt"),
        pytest.param({"GRADER_FOO": "1"}, "GRADER_FOO; `grader config` lists", id="unlike any"),
        pytest.param({"GRADER_SLOTS": "many"}, "GRADER_SLOTS gives slots = 'many'", id="word"),
        pytest.param({"GRADER_SLOTS": "2.5"}, "expected a whole number", id="fraction"),
        pytest.param({"GRADER_SLOTS": "0"}, "slots is 0; expected at least 1", id="no slot"),
        pytest.param({"GRADER_SANDBOX": "podman"}, "auto or docker or native", id="choice"),
        pytest.param({"GRADER_STOP_EARLY": "maybe"}, "true or false", id="truth"),
        pytest.param({"GRADER_RETRIES": "-1"}, "expected at least 0", id="negative"),
        pytest.param({"GRADER_LIMITS_CPU_TIME_S": "nan"}, "at least 0.01", id="nan"),
        pytest.param({"GRADER_LIMITS_CPU_TIME_S": "inf"}, "at most 1125", id="endless"),
        pytest.param({"GRADER_LIMITS_PROCESSES": "0"}, "at least 1", id="no process"),
        pytest.param({"GRADER_LIMITS_MEMORY_BYTES": "1XB"}, "such as 512MiB", id="unit"),
        pytest.param({"GRADER_CONFIG": "absent.toml"}, "cannot read absent.toml", id="no file"),
    ],
)
def test_bad_value_is_refused_by_name(environ: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ=environ)
    assert message in str(caught.value)


def test_empty_variable_is_not_set() -> None:
    assert load_settings(environ={"GRADER_SLOTS": ""}).origins == {}


def test_variable_of_another_program_is_left_alone() -> None:
    assert load_settings(environ={"GRADERS": "x", "PATH": "/"}).settings == Settings()


def test_file_in_the_current_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "grader.toml").write_text(
        'slots = 3\n[limits]\ncpu_time_s = 5\nmemory_bytes = "64MiB"\n[docker]\nruntime = "runsc"\n'
    )
    loaded = load_settings(environ={})
    assert loaded.settings.slots == 3
    assert loaded.settings.limits == Limits(cpu_time_s=5.0, memory_bytes=64 * MiB)
    assert loaded.settings.docker.runtime == "runsc"
    assert set(loaded.origins.values()) == {"grader.toml"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("slot = 3", "did you mean slots", id="misspelt"),
        pytest.param("limits = 3", "a table of settings, such as limits.cpu", id="table"),
        pytest.param("[limits]\ncpu_time = 3", "did you mean limits.cpu_time_s", id="in a table"),
        pytest.param("slots = true", "expected a whole number", id="truth for a number"),
        pytest.param("[limits]\nmemory_bytes = 1.5", "a whole number", id="fraction of a byte"),
        pytest.param("slots = ", "is not TOML", id="broken"),
    ],
)
def test_file_that_does_not_fit_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "grader.toml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ={})
    assert message in str(caught.value)


def test_later_sources_win(tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text("slots = 3\nretries = 3\n[images]\npython = 'mine'\n")
    loaded = load_settings(
        environ={"GRADER_CONFIG": str(config), "GRADER_SLOTS": "4", "GRADER_RETRIES": "4"},
        overrides={"slots": (5, "--slots")},
    )
    assert (loaded.settings.slots, loaded.settings.retries) == (5, 4)
    assert loaded.settings.images.python == "mine"
    assert loaded.origins == {
        "slots": "--slots",
        "retries": "GRADER_RETRIES",
        "images.python": str(config),
    }


def test_limit_may_be_named_without_its_table() -> None:
    assert complete_key("cpu_time_s") == "limits.cpu_time_s"


def test_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean limits\.memory_bytes"):
        complete_key("memory_byte")


@pytest.mark.parametrize(
    ("text", "size"), [("512MiB", 512 * MiB), ("1.5k", 1536), ("64 KiB", 65536), ("7b", 7)]
)
def test_size_with_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_loading_with_a_variable_imports_no_pydantic() -> None:
    code = (
        "import sys; from grader.config.loading import load_settings; "
        "load_settings(environ={'GRADER_SLOTS': '2'}); print('pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout == "False\n"
