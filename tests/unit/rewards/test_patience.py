from grader.rewards.patience import Patience

DEADLINE_S = 300.0


class Clock:
    """Shows what it was set to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def waits(patience: Patience, clock: Clock) -> float:
    """Return how long a call would wait that begins now; it is answered by nobody."""
    turn = patience.begin(clock.now + DEADLINE_S)
    wait_s = turn.deadline - clock.now
    patience.end(turn, answered=False)
    return wait_s


def gone(clock: Clock) -> Patience:
    """Return the patience of one whose first call waited for nothing."""
    patience = Patience(clock)
    turn = patience.begin(clock.now + DEADLINE_S)
    clock.now += DEADLINE_S
    patience.end(turn, answered=False)
    return patience


def test_calls_wait_as_long_as_they_may_while_answers_come() -> None:
    clock = Clock()
    patience = Patience(clock)
    for _ in range(3):
        turn = patience.begin(clock.now + DEADLINE_S)
        assert turn.deadline == clock.now + DEADLINE_S
        patience.end(turn, answered=True)


def test_after_a_deadline_without_a_word_one_call_waits_and_the_others_do_not() -> None:
    clock = Clock()
    patience = gone(clock)
    probe = patience.begin(clock.now + DEADLINE_S)
    assert probe.deadline == clock.now + DEADLINE_S
    assert [waits(patience, clock) for _ in range(3)] == [5.0] * 3
    patience.end(probe, answered=False)
    assert waits(patience, clock) == DEADLINE_S
    for allowed_s, wait_s in ((300.0, 5.0), (20.0, 2.0), (5.0, 1.0), (0.5, 0.5)):
        assert patience.begin(clock.now + DEADLINE_S).is_probe is (allowed_s == 300.0)
        assert patience.begin(clock.now + allowed_s).deadline == clock.now + wait_s


def test_any_answer_ends_the_outage() -> None:
    clock = Clock()
    patience = gone(clock)
    probe = patience.begin(clock.now + DEADLINE_S)
    quick = patience.begin(clock.now + DEADLINE_S)
    assert not quick.is_probe
    patience.end(quick, answered=True)
    assert waits(patience, clock) == DEADLINE_S
    del probe


def test_call_that_is_late_while_others_are_answered_is_no_outage() -> None:
    clock = Clock()
    patience = Patience(clock)
    slow = patience.begin(clock.now + DEADLINE_S)
    clock.now += 10
    patience.end(patience.begin(clock.now + DEADLINE_S), answered=True)
    clock.now += DEADLINE_S
    patience.end(slow, answered=False)
    assert patience.begin(clock.now + DEADLINE_S).deadline == clock.now + DEADLINE_S
