"""System calls by name and number, and which of them a candidate or its supervisor may make.

The names were collected by tracing what Python itself, its standard library, pytest, numpy and
small subprocesses call (docs/adr/0010-system-calls.md); the numbers are the kernel's. Calls that
are not listed are refused.
"""

_MEMORY = """
    brk madvise mmap mprotect mremap msync munmap
"""

_FILES_BY_DESCRIPTOR = """
    close close_range copy_file_range dup dup2 dup3 fadvise64 fallocate fcntl fdatasync flock fstat
    fstatfs fsync ftruncate getdents64 ioctl lseek pread64 preadv preadv2 pwrite64 pwritev pwritev2
    read readv sendfile write writev
"""

_FILES_BY_PATH = """
    access chdir chmod chown creat execve execveat faccessat faccessat2 fchdir fchmod fchmodat
    fchown fchownat getcwd lchown link linkat lstat mkdir mkdirat mknod mknodat newfstatat open
    openat readlink readlinkat rename renameat renameat2 rmdir stat statfs statx symlink symlinkat
    truncate umask unlink unlinkat utime utimensat utimes
"""

_EXTENDED_ATTRIBUTES = """
    fgetxattr flistxattr fremovexattr fsetxattr getxattr lgetxattr listxattr llistxattr
    lremovexattr lsetxattr removexattr setxattr
"""

_WAITING = """
    epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 pipe pipe2 poll ppoll
    pselect6 select timerfd_create timerfd_gettime timerfd_settime
"""

_SOCKETS = """
    accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmsg sendmsg
    sendto setsockopt shutdown socket socketpair
"""

_PROCESSES = """
    clone exit exit_group fork futex gettid pidfd_open pidfd_send_signal prctl rseq set_robust_list
    set_tid_address vfork wait4 waitid
"""

_SIGNALS_AND_TIMERS = """
    alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday kill nanosleep pause
    restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend
    rt_sigtimedwait setitimer sigaltstack tgkill time timer_create timer_delete timer_getoverrun
    timer_gettime timer_settime times
"""

_IDENTITY_AND_SCHEDULING = """
    arch_prctl getcpu getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority
    getrandom getresgid getresuid getrlimit getrusage getsid getuid prlimit64
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setscheduler sched_yield
    setgid setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid
    sysinfo uname
"""

CANDIDATE_ALLOWED = frozenset(
    (
        _MEMORY
        + _FILES_BY_DESCRIPTOR
        + _FILES_BY_PATH
        + _EXTENDED_ATTRIBUTES
        + _WAITING
        + _SOCKETS
        + _PROCESSES
        + _SIGNALS_AND_TIMERS
        + _IDENTITY_AND_SCHEDULING
    ).split()
)
"""What a submission may call; some only with certain arguments, see `lock_in.seccomp`."""

SUPERVISOR_EXTRA = frozenset(
    {
        "capget",
        "capset",
        "chroot",
        "memfd_create",
        "mount",
        "mount_setattr",
        "pivot_root",
        "ptrace",
        "seccomp",
        "sethostname",
        "setns",
        "umount2",
        "unshare",
    }
)
"""What the supervisor, its zygotes and the locking in of a run call in addition.

They do not call `ptrace`. But if this filter, the outer of two, refused it, the inner filter could
not report a submission that tries it."""

WATCHED = frozenset(
    {
        "add_key",
        "bpf",
        "chroot",
        "clone",
        "finit_module",
        "init_module",
        "io_uring_setup",
        "kexec_load",
        "keyctl",
        "mount",
        "open_by_handle_at",
        "perf_event_open",
        "pivot_root",
        "process_vm_readv",
        "process_vm_writev",
        "ptrace",
        "request_key",
        "setns",
        "socket",
        "umount2",
        "unshare",
        "userfaultfd",
    }
)
"""Calls that a program which only solves its problem never makes. The supervisor is notified of
each that is refused."""

_X86_64 = """
    ptrace=101 init_module=175 kexec_load=246 add_key=248 request_key=249 keyctl=250
    perf_event_open=298 open_by_handle_at=304 process_vm_readv=310 process_vm_writev=311
    finit_module=313 bpf=321 userfaultfd=323 io_uring_setup=425
    read=0 write=1 open=2 close=3 stat=4 fstat=5 lstat=6 poll=7 lseek=8 mmap=9 mprotect=10
    munmap=11 brk=12 rt_sigaction=13 rt_sigprocmask=14 rt_sigreturn=15 ioctl=16 pread64=17
    pwrite64=18 readv=19 writev=20 access=21 pipe=22 select=23 sched_yield=24 mremap=25 msync=26
    madvise=28 dup=32 dup2=33 pause=34 nanosleep=35 getitimer=36 alarm=37 setitimer=38 getpid=39
    sendfile=40 socket=41 connect=42 accept=43 sendto=44 recvfrom=45 sendmsg=46 recvmsg=47
    shutdown=48 bind=49 listen=50 getsockname=51 getpeername=52 socketpair=53 setsockopt=54
    getsockopt=55 clone=56 fork=57 vfork=58 execve=59 exit=60 wait4=61 kill=62 uname=63 fcntl=72
    flock=73 fsync=74 fdatasync=75 truncate=76 ftruncate=77 getcwd=79 chdir=80 fchdir=81 rename=82
    mkdir=83 rmdir=84 creat=85 link=86 unlink=87 symlink=88 readlink=89 chmod=90 fchmod=91 chown=92
    fchown=93 lchown=94 umask=95 gettimeofday=96 getrlimit=97 getrusage=98 sysinfo=99 times=100
    getuid=102 getgid=104 setuid=105 setgid=106 geteuid=107 getegid=108 setpgid=109 getppid=110
    getpgrp=111 setsid=112 setreuid=113 setregid=114 getgroups=115 setresuid=117 getresuid=118
    setresgid=119 getresgid=120 getpgid=121 getsid=124 capget=125 capset=126 rt_sigpending=127
    rt_sigtimedwait=128 rt_sigsuspend=130 sigaltstack=131 utime=132 mknod=133 statfs=137
    fstatfs=138 getpriority=140 setpriority=141 sched_getparam=143 sched_setscheduler=144
    sched_getscheduler=145 sched_get_priority_max=146 sched_get_priority_min=147
    sched_rr_get_interval=148 pivot_root=155 prctl=157 arch_prctl=158 setrlimit=160 chroot=161
    mount=165 umount2=166 sethostname=170
    gettid=186 setxattr=188 lsetxattr=189 fsetxattr=190 getxattr=191 lgetxattr=192 fgetxattr=193
    listxattr=194 llistxattr=195 flistxattr=196 removexattr=197 lremovexattr=198 fremovexattr=199
    time=201 futex=202 sched_setaffinity=203 sched_getaffinity=204 epoll_create=213 getdents64=217
    set_tid_address=218 restart_syscall=219 fadvise64=221 timer_create=222 timer_settime=223
    timer_gettime=224 timer_getoverrun=225 timer_delete=226 clock_gettime=228 clock_getres=229
    clock_nanosleep=230 exit_group=231 epoll_wait=232 epoll_ctl=233 tgkill=234 utimes=235
    waitid=247 openat=257 mkdirat=258 mknodat=259 fchownat=260 newfstatat=262 unlinkat=263
    renameat=264 linkat=265 symlinkat=266 readlinkat=267 fchmodat=268 faccessat=269 pselect6=270
    ppoll=271 unshare=272 set_robust_list=273 utimensat=280 epoll_pwait=281 timerfd_create=283
    fallocate=285 timerfd_settime=286 timerfd_gettime=287 accept4=288 eventfd2=290
    epoll_create1=291 dup3=292 pipe2=293 preadv=295 pwritev=296 prlimit64=302 setns=308 getcpu=309
    sched_getattr=315 renameat2=316 seccomp=317 getrandom=318 memfd_create=319 execveat=322
    copy_file_range=326 preadv2=327 pwritev2=328 statx=332 rseq=334 pidfd_send_signal=424
    pidfd_open=434 clone3=435 close_range=436 faccessat2=439 mount_setattr=442
"""

_AARCH64 = """
    kexec_load=104 init_module=105 ptrace=117 add_key=217 request_key=218 keyctl=219
    perf_event_open=241 open_by_handle_at=265 process_vm_readv=270 process_vm_writev=271
    finit_module=273 bpf=280 userfaultfd=282 io_uring_setup=425
    setxattr=5 lsetxattr=6 fsetxattr=7 getxattr=8 lgetxattr=9 fgetxattr=10 listxattr=11
    llistxattr=12 flistxattr=13 removexattr=14 lremovexattr=15 fremovexattr=16 getcwd=17
    eventfd2=19 epoll_create1=20 epoll_ctl=21 epoll_pwait=22 dup=23 dup3=24 fcntl=25 ioctl=29
    flock=32 mknodat=33 mkdirat=34 unlinkat=35 symlinkat=36 linkat=37 renameat=38 umount2=39
    mount=40 pivot_root=41 statfs=43 fstatfs=44 truncate=45 ftruncate=46 fallocate=47 faccessat=48
    chdir=49 fchdir=50 chroot=51 fchmod=52 fchmodat=53 fchownat=54 fchown=55 openat=56 close=57
    pipe2=59 getdents64=61 lseek=62 read=63 write=64 readv=65 writev=66 pread64=67 pwrite64=68
    preadv=69 pwritev=70 sendfile=71 pselect6=72 ppoll=73 readlinkat=78 newfstatat=79 fstat=80
    fsync=82 fdatasync=83 timerfd_create=85 timerfd_settime=86 timerfd_gettime=87 utimensat=88
    capget=90 capset=91 exit=93 exit_group=94 waitid=95 set_tid_address=96 unshare=97 futex=98
    set_robust_list=99 nanosleep=101 getitimer=102 setitimer=103 timer_create=107 timer_gettime=108
    timer_getoverrun=109 timer_settime=110 timer_delete=111 clock_gettime=113 clock_getres=114
    clock_nanosleep=115 sched_setscheduler=119 sched_getscheduler=120 sched_getparam=121
    sched_setaffinity=122 sched_getaffinity=123 sched_yield=124 sched_get_priority_max=125
    sched_get_priority_min=126
    sched_rr_get_interval=127 restart_syscall=128 kill=129 tgkill=131 sigaltstack=132
    rt_sigsuspend=133 rt_sigaction=134 rt_sigprocmask=135 rt_sigpending=136 rt_sigtimedwait=137
    rt_sigreturn=139 setpriority=140 getpriority=141 setregid=143 setgid=144 setreuid=145
    setuid=146 setresuid=147 getresuid=148 setresgid=149 getresgid=150 times=153 setpgid=154
    getpgid=155 getsid=156 setsid=157 getgroups=158 uname=160 sethostname=161 getrlimit=163
    setrlimit=164 getrusage=165 umask=166 prctl=167 getcpu=168 gettimeofday=169 getpid=172
    getppid=173 getuid=174 geteuid=175 getgid=176 getegid=177 gettid=178 sysinfo=179 socket=198
    socketpair=199 bind=200 listen=201 accept=202 connect=203 getsockname=204 getpeername=205
    sendto=206 recvfrom=207 setsockopt=208 getsockopt=209 shutdown=210 sendmsg=211 recvmsg=212
    brk=214 munmap=215 mremap=216 clone=220 execve=221 mmap=222 fadvise64=223 mprotect=226
    msync=227 madvise=233 accept4=242 wait4=260 prlimit64=261 setns=268 sched_getattr=275
    renameat2=276 seccomp=277 getrandom=278 memfd_create=279 execveat=281 copy_file_range=285
    preadv2=286 pwritev2=287 statx=291 rseq=293 pidfd_send_signal=424 pidfd_open=434 clone3=435
    close_range=436 faccessat2=439 mount_setattr=442
"""

LAST_KNOWN = 450
"""The highest number when these tables were made (Linux 6.1). Later calls are answered with
ENOSYS, as the kernel of that time would: C libraries then fall back to what they used before."""


def _table(pairs: str) -> dict[str, int]:
    return {name: int(number) for name, number in (pair.split("=") for pair in pairs.split())}


NUMBERS = {"x86_64": _table(_X86_64), "aarch64": _table(_AARCH64)}
"""Per machine, as `os.uname().machine` names it; older calls that a machine lacks are absent."""
