# shellcheck shell=bash
# Shared by the scripts in this folder; sourced with the repository root as the current directory.

VENV=.venv

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# True if packages may be installed here: as root, with apt.
can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# Install the given Debian packages, as far as this release has them. Their daemons are not started;
# the caller starts what it needs.
apt_install() (
    say "Installing $* with apt-get"
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    apt-get update -qq >/dev/null
    known=()
    for package in "$@"; do
        apt-cache show --quiet "$package" >/dev/null 2>&1 && known+=("$package")
    done
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${known[@]}" \
        >/dev/null
)

# Install Docker's compose plugin from the packages of Ubuntu, or of Debian from 13 on. On Debian 12,
# take the single file of Debian 13's package, fetched with apt's checks.
install_compose() (
    for package in docker-compose-v2 docker-compose; do
        case $(apt-cache policy $package | sed -n 's/.*Candidate: //p') in
        2.* | 5.*) apt_install $package; return ;;
        esac
    done
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    mkdir -p "$folder/sources" "$folder/lists/partial"
    [ -e /etc/apt/sources.list.d/debian.sources ] || return 1
    sed 's/bookworm/trixie/g' /etc/apt/sources.list.d/debian.sources >"$folder/sources/trixie.sources"
    options=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$folder/sources"
        -o "Dir::State::Lists=$folder/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
    cd "$folder" || return
    apt-get "${options[@]}" update &&
        apt-get "${options[@]}" download docker-compose &&
        dpkg-deb --extract docker-compose_*.deb . &&
        install -D -t /usr/local/lib/docker/cli-plugins usr/libexec/docker/cli-plugins/docker-compose
)

# Print the first Python of version 3.11 or later.
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3 python3.12 python3.13 python3.14; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

make_venv() {
    [ -x "$VENV/bin/pip" ] && return
    local python package
    if ! python=$(find_python); then
        can_install || die "Python 3.11 or later is needed: none of python3.11, python3 is one. \
Install it, or name one with PYTHON=/path/to/python3."
        apt_install python3 python3-venv
        python=$(find_python) || die "This system's python3 is older than 3.11."
    fi
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        can_install || die "$python cannot make virtual environments. \
On Debian and Ubuntu: sudo apt-get install $package"
        apt_install "$package"
    fi
    say "Making the virtual environment $VENV with $("$python" --version)"
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
    # The first release of pip that reads dependency groups is newer than Debian's.
    "$VENV/bin/pip" install -qq --disable-pip-version-check -c requirements.lock 'pip>=25.1'
}

# Install what the arguments tell pip to, at the versions of requirements.lock.
pip_install() {
    "$VENV/bin/pip" install -qq --disable-pip-version-check --no-compile -c requirements.lock "$@"
}

# The same, unless that was done, and compile all.
install_locked() {
    local stamp="$VENV/.installed" wanted
    wanted=$(cat pyproject.toml requirements.lock <(echo "$PWD $*") | sha256sum)
    [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
    say "Installing the packages"
    pip_install "$@"
    # pip would compile them on one core. Files for other versions of Python fail; nothing needs them.
    # Our own, too: if Python writes no compiled files, as in a jail, each process compiles them again.
    "$VENV/bin/python" -m compileall -qq -j 0 "$VENV/lib" grader sandbox_images worker || true
    echo "$wanted" >"$stamp"
}
