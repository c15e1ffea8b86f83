"""Messages that are logged once while their cause lasts."""

from grader.process.repeats import Repeats


def test_message_is_due_once_and_another_too() -> None:
    repeats = Repeats(every_s=3600)
    assert [repeats.is_due(each) for each in ("a", "a", "b", "a", "b")] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_message_is_due_again_after_its_time() -> None:
    repeats = Repeats(every_s=0)
    assert all(repeats.is_due("a") for _ in range(3))


def test_ever_new_messages_take_no_memory() -> None:
    repeats = Repeats(every_s=3600)
    assert all(repeats.is_due(str(number)) for number in range(10_000))
    assert len(repeats._silent_until) <= 64
