# shellcheck shell=sh Sourced by scripts of tests/tools and tests/long that run programs under `belfry exec`, of which two
# meet at a TCP port, as those of perftest and rdma-core do.

# within SECONDS COMMAND...: waits until the command succeeds; what takes milliseconds may take seconds on a busy machine.
within() {
	left=$(($1 * 50))
	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.02
	done
}

# not COMMAND...: as "!", where a command is wanted.
not() {
	! "$@"
}

# listens PORT: whether somebody does.
listens() {
	grep -qE ":$(printf %04X "$1") [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# next_port: in $port, a port that nobody listens at: below 32768, from where on the kernel gives ports to clients. Two
# scripts at a time have neighbouring process identifiers, and begin far from each other.
port=$((10000 + $$ * 211 % 20000))
next_port() {
	port=$((port + 1))
	while listens $port; do
		port=$((port + 1))
	done
}

# ready PORT SERVER: waits until somebody listens there; not for a process that has ended.
ready() {
	within 30 listens_or_ended "$1" "$2" && listens "$1"
}

listens_or_ended() {
	listens "$1" || ! kill -0 "$2" 2>/dev/null
}

# As LD_PRELOAD of perftest's programs, which then take 0.2 s less (fake_clock.c); empty where it was not built.
clock=$(dirname "$BELFRY")/../tests/fake/clock.so
[ -e "$clock" ] || clock=

# verdict CODE NAME: a case's line, and for one that failed what was said at the end, in the files `server` and `out`.
verdict() {
	if [ "$1" -eq 0 ]; then
		echo "ok $2"
		passed=$((passed + 1))
	else
		echo "FAILED $2"
		tail -n 15 server out 2>/dev/null
		failed=$((failed + 1))
	fi
}

passed=0 failed=0 skipped=0

# skip WHAT: one more that could not be run.
skip() {
	echo "SKIPPED $1"
	skipped=$((skipped + 1))
}

# summary: the last line; true when nothing failed.
summary() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
