#!/bin/sh
# Failover under load: 1000 runs with links cut at random moments, in every traffic, ordering, number of ports and PEs;
# every byte is checked and every atomic accounted for.
#
#	BELFRY_BUILD_DIR=build/release tests/long/failover.sh [RUNS [FIRST_SEED]]
#
# Without BELFRY_BUILD_DIR: the build directory that $BELFRY is in.
set -eu
runs=${1:-1000}
first=${2:-1}
build=${BELFRY_BUILD_DIR:-$(dirname "$(dirname "${BELFRY:-build/release/tools/belfry}")")}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

CK_RUN_CASE=ibgda_failover BELFRY_FAILOVER_SEEDS=$runs BELFRY_FAILOVER_FIRST=$first CK_DEFAULT_TIMEOUT=3600 \
	CK_TIMEOUT_MULTIPLIER=30 "$build/tests/test_drivers_ibgda_failover" >"$log" 2>&1 || {
	cat "$log"
	exit 1
}
grep " runs: " "$log"
