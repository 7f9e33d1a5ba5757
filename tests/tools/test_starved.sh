#!/bin/sh
# Every command while something is missing: memory at one request of those that it makes, room on the disk.
# tests/long/starved.sh tries more.
set -eu
grep -q '^BELFRY_SANITIZE:[A-Z]*=.' "$BELFRY_BUILD_DIR/CMakeCache.txt" && { echo "a sanitizer has its own malloc()"; exit 77; }
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
cd "$work"
for what in memory outputs; do
	python3 "$BELFRY_SOURCE_DIR/tests/tools/starved.py" $what "$BELFRY" "$BELFRY_BUILD_DIR/tests/fake/memory.so" "$BELFRY_SOURCE_DIR" 1
done
