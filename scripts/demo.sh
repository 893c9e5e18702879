#!/usr/bin/env bash
# Replays the recorded LAMMPS run on a fat tree and on a dragonfly, and compares the two. `make demo`
# builds the simulator first.
set -euo pipefail
cd "$(dirname "$0")/.."

PATH="${CARGO_TARGET_DIR:-target}/release:$PATH"

# Shows a command and runs it.
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

run fabricsim run examples/lammps-fat-tree.toml --out results/lammps-fat-tree
run fabricsim run examples/lammps-dragonfly.toml --out results/lammps-dragonfly
run fabricsim compare results/lammps-fat-tree results/lammps-dragonfly

cat <<END

The reports, one page each, to open in a browser:
  file://$PWD/results/lammps-fat-tree/report.html
  file://$PWD/results/lammps-dragonfly/report.html

To look at both networks side by side:
  ${CARGO_TARGET_DIR:-target}/release/fabricsim view results/lammps-fat-tree results/lammps-dragonfly
END
