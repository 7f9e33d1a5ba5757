#!/bin/bash
# belfry record: a program's posts and polls, taken from libmlx5's rings, replay and lint without a difference. The device
# beneath is belfry exec's; the recorder does not know.
set -u
. "$BELFRY_SOURCE_DIR/tests/exec.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work
export TMPDIR
verbs=$BELFRY_BUILD_DIR/tests/exec_verbs
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigtrap=0:verify_asan_link_order=0
export ASAN_OPTIONS
[ -e "$BELFRY_BUILD_DIR/tools/libbelfry-record.so" ] || { echo "mlx5dv.h was not installed when this was configured"; exit 77; }
[ -x "$verbs" ] || { echo "libibverbs-dev was not installed when this was configured"; exit 77; }
fail() {
	echo "FAIL: $*" >&2
	failed=1
}
net=record-$$
cd "$work" || exit 1

# --- both ends in one process; the program leaves by _exit(), and all of it is there
for how in "" "--doorbells poll" "--blueflame"; do
	# shellcheck disable=SC2086 # options are words
	timeout 60 "$BELFRY" exec --net $net $how --trace t.bft -- "$BELFRY" record -o c.jsonl -- "$verbs" quit >out 2>&1 ||
		fail "record $how: $(cat out)"
	"$BELFRY" replay c.jsonl --life=none >out 2>&1 || fail "the capture $how does not replay: $(cat out)"
	grep -q 'agrees with all 205 completions' out || fail "completions are missing: $(cat out)"
	# What the recorder saw in the rings is what the device fetched.
	grep '"ev":"wqe"' c.jsonl | sed 's/.*"bytes":"\([0-9a-f]*\)".*/\1/' >seen
	"$BELFRY" dump t.bft --type=wqe_fetch --tails --json | sed 's/.*"tail": *"\([0-9a-f]*\)".*/\1/' >fetched
	[ -s seen ] && cmp -s seen fetched || fail "the recorder saw other entries than the device $how"
done
"$BELFRY" lint c.jsonl >out 2>&1 || fail "lint: $(cat out)"
"$BELFRY" import mlx5-capture c.jsonl -o c.bft >out 2>&1 || fail "import: $(cat out)"

# --- a program that fails: the errors are in it
timeout 60 "$BELFRY" exec --net $net -- "$BELFRY" record -o e.jsonl -- "$verbs" polling >out 2>&1 || fail "record: $(cat out)"
"$BELFRY" replay e.jsonl --life=none >out 2>&1 || fail "the capture with errors does not replay: $(cat out)"
grep -Eq 'QP 0x[0-9a-f]+ send +[0-9]+ +[0-9]+ +[0-9]+ +207 +207 +3 ' out || fail "errors are missing: $(cat out)"

# --- a capture that cannot be written: said, the exit code tells, what was whole is there and the program goes on
timeout 60 "$BELFRY" exec --net $net -- "$BELFRY" record -o /dev/full -- "$verbs" polling >out 2>&1
[ $? -eq 1 ] && [ "$(grep -c 'cannot write /dev/full: No space left' out)" -eq 1 ] || fail "-o /dev/full: $(cat out)"
timeout 60 "$BELFRY" exec --net $net -- "$BELFRY" record -o /nonexistent/c -- "$verbs" polling >out 2>&1
[ $? -eq 1 ] && grep -q 'cannot write /nonexistent/c: No such file' out || fail "-o into no folder: $(cat out)"
(
	ulimit -f 8
	timeout 60 "$BELFRY" exec --net $net -- "$BELFRY" record -o short.jsonl -- "$verbs" polling >out 2>&1
)
[ $? -eq 1 ] && grep -q 'short.jsonl: File too large' out || fail "a file that may not grow: $(cat out)"
[ "$(wc -l <short.jsonl)" -gt 10 ] && jq -e .ev short.jsonl >whole || fail "the short capture does not end with a whole event"
"$BELFRY" import mlx5-capture short.jsonl -o short.bft >out || fail "the short capture cannot be read: $(cat out)"

# --- who cannot be recorded
timeout 20 "$BELFRY" record -o x.jsonl -- ./nothing >out 2>&1
[ $? -eq 127 ] || fail "a program that is not there: $(cat out)"
timeout 20 "$BELFRY" record -o x.jsonl -- sh -c 'exit 3' >out 2>&1
[ $? -eq 3 ] && [ ! -e x.jsonl ] || fail "a program without a device: $(cat out)"

# --- perftest, by the newer calls (ibv_wr_start)
if command -v ib_write_bw >/dev/null; then
	next_port
	timeout 60 "$BELFRY" exec --net $net -- ib_write_bw -x 1 -n 300 -p $port >server 2>&1 &
	ready $port $! || fail "ib_write_bw does not listen"
	timeout 60 "$BELFRY" exec --net $net -- "$BELFRY" record -o p.%p.jsonl -- ib_write_bw -x 1 -n 300 -p $port 127.0.0.1 >out 2>&1 ||
		fail "ib_write_bw: $(cat out)"
	wait
	"$BELFRY" replay p.*.jsonl --life=none --mtu=4096 >out 2>&1 || fail "ib_write_bw does not replay: $(cat out)"
	grep -q 'agrees with all 300 completions' out || fail "ib_write_bw: completions are missing: $(cat out)"
fi

# --- ibv_start_poll() and ibv_next_poll(), as ibv_rc_pingpong polls for time stamps; a shared receive queue
pingpong() {
	command -v $1 >/dev/null || return
	next_port
	timeout 60 "$BELFRY" exec --net $net -- "$@" -g 1 -n 50 -p $port >server 2>&1 &
	ready $port $! || fail "$1 does not listen"
	timeout 60 "$BELFRY" exec --net $net --trace own.bft -- "$BELFRY" record -o x.jsonl -- "$@" -g 1 -n 50 -p $port \
		127.0.0.1 >out 2>&1 || fail "$1: $(cat out)"
	wait
	"$BELFRY" import mlx5-capture x.jsonl -o x.bft >out 2>&1 || fail "$1 cannot be imported: $(cat out)"
	for file in x.jsonl x.bft own.bft; do
		"$BELFRY" replay $file --life=none >out 2>&1 || fail "$1 does not replay: $(cat out)"
		grep -q 'agrees with all 100 completions' out || fail "$1: completions are missing: $(cat out)"
	done
}
pingpong ibv_rc_pingpong -t
pingpong ibv_srq_pingpong -q 1 -r 20 # the list of entries goes around its ring

# --- a plugin has libibverbs for itself
if command -v ucx_info >/dev/null; then
	timeout 60 "$BELFRY" exec --net $net -- "$BELFRY" record -o u.jsonl -- ucx_info -d >out 2>&1 || fail "ucx_info: $(tail out)"
	grep -q 'Transport: rc_verbs' out || fail "ucx_info sees no device: $(tail out)"
fi
exit $failed
