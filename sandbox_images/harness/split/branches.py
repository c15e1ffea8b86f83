"""Which copy of the submission the judge talks to: a fresh one for each test, where that can be.

    judge -> candidate        candidate -> judge
    ["branch"]                nothing: its copy answers what follows
    ["return"]                ["returned", whether there was a copy; "files" if it has left any]

A branch begins with the first request of a test, so that a test without any costs nothing. What
the submission says of its copies is its word: one that keeps no copy, or answers from an old one,
has the state that it would have without branches.

Numbers of objects and classes that the judge first met in a branch mean nothing after it. What
the tests keep of them is marked as gone, and its use is no failure of the submission's: the suite
is judged again with one copy for all (`crossed`). So it is where a copy has left files that a later
test may meet, since that finds the files without all that the submission knew of them.
"""

from typing import TYPE_CHECKING, Any

from sandbox_images.harness.split.channel import Channel, ChannelError

if TYPE_CHECKING:
    from sandbox_images.harness.split.factory import Proxies

_STATELESS = frozenset(
    {
        ("builtins", "builtin_function_or_method"),
        ("builtins", "function"),
        ("functools", "_lru_cache_wrapper"),
    }
)
"""Classes of what a module usually offers, beside classes: its functions."""


class Branches:
    """The judge's account of the submission's copies."""

    def __init__(self, channel: Channel, proxies: "Proxies") -> None:
        """There is one process.

        Args:
            channel: To the candidate.
            proxies: All that the tests have of it.
        """
        self._channel = channel
        self._proxies = proxies
        self._wanted = self._within = self._awaited = False
        self._lasting = (0, 0)
        """How many numbers of objects and of classes are good in every copy."""
        self._own: frozenset[int] = frozenset()
        self.made_objects = False
        """Whether a call has returned an object of the submission's."""
        self.failed = False
        """Whether a test was served by a process that other tests have changed."""
        self.left_files = False
        """Whether a copy has left files behind."""

    def have_objects(self) -> bool:
        """Tell whether the tests hold anything that may have a state for all of them."""
        return self.made_objects or any(
            (type(value).__module__, type(value).__name__) not in _STATELESS
            for value in self._proxies.objects()
        )

    def hold(self, sizes: Any) -> bool:
        """Take the answer to "branchable"; tell whether there can be branches."""
        if type(sizes) is not list or [type(size) for size in sizes] != [int, int]:
            return False
        self._lasting = (sizes[0], sizes[1])
        return True

    def begin(self) -> None:
        """Have a copy of its own serve what the tests ask from here on."""
        self._wanted = True

    def end(self) -> bool:
        """Have the process go on that there was before `begin`; tell whether it was left."""
        was_within, self._wanted, self._within = self._within, False, False
        if was_within:
            self._channel.send(["return"])
            self._awaited = True
            self._proxies.forget(*self._lasting, own=self._own)
        return was_within

    def settle(self) -> bool:
        """Come to where the next request belongs; tell whether that is a new copy.

        Raises:
            ChannelError: The candidate said something else than that a test's copy is gone.
        """
        if self._awaited:
            self._awaited = False
            answer = self._channel.receive()
            if answer[0] != "returned":
                raise ChannelError("a test's process is not over")
            self.left_files = self.left_files or answer[1:] == ["files"]
            self.failed = self.failed or answer[1:] != [True]
        if self._wanted:
            self._wanted, self._within = False, True
            self._own = frozenset(self._proxies.own)
            self._channel.send(["branch"])
            return True
        return False
