#!/usr/bin/env bash
# What cargo calls in place of rustc (RUSTC_WRAPPER): tests are not optimised, the libraries that they test are.
#
# A profile of cargo's cannot say so, as it has one level for a library and its tests. Compiling tests as their
# libraries would take three times as long, for tests that run for seconds. The names of compiled files stay the
# same, so builds with and without this script share everything. Not for /bin/sh: dash drops variables with a hyphen
# in their name, such as CARGO_BIN_EXE_fabricsim-cluster-member.
set -euo pipefail
for argument in "$@"; do
    if [ "$argument" = --test ]; then
        exec "$@" -C opt-level=0
    fi
done
exec "$@"
