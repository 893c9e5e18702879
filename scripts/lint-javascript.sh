#!/usr/bin/env bash
# Checks format and code of the JavaScript with Biome, which it installs by its lock file; "fix" formats the files.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=scripts/javascript/node_modules/.bin/biome
if [ ! -x "$tool" ] || [ scripts/javascript/package-lock.json -nt "$tool" ]; then
    if ! npm ci --silent --no-audit --no-fund --prefix scripts/javascript; then
        echo "SKIPPED the JavaScript: npm cannot fetch its formatter"
        exit 0
    fi
    touch -h "$tool"
fi
case ${1:-} in
fix) exec "$tool" check --write --error-on-warnings ;;
*) exec "$tool" ci --error-on-warnings ;;
esac
