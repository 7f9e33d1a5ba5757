#!/bin/sh
# The same as tests/tools/test_starved.sh with more of everything: SAMPLES requests for memory of each command fail, once
# and from then on (100; 0: every single one, which takes hours); full disks, closed outputs, pipes that nobody reads,
# files that may not grow. Run by hand.
#
#	tests/long/starved.sh [SAMPLES [WORD]]      WORD: only commands that have it among their words
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BELFRY_BUILD_DIR-$root/build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for what in memory outputs; do
	python3 "$root/tests/tools/starved.py" $what "$build/tools/belfry" "$build/tests/fake/memory.so" "$root" "${1-100}" ${2+"$2"}
done
