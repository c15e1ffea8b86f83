"""The cache of suites that were used last."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from grader.model import wire
from grader.suites.cache import EncodedSuites, SuiteCache
from tests.factories import make_suite

MOST_BYTES = 1000

uses = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 2 * MOST_BYTES)), max_size=50)


@given(uses)
def test_caches_with_equal_calls_hold_equal_suites(seen: list[tuple[str, int]]) -> None:
    sender: SuiteCache[bool] = SuiteCache(MOST_BYTES)
    receiver: SuiteCache[str] = SuiteCache(MOST_BYTES)
    for key, size in seen:
        if not sender.get(key):
            sender.keep(key, True, size)
            receiver.keep(key, key.upper(), size)
        assert receiver.get(key) == key.upper()


def test_suite_used_longest_ago_is_dropped_first() -> None:
    cache: SuiteCache[int] = SuiteCache(MOST_BYTES)
    for number, key in enumerate("abc"):
        cache.keep(key, number, 400)
    assert cache.get("b") == 1
    cache.keep("d", 3, 400)
    assert [key in cache for key in "abcd"] == [False, True, False, True]


def test_newest_suite_stays_even_if_it_is_too_large() -> None:
    cache: SuiteCache[int] = SuiteCache(MOST_BYTES)
    cache.keep("small", 1, 1)
    cache.keep("large", 2, MOST_BYTES)
    assert "small" not in cache
    assert cache.get("large") == 2


def test_suite_is_encoded_once_for_each_language() -> None:
    suite, made = make_suite(), []
    known = EncodedSuites()

    def encode(language: str) -> bytes:
        made.append(language)
        return language.encode() + wire.encode_suite(suite)

    def get(language: str) -> str:
        return known.get(suite, lambda: encode(language), language=language).digest

    assert get("c") == get("c") != get("go") == get("go")
    assert made == ["c", "go"]


def test_equal_suites_have_one_digest_and_different_ones_two() -> None:
    known = EncodedSuites()
    one, equal, other = make_suite(), make_suite(), make_suite(prelude="import math")
    digests = [
        known.get(suite, partial(wire.encode_suite, suite)).digest for suite in (one, equal, other)
    ]
    assert digests[0] == digests[1] != digests[2]
