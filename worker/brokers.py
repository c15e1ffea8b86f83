"""Which of several Redis a worker serves."""

import random
from concurrent.futures import ThreadPoolExecutor

from grader.config.settings import Settings
from grader.model.errors import QueueUnavailableError
from grader.queueing.broker import each_broker
from grader.queueing.status import read_status


def choose_broker(settings: Settings) -> Settings:
    """Return the settings with the Redis that has the fewest slots, of those that answer.

    If none answers, it is any of them.

    Raises:
        ConfigurationError: No broker is set, or its address is unusable.
    """
    brokers = each_broker(settings)
    if len(brokers) == 1:
        return brokers[0]
    with ThreadPoolExecutor(len(brokers)) as threads:
        slots = list(threads.map(_slots_of, brokers))
    # Workers that start together see the same, so equal ones are chosen from by chance.
    order = random.sample(range(len(brokers)), len(brokers))
    return brokers[min(order, key=slots.__getitem__)]


def _slots_of(settings: Settings) -> float:
    try:
        return read_status(settings).slots
    except QueueUnavailableError:
        return float("inf")
