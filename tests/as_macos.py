"""Run a module without what only Linux has: `python -m tests.as_macos grader ...`.

Names that Python has on Linux only are gone, and /proc and /sys are empty. The kernel is Linux, so
this shows what the grader asks the system for, and not what macOS does.
"""

import os
import runpy
import select
import signal
import sys
import sysconfig
import urllib.request  # noqa: F401 - before it would look for its part for macOS

ONLY_ON_LINUX = {
    os: (
        "copy_file_range eventfd getrandom getresuid memfd_create pidfd_open pipe2 posix_fadvise"
        " posix_fallocate prlimit sched_getaffinity sched_setaffinity sched_setscheduler setns"
        " setresuid splice unshare O_PATH O_TMPFILE"
    ),
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGPOLL SIGPWR SIGRTMIN SIGSTKFLT",
    select: "epoll POLLRDHUP",
}
HIDDEN = 'for folder in /proc /sys; do mount -t tmpfs none $folder; done; exec "$@"'


def main() -> None:
    """Hide the folders and start again; then hide the names and run the module."""
    if os.path.exists("/proc/self"):  # noqa: PTH110 - pathlib would be imported before its names go
        inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", HIDDEN, "sh"]
        os.execvp(inside[0], [*inside, sys.executable, "-m", "tests.as_macos", *sys.argv[1:]])
    sysconfig.get_config_vars()  # read from a file whose name has the platform in it
    for module, names in ONLY_ON_LINUX.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    sys.platform = "darwin"
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
