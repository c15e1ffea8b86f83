"""Start one of the harness's processes: `python3 __main__.py jail|supervisor|zygote ...`.

Run by path under `-S -P`, so that nothing but this tree and the standard library is imported.
"""

import os
import resource
import signal
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> None:
    """Dispatch on the first argument."""
    sys.path.append(_ROOT)
    role, *args = sys.argv[1:]
    if role in ("jail", "supervisor"):
        _default_signals()
        _highest_limits()
    if role == "supervisor":
        from sandbox_images.harness.slot import supervisor

        supervisor.main(args)
    elif role == "zygote":
        from sandbox_images.harness.slot import zygote

        zygote.main(args)
    elif role == "jail":
        from sandbox_images.harness.lock_in import jail

        jail.main(args)
    else:
        sys.exit(f"unknown role {role!r}: expected jail, supervisor or zygote")


def _default_signals() -> None:
    """Reset inherited signal handling: a process that ignores SIGCHLD cannot wait for children."""
    # Python itself ignores two of them.
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _highest_limits() -> None:
    """Lift the limits that another process has set for itself, and may lift again."""
    for kind in (
        resource.RLIMIT_AS,
        resource.RLIMIT_CPU,
        resource.RLIMIT_DATA,
        resource.RLIMIT_FSIZE,
    ):
        _soft, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (hard, hard))


if __name__ == "__main__":
    main()
