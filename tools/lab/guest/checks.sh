#!/bin/sh
# Sourced by the guests' test scripts: each step is one check with a name, printed as "ok NAME" or "FAILED NAME: why".

failed=0

# check NAME COMMAND ARGUMENTS...
check() {
	name=$1
	shift
	if "$@" >/tmp/check.log 2>&1; then
		echo "ok $name"
	else
		echo "FAILED $name: $* gave $?: $(tail -n 3 /tmp/check.log | tr '\n' ' ')"
		failed=$((failed + 1))
	fi
}

# within SECONDS COMMAND...: waits until the command succeeds.
within() {
	left=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		usleep 100000
	done
}
