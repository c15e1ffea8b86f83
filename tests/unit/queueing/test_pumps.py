"""A queue in several Redis: which of them gets a job, and what all of them say together."""

import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

from grader.config.settings import Settings
from grader.queueing.jobs import JobMaker, QueuedJob
from grader.queueing.pumps import Pumps
from grader.queueing.status import LastError, RedisMemory, sum_of
from tests.factories import make_lane, make_queue, make_submission, make_worker

PLACES = ("one:6379/0", "two:6379/0", "three:6379/0")
LOGINS = "redis://one/0 rediss://me:pw@two?ssl_ca_certs=ca.pem redis://:pw@three:6379"


def homes(slots: dict[str, int], broker: str = LOGINS) -> list[str]:
    """Return where each of 2,000 jobs goes if the Redis have so many slots."""
    with closing(Pumps(Settings(broker=broker))) as pumps:
        for each in pumps._all:
            each.pump._slots["python"] = (slots[each.place], time.monotonic())
        return [pumps._choose(job).place for job in jobs()]


def jobs() -> list[QueuedJob]:
    job = JobMaker(Settings()).make(make_submission("x = 1"))
    assert job is not None
    return [replace(job, key=str(number)) for number in range(2000)]


def test_each_redis_gets_jobs_by_its_share_of_the_slots() -> None:
    slots = dict(zip(PLACES, (10, 30, 60), strict=True))
    found = Counter(homes(slots))
    # Of 2,000 jobs, 20 for each slot; six standard deviations of the largest share are 130.
    assert all(abs(found[place] - 20 * slots[place]) < 130 for place in PLACES)


def test_all_clients_choose_alike_whatever_their_logins_and_order() -> None:
    equal = dict.fromkeys(PLACES, 4)
    assert homes(equal) == homes(equal, "redis://:x@two redis://three redis://u:v@one:6379/0")


def test_only_the_jobs_of_a_redis_without_slots_go_elsewhere() -> None:
    before = homes(dict.fromkeys(PLACES, 4))
    after = homes({**dict.fromkeys(PLACES, 4), PLACES[1]: 0})
    assert PLACES[1] not in after
    assert all(old in (new, PLACES[1]) for old, new in zip(before, after, strict=True))


def test_jobs_wait_at_their_place_if_no_redis_has_slots() -> None:
    assert homes(dict.fromkeys(PLACES, 0)) == homes(dict.fromkeys(PLACES, 1))


def test_status_of_two_redis_is_their_sum() -> None:
    one = make_queue(
        make_worker("a"),
        lanes=(make_lane("eve", waiting=3, waited_s=4.0), make_lane("ann", waiting=2)),
        queued=3,
        oldest_s=4.0,
        counts={"graded": 5, "killed": 1},
        memory=RedisMemory(used_bytes=90, limit_bytes=100),
        other_versions={2: 1},
    )
    last = LastError(at=one.at, text="later")
    first = LastError(at=one.at - timedelta(seconds=5), text="earlier")
    other = make_queue(
        make_worker("b"),
        lanes=(make_lane("eve", waiting=1, waited_s=9.0),),
        queued=1,
        oldest_s=9.0,
        counts={"graded": 7},
        memory=RedisMemory(used_bytes=500, limit_bytes=0),
        errors=(last,),
        silent=frozenset({"c"}),
    )
    both = sum_of(replace(one, errors=(first,)), other)
    assert [worker.id for worker in both.workers] == ["a", "b"]
    assert [(lane.client, lane.waiting, lane.waited_s) for lane in both.lanes] == [
        ("eve", 4, 9.0),
        ("ann", 2, one.lanes[1].waited_s),
    ]
    assert (both.queued, both.oldest_s, both.clients) == (4, 9.0, one.clients)
    assert dict(both.counts) == {"graded": 12, "killed": 1}
    assert both.memory.share == 0.9
    assert both.errors == (last, first)
    assert both.silent == {"c"}
    assert both.other_versions == {2: 1}
