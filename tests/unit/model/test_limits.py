"""Limits have the same range everywhere: in settings, in labels, and as overrides."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.config.settings import Settings
from grader.model import LimitOverrides, Limits
from grader.model.errors import ConfigurationError, LabelError
from grader.model.setting import declared
from grader.suites import parse_label

BOUNDS = {name: setting for name, _, setting in declared(Limits)}
WHOLE = st.one_of(st.integers(), st.integers(1, 2**64), st.just(10**5000))
SECONDS = st.one_of(WHOLE, st.floats(allow_nan=False, allow_infinity=False))
LIMIT = st.sampled_from(sorted(BOUNDS)).flatmap(
    lambda name: st.tuples(st.just(name), SECONDS if name.endswith("_s") else WHOLE)
)


@given(LIMIT)
def test_limit_is_taken_everywhere_or_nowhere(limit: tuple[str, Any]) -> None:
    name, value = limit
    bounds = BOUNDS[name]
    assert bounds.least is not None
    assert bounds.most is not None
    label = {"inputs": ["1"], "outputs": ["1"], "suite": {"limits": {name: value}}}
    if bounds.least <= value <= bounds.most:
        Settings(limits=Limits(**{name: value}))
        assert parse_label(label).limits == LimitOverrides(**{name: value})
        return
    expected = rf"limits\.{name} is .*; expected at least .* and at most"
    with pytest.raises(ConfigurationError, match=expected):
        Settings(limits=Limits(**{name: value}))
    with pytest.raises(LabelError, match=expected):
        parse_label(label)
    with pytest.raises(ValueError, match=expected):
        LimitOverrides(**{name: value})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"time_limit_ms": 1}, "cpu_time_s is 0.001; expected at least 0.01"),
        ({"time_limit": "5 ms"}, "cpu_time_s is 0.005; expected at least 0.01"),
        ({"memory_limit_bytes": 1}, "memory_bytes is 1; expected at least 1048576"),
        ({"memory_limit": "64 KiB"}, "memory_bytes is 65536; expected at least 1048576"),
    ],
)
def test_limit_of_a_row_that_is_too_low_is_the_fault_of_the_label(
    row: dict[str, Any], message: str
) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label({"test_cases": [{"input": "1", "output": "1"}], **row})
