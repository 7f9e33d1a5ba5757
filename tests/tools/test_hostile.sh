#!/bin/bash
# What outlives whom: belfry serve outlives clients and guests that mean no good, and leaves a whole trace when it is
# taken down all the same; programs under belfry exec outlive strangers at their sockets. Bounded by counts, not by time.
set -u
. "$BELFRY_SOURCE_DIR/tests/exec.sh"
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
here=$BELFRY_SOURCE_DIR/tests/tools
most=300 # MiB of the server's own memory after a client
if grep -q '^BELFRY_SANITIZE:[A-Z]*=.' "$BELFRY_BUILD_DIR/CMakeCache.txt"; then
	most=4000 # a sanitizer's quarantine and shadow
	export ASAN_OPTIONS="${ASAN_OPTIONS-}:handle_segv=0:handle_sigbus=0"
fi

fail() {
	echo "$*" >&2
	tail -n 20 "$work"/out "$work"/err >&2 2>/dev/null
	exit 1
}

is_ready() {
	grep -sqx "listening on $work/socket" "$work/out"
}

# ends SIGNAL CODE: the server ends by this signal, with this exit code.
ends() {
	local code=0
	kill "-$1" "$server"
	wait "$server" || code=$?
	server=
	[ "$code" -eq "$2" ] || fail "$device: SIG$1 gives exit code $code, not $2"
	"$BELFRY" dump --type=vfio_user_session "$work/trace.bft" >"$work/dump" 2>"$work/dump.err" ||
		fail "$device: after SIG$1 the trace is not whole: $(cat "$work/dump.err")"
	[ "$(wc -l <"$work/dump")" -ge 4 ] || fail "$device: after SIG$1 the trace lacks connections"
}

"$BELFRY" serve nvme --socket "$work/no/such/folder/socket" >/dev/null 2>&1
[ $? -ne 77 ] || { echo "this build has no live loop"; exit 77; }

for device in nvme mlx5; do
	for by in "TERM 0" "SEGV 139"; do
		"$BELFRY" serve $device --socket "$work/socket" --trace "$work/trace.bft" --verbose >"$work/out" 2>"$work/err" &
		server=$!
		within 20 is_ready || fail "$device: not ready"
		# Everything once, and once more what leaves the most for a handler to write.
		set -- # all
		[ "$by" = "TERM 0" ] || set -- noise shrinks
		timeout 120 python3 "$here/hostile.py" "$work/socket" "$server" $device 1 $most "$@" >"$work/hostile" 2>&1 ||
			fail "$device: $(cat "$work/hostile")"
		grep -q 'has become shorter' "$work/err" || fail "$device: nobody noticed that memory had gone"
		# shellcheck disable=SC2086 # a signal and a code
		ends $by
		rm -f "$work/socket" "$work/out" # which a crash leaves
	done
done

# Programs under belfry exec: by rings, and by UDP.
if ! command -v ibv_rc_pingpong >/dev/null || ! "$BELFRY" exec -- true >/dev/null 2>&1; then
	echo "without belfry exec"
	exit 0
fi
# neighbour NETWORK SEED [ADDRESS:PORT]: a stranger; how many sockets it talked to is in found.
neighbour() {
	timeout 60 python3 "$here/hostile_neighbour.py" "$1" "$2" 20 ${3+"$3"} >"$work/found" 2>"$work/err" ||
		fail "the stranger fails: $(cat "$work/err")"
}

# pair NAME OPTIONS-OF-SERVER -- OPTIONS-OF-CLIENT -- [ADDRESS:PORT]: a stranger before and during a ping-pong.
pair() {
	local name=$1 net=hostile-$$-$1 server_options=() client_options=()
	shift
	while [ "$1" != -- ]; do server_options+=("$1"); shift; done
	shift
	while [ "$1" != -- ]; do client_options+=("$1"); shift; done
	shift
	next_port
	timeout 100 "$BELFRY" exec --net "$net" "${server_options[@]}" -- ibv_rc_pingpong -p $port -g 1 -n 1000 -c >"$work/out" 2>&1 &
	server=$!
	ready $port $server || fail "$name: no server"
	neighbour "$net" 1 "$@"
	[ "$(cat "$work/found")" -gt 0 ] || fail "$name: the stranger finds nobody"
	neighbour "$net" 2 "$@" &
	stranger=$!
	timeout 100 "$BELFRY" exec --net "$net" "${client_options[@]}" -- ibv_rc_pingpong -p $port -g 1 -n 1000 -c 127.0.0.1 >"$work/client" 2>&1 ||
		fail "$name: the client fails: $(cat "$work/client")"
	wait $server || fail "$name: the server fails"
	server=
	wait $stranger || exit 1
}

# A program that asks the verbs device for anything goes on beside them, and so does one that is killed amid that. What
# Python keeps at its end is no leak of ours.
python_options=${ASAN_OPTIONS-}:detect_leaks=0
ASAN_OPTIONS=$python_options "$BELFRY" exec --net hostile-$$-rings -- python3 "$here/hostile_verbs.py" 1 100 >"$work/verbs" 2>&1 &
asks=$!
ASAN_OPTIONS=$python_options "$BELFRY" exec --net hostile-$$-rings -- python3 "$here/hostile_verbs.py" 2 100000 >/dev/null 2>&1 &
killed=$!
pair rings -- --
kill -KILL $killed
wait $asks || fail "a program that asks for anything: $(cat "$work/verbs")"
pair udp --udp 127.0.0.1:$((port + 5000)) -- --udp 127.0.0.2:$((port + 5000)) -- 127.0.0.1:$((port + 5000))
