#!/bin/sh
# Fault plans under belfry exec: what a program sees of each kind is what verbs say of it; a process that is killed
# leaves the other with the errors of a NIC, and nothing behind.
set -eu
. "$BELFRY_SOURCE_DIR/tests/exec.sh"
work=$(mktemp -d)
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"
trap 'rm -rf "$work"' EXIT
cd "$work"
verbs=$BELFRY_BUILD_DIR/tests/exec_verbs
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigtrap=0:verify_asan_link_order=0
export ASAN_OPTIONS
net=faults-$$

"$BELFRY" exec --help >/dev/null 2>&1 || { echo "this build has no belfry exec"; exit 77; }
[ -x "$verbs" ] || { echo "libibverbs-dev was not installed when this was configured"; exit 77; }

fail() {
	echo "$1" >&2
	for f in out err server; do
		[ ! -s $f ] || cat $f >&2
	done
	exit 1
}

# sees PLAN LINE...: with that plan the program says these lines, in this order, and no others.
sees() {
	plan=$1
	shift
	timeout 100 "$BELFRY" exec --net "$net" --faults "$plan" -- "$verbs" faulted >out 2>err || fail "$plan: exit code $?"
	printf '%s\n' "$@" "ok faulted" >want
	cmp -s want out || fail "$plan: not as on hardware"
}

sees 'drop skip=20 count=1' 'completion success'
sees 'duplicate skip=20 count=3' 'completion success'
sees 'corrupt skip=20 count=1' 'completion success'
sees 'delay skip=20 count=2 delay=1ms' 'completion success'
sees 'drop prob=1' 'completion transport retry counter exceeded'
sees 'qp-error skip=20 count=1' 'completion Work Request Flushed Error' 'event local work queue catastrophic error'
sees 'cq-overrun skip=20 count=1' 'completion none' 'event CQ error' 'event local work queue catastrophic error' \
	'event local work queue catastrophic error'
sees 'access-error skip=20 count=1' 'completion remote access error' 'event local access violation work queue error'
sees 'link-down skip=20 count=1 delay=50ms' 'port down' 'completion success' 'event port error' 'event port active'
sees 'lost-completion skip=20 count=1' 'completion none'
sees 'qp-error on=mlx5_1* count=inf' 'completion success'

# By the clock, whether the program has traffic or not.
timeout 100 "$BELFRY" exec --net "$net" --faults 'qp-error at=1s' -- "$verbs" faulted-late >out 2>err || fail "at: exit code $?"
grep -q 'event local work queue catastrophic error' out || fail "a queue pair has not failed at its time"
if command -v ibv_asyncwatch >/dev/null; then
	"$BELFRY" exec --net "$net" --faults 'link-down at=1s delay=100ms' -- \
		stdbuf -oL ibv_asyncwatch -d mlx5_0 >out 2>err &
	pid=$!
	within 20 grep -q PORT_ACTIVE out || fail "ibv_asyncwatch hears nothing"
	kill -TERM $pid # a shell has its children ignore SIGINT
	wait $pid 2>/dev/null || :
	[ "$(grep -o 'PORT_[A-Z]*' out | tr '\n' ' ')" = "PORT_ERR PORT_ACTIVE " ] || fail "ibv_asyncwatch sees no port"
else
	echo "without ibv_asyncwatch: ibverbs-utils is not installed"
fi

# Each rank has its plan.
echo 'access-error skip=5' >plan.0
echo '# nothing' >plan.1
timeout 100 "$BELFRY" launch -n 2 --prefix -- "$BELFRY" exec --net "$net" --trace t.%r.bft --faults @plan.%r -- \
	"$verbs" faulted >out 2>err || fail "launch: exit code $?"
grep -q '^\[0\] completion remote access error' out || fail "rank 0 has not got its plan"
grep -q '^\[1\] completion success' out || fail "rank 1 has not got its plan"
"$BELFRY" dump t.0.bft --type=fault_injected | grep -q 'kind=access-error' || fail "rank 0 has no trace with its fault"
! "$BELFRY" dump t.1.bft | grep -q fault_injected || fail "rank 1's trace has a fault"

empty() {
	[ -z "$(ls -A "$TMPDIR")" ]
}

there() {
	[ -e "$TMPDIR"/belfry-exec-*/seen/[0-9]* ]
}

# A command that is killed, its program with it, leaves no folder.
"$BELFRY" exec --net "$net" -- sh -c "'$verbs' polling; sleep 100" >out 2>err &
pid=$!
within 20 there || fail "no folder"
kill -9 $pid
wait $pid 2>/dev/null || :
within 20 empty || fail "a killed command left $(ls -A "$TMPDIR")"

# One side gets no processor for longer than all retries of the other take, which waits: nothing was lost. A few small
# requests at a time, since more would be held back at the sender.
if command -v ib_write_bw >/dev/null; then
	next_port
	"$BELFRY" exec --net "$net" -- ib_write_bw -x 1 -D 3 -s 64 -t 4 -p $port >server 2>&1 &
	server=$!
	ready $port $server || fail "the server does not listen"
	"$BELFRY" exec --net "$net" -- stdbuf -oL ib_write_bw -x 1 -D 3 -s 64 -t 4 -p $port 127.0.0.1 >out 2>err &
	client=$!
	within 20 grep -q '#bytes' out || fail "the client does not begin"
	for stopped in $(pgrep -f "^ib_write_bw .* -p $port\$"); do
		kill -STOP "$stopped"
		sleep 1.5 # eight times 67 ms, and more
		kill -CONT "$stopped"
	done
	wait $client || fail "the client of a server that was stopped ended with $?"
	wait $server || fail "the server that was stopped ended with $?"
fi

# One side is killed in the middle: the other's requests run out of retries.
if command -v ib_write_bw >/dev/null; then
	next_port
	"$BELFRY" exec --net "$net" -- ib_write_bw -x 1 -D 30 -p $port >server 2>&1 &
	server=$!
	ready $port $server || fail "the server does not listen"
	timeout 90 "$BELFRY" exec --net "$net" -- stdbuf -oL ib_write_bw -x 1 -D 30 -p $port 127.0.0.1 >out 2>err &
	client=$!
	within 20 grep -q '#bytes' out || fail "the client does not begin"
	kill -9 $server # and its program dies with it
	code=0
	wait $client || code=$?
	[ $code -ne 0 ] && [ $code -ne 124 ] || fail "the client ended with $code"
	grep -q 'Failed status 12' out err || fail "the client did not run out of retries"
	wait $server 2>/dev/null || :
	within 20 empty || fail "left $(ls -A "$TMPDIR")"
fi
