#!/bin/sh
# The places where mutants.py breaks drivers are there: what is renamed or moved takes its line of the lists along.
set -eu
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
bad=0
for list in "$BELFRY_SOURCE_DIR"/tests/long/mutants*.txt; do
	case $list in *_battery.txt) continue ;; esac
	PYTHONDONTWRITEBYTECODE=1 python3 "$BELFRY_SOURCE_DIR/tests/long/mutants.py" --check --places "$list" || bad=1
done
exit $bad
