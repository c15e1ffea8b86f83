"""The queue in which callers take turns."""

from grader.process.turns import TurnQueue


def filled() -> TurnQueue[str]:
    turns: TurnQueue[str] = TurnQueue()
    for item in ("a1", "a2", "b1", "a3", "c1", "c2"):
        turns.put(item, item[0])
    return turns


def test_callers_take_turns() -> None:
    turns = filled()
    assert [turns.take() for _ in range(len(turns))] == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert len(turns) == 0


def test_what_is_put_back_is_the_next_of_all() -> None:
    turns = filled()
    turns.put_back("c0", "c")
    turns.put_back("d0", "d")
    assert [turns.take() for _ in range(4)] == ["d0", "c0", "a1", "b1"]
    assert len(turns) == 4


def test_what_may_not_be_taken_lets_other_callers_go_first() -> None:
    turns = filled()
    assert turns.take_if(lambda item: item.startswith("c")) == "c1"
    assert turns.take_if(lambda item: item == "a2") is None
    assert list(turns) == ["a1", "a2", "a3", "b1", "c2"]


def test_cleared_queue_is_empty() -> None:
    turns = filled()
    turns.clear()
    assert (len(turns), list(turns), turns.take_if(lambda _: True)) == (0, [], None)
