#!/bin/sh
# Sourced by the guests' test scripts: each step is one check with a name, printed as "ok NAME (N ms)" or
# "FAILED NAME: why".

failed=0

# Milliseconds since the guest booted, to ten of them.
uptime_ms() {
	read -r up _ </proc/uptime
	echo "${up%.*}${up#*.}0" | sed 's/^0*\(.\)/\1/'
}

# check NAME COMMAND ARGUMENTS...
check() {
	name=$1
	shift
	began=$(uptime_ms)
	if "$@" >/tmp/check.log 2>&1; then
		echo "ok $name ($(($(uptime_ms) - began)) ms)"
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
