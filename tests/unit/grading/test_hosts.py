"""Which process grades a submission, and the messages to host processes."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grading import Grading
from grader.grading.host_messages import (
    decode_settings,
    differ_in_rules_alone,
    encode_settings,
    make_order,
    read_order,
)
from grader.grading.hosts import OWN_SLOTS, SLOTS_PER_PROCESS, Hosts
from grader.grading.stopping import StopHandle
from grader.model import GradeReport
from grader.model.errors import ConfigurationError
from grader.model.overrides import ExtractionRule, GradingRules
from grader.model.verdict import Integrity
from grader.process.threads import Threads
from grader.sandbox.pool import SlotCounts
from grader.suites.cache import EncodedSuite
from tests.factories import make_report, make_submission

Eventually = Callable[[Callable[[], bool], float], None]

SLOTS = SLOTS_PER_PROCESS + 3
SETTINGS = Settings(slots=SLOTS, sandbox=SandboxChoice.NATIVE)
NONE = SlotCounts(busy=0, idle=0, unopened=0)


class Here:
    """Grades in this process, once it is allowed to."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.lock = threading.Lock()
        self.running = self.most = 0

    def __call__(self, grading: Grading) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.go.wait(30)
        with self.lock:
            self.running -= 1
        grading.settle(make_report())


def make_hosts(here: Here | None = None) -> Hosts:
    return Hosts(
        SETTINGS,
        SandboxChoice.NATIVE,
        threads=Threads(SLOTS, "test"),
        grade_here=here or Here(),
        on_turn=lambda _: None,
    )


def grade_many(hosts: Hosts, count: int) -> "list[Future[GradeReport]]":
    futures: list[Future[GradeReport]] = [Future() for _ in range(count)]
    for future in futures:
        hosts.grade(
            Grading(
                submission=make_submission(),
                settings=SETTINGS,
                handle=StopHandle(),
                settle=future.set_result,
            )
        )
    return futures


def test_where_no_host_process_starts_this_one_uses_all_slots(
    monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    here = Here()
    hosts = make_hosts(here)
    futures = grade_many(hosts, 3 * SLOTS)
    eventually(lambda: here.running == SLOTS, 20)
    here.go.set()
    assert [future.result(20) for future in futures] == [make_report()] * 3 * SLOTS
    assert here.most == SLOTS
    hosts.close()


def test_no_host_process_starts_for_what_this_one_has_slots_for(eventually: Eventually) -> None:
    here = Here()
    hosts = make_hosts(here)
    futures = grade_many(hosts, OWN_SLOTS)
    eventually(lambda: here.running == OWN_SLOTS, 20)
    assert not any(thread.name.startswith("host-") for thread in threading.enumerate())
    here.go.set()
    for future in futures:
        future.result(20)
    hosts.close()


def test_what_must_run_here_may_use_every_slot_and_no_more() -> None:
    hosts = make_hosts()
    late = threading.Event()

    def one_more() -> None:
        with hosts.here():
            late.set()

    with ExitStack() as held:
        for _ in range(SLOTS):
            held.enter_context(hosts.here())
        assert hosts.counts(NONE).busy == SLOTS
        thread = threading.Thread(target=one_more)
        thread.start()
        assert not late.wait(0.1)
    assert late.wait(20)
    thread.join()
    assert hosts.counts(NONE) == SlotCounts(busy=0, idle=0, unopened=SLOTS)


def test_close_turns_away_who_waits() -> None:
    hosts = make_hosts()
    refused: list[str] = []

    def one_more() -> None:
        try:
            with hosts.here():
                pass
        except ConfigurationError as error:
            refused.append(str(error))

    with ExitStack() as held:
        for _ in range(SLOTS):
            held.enter_context(hosts.here())
        thread = threading.Thread(target=one_more)
        thread.start()
        hosts.close()
        thread.join(20)
    assert refused == ["the grader is closed"]


# ---------------------------------------------------------------- what travels


texts = st.text(st.characters(codec=None, exclude_categories=[]))
rules = st.builds(
    GradingRules,
    policy=st.none() | st.sampled_from(["binary", "fraction"]),
    extraction=st.none() | st.sampled_from(ExtractionRule),
    stop_early=st.none() | st.booleans(),
    require_integrity=st.none() | st.sampled_from(Integrity),
)


@given(texts, texts, rules, rules)
def test_submission_and_what_is_in_force_for_it_arrive(
    completion: str, prompt: str, given_to_it: GradingRules, given_to_call: GradingRules
) -> None:
    sent = make_submission(completion, prompt=prompt, rules=given_to_it)
    of_call = SETTINGS.under(given_to_call)
    suite = EncodedSuite(digest="d", message=b"")
    order = make_order(sent, suite, of_call)
    arrived, in_force = read_order(order.header, order.texts, sent.suite, SETTINGS)
    assert replace(arrived, rules=sent.rules) == sent
    assert in_force == of_call.under(sent.rules)


def test_settings_arrive() -> None:
    settings = replace(SETTINGS, policy="binary", retries=7)
    assert decode_settings(encode_settings(settings)) == settings


def test_order_says_what_a_call_may_choose_and_nothing_else() -> None:
    assert differ_in_rules_alone(SETTINGS, SETTINGS)
    assert differ_in_rules_alone(SETTINGS, replace(SETTINGS, policy="binary", stop_early=True))
    limits = replace(SETTINGS.limits, cpu_time_s=1.0)
    assert not differ_in_rules_alone(SETTINGS, replace(SETTINGS, limits=limits))
