#!/usr/bin/env bash
# Installs the Debian packages that FabricSim needs and this machine lacks; does nothing if it lacks none.
#
#   scripts/install-packages.sh            the needs of the simulator
#   scripts/install-packages.sh --python   also the needs of its Python package and of the tests
#   scripts/install-packages.sh --mpi      also the needs of runs on several processes; with or without --python
#
# Needs root or sudo only if something is missing. A missing package is an error, with these exceptions, which are
# warnings. Without the OTF2 library FabricSim builds, but neither reads nor writes OTF2 traces. Without Chromium,
# otf2-print, valgrind and shellcheck (of --python), the tests of `fabricsim view`, some of OTF2 archives, the count of
# instructions, and the check of shell scripts are skipped.
set -euo pipefail

with_python=false
with_mpi=false
for argument in "$@"; do
    case $argument in
    --python) with_python=true ;;
    --mpi) with_mpi=true ;;
    *)
        echo "'$argument' is neither --python nor --mpi" >&2
        exit 2
        ;;
    esac
done

python=${PYTHON:-python3}
required=()
optional=()

# A compiler that links: `cc` without the C library's headers is not enough.
links() {
    local folder
    folder=$(mktemp -d)
    echo 'int main(void) { return 0; }' >"$folder/a.c"
    local status=0
    cc "$folder/a.c" -o "$folder/a" >/dev/null 2>&1 || status=1
    rm -rf "$folder"
    return "$status"
}

# The bindings of MPI are made by libclang, with the headers of the C language that come with clang. The
# package clang brings both, and is a sixth of libclang-dev.
has_libclang() {
    [ -z "${LIBCLANG_PATH:-}" ] || return 0
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -E 'libclang(-[0-9.]+)?\.so' >/dev/null || return 1
    command -v clang >/dev/null || compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' >/dev/null
}

# Tests of 'fabricsim view' use the system's browser.
has_chromium() {
    command -v "${CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome
} >/dev/null

if ! command -v cargo >/dev/null; then
    echo "cargo is missing: install Rust 1.88 or newer, for example as https://rustup.rs says" >&2
    exit 1
fi
links || required+=(gcc libc6-dev)
"${OTF2_CONFIG:-otf2-config}" --version >/dev/null 2>&1 || optional+=(libotf2-trace-dev)
if "$with_python"; then
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
        echo "'$python' is no Python 3.10 or newer; name another one: make PYTHON=..." >&2
        exit 1
    fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null || required+=(python3-venv)
    has_chromium || optional+=(chromium)
    # Tests compare what OTF2 archives hold with what it prints.
    command -v otf2-print >/dev/null || optional+=(otf2-tools)
    # A test counts the instructions of the hot paths with it.
    command -v valgrind >/dev/null || optional+=(valgrind)
    command -v shellcheck >/dev/null || optional+=(shellcheck)
fi
if "$with_mpi"; then
    # Any MPI that compiles and starts programs.
    { command -v "${MPICC:-mpicc}" && command -v mpirun; } >/dev/null || required+=(openmpi-bin libopenmpi-dev)
    has_libclang || required+=(clang)
fi

missing=("${required[@]}" "${optional[@]}")
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

# Prints why nothing can be installed, and exits if that is an error.
give_up() {
    echo "$1; missing: ${missing[*]}" >&2
    if [ ${#required[@]} -gt 0 ]; then
        echo "Install ${required[*]} (or what your system calls them) and try again." >&2
        exit 1
    fi
    for package in "${optional[@]}"; do
        case $package in
        chromium) echo "Going on without chromium: tests of fabricsim view are skipped." >&2 ;;
        valgrind) echo "Going on without valgrind: instructions of the hot paths are not counted." >&2 ;;
        shellcheck) echo "Going on without shellcheck: shell scripts are not checked." >&2 ;;
        *) echo "Going on without $package: OTF2 traces can be neither read nor written." >&2 ;;
        esac
    done
    exit 0
}

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || give_up "not root, and no sudo here"
    as_root=(sudo)
fi
command -v apt-get >/dev/null || give_up "no apt-get here"

echo "installing ${missing[*]}"
install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
}
# A fresh container has no package lists, an old machine may have outdated ones.
"${as_root[@]}" apt-get update --quiet || echo "the package lists could not be updated" >&2
install || give_up "apt-get could not install the packages"
