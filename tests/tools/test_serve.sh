#!/bin/bash
# belfry serve as its users meet it: the line that says it is ready, a client that asks what the device is, signals,
# sockets of the dead, and options that make no sense. What a driver sees is for tests/models and the lab.
set -u
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT
socket=$work/nvme.sock

fail() {
	echo "$*" >&2
	cat "$work"/out "$work"/err >&2 2>/dev/null
	exit 1
}

# start OPTIONS...: a server that is ready, its output in out and err.
device=nvme
start() {
	rm -f "$work/out" "$work/err" # or the line of the server before would be found
	"$BELFRY" serve $device --socket "$socket" "$@" >"$work/out" 2>"$work/err" &
	server=$!
	for _ in $(seq 200); do
		! grep -sqx "listening on $socket" "$work/out" "$work/err" || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	fail "no line that it is ready: serve $*"
}

# stop SIGNAL: its end, with exit code 0 and without its socket.
stop() {
	local code=0
	kill "-$1" "$server"
	wait "$server" || code=$?
	server=
	[ "$code" -eq 0 ] || fail "SIG$1 gives exit code $code"
	[ ! -e "$socket" ] || fail "SIG$1 leaves the socket"
}

# A build without a live loop says so before it looks at the socket.
"$BELFRY" serve nvme --socket "$work/no/such/folder/socket" >"$work/out" 2>"$work/err"
[ $? -ne 77 ] || exit 77

# Signals, with statistics and without.
start --stats
stop TERM
grep -q '^statistics' "$work/out" || fail "--stats prints none"
start
stop INT
[ "$(cat "$work/out")" = "listening on $socket" ] || fail "it says more than that it is ready"
start --json
stop HUP
if command -v jq >/dev/null; then
	jq -e '.device == "nvme" and .stats["ssd0.vfio_user.sessions"] != null' "$work/out" >/dev/null || fail "--json: no document"
fi

# Two servers on one socket; a socket whose server was killed; a path that is no socket.
start
timeout 20 "$BELFRY" serve nvme --socket "$socket" >"$work/second" 2>&1
[ $? -eq 2 ] || fail "a second server on the same socket"
grep -q 'another server' "$work/second" || fail "no reason: $(cat "$work/second")"
kill -KILL "$server"
wait "$server" 2>/dev/null
[ -S "$socket" ] || fail "a killed server has cleaned up?"
start
stop TERM
echo text >"$socket"
timeout 20 "$BELFRY" serve nvme --socket "$socket" >"$work/second" 2>&1
[ $? -eq 2 ] && [ "$(cat "$socket")" = text ] || fail "a file at the socket's path"
rm "$socket"

# What a client says and reads. Python is how a script speaks to sockets.
cat >"$work/client.py" <<'EOF'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
def ask(command, payload):
    s.sendall(struct.pack('<HHIII', 7, command, 16 + len(payload), 0, 0) + payload)
    head = b''
    while len(head) < 16:
        head += s.recv(16 - len(head))
    size, flags, error = struct.unpack('<4xIII', head)
    body = b''
    while len(body) < size - 16:
        body += s.recv(size - 16 - len(body))
    return (flags, error, body)
def read(region, offset, count):
    flags, error, body = ask(9, struct.pack('<QII', offset, region, count))
    assert flags == 1, error
    return body[16:]
EOF
export PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1

# A client: what it is told, a trace of it, and the next client after it.
if command -v python3 >/dev/null; then
	start --media "$work/media" --capacity 1M --namespaces 2 --queues 4 --trace "$work/trace.bft" --verbose --stats
	for _ in 1 2; do
		python3 - "$socket" <<'EOF' || fail "a client is not served"
from client import *
assert ask(1, struct.pack('<HH', 0, 0) + b'{"capabilities":{"max_msg_fds":16}}\0')[0] == 1
assert read(7, 0, 2) == b'\x36\x1b'
assert read(7, 9, 3) == b'\x02\x08\x01'
assert struct.unpack('<I', read(0, 8, 4))[0] >> 16 >= 1        # VS
assert ask(7, struct.pack('<IIII', 16, 0, 2, 0))[2][12:] == struct.pack('<I', 5)  # vectors: --queues and one
assert ask(99, b'')[1] == 38                                      # ENOSYS
EOF
	done
	for _ in $(seq 100); do
		! grep -q 'connection 2 ends' "$work/err" || break
		sleep 0.05
	done
	# What was recorded is in the file soon, for a server that is killed.
	for _ in $(seq 200); do
		! "$BELFRY" dump "$work/trace.bft" 2>/dev/null | grep -q 'vfio_user_message' || break
		sleep 0.05
	done
	"$BELFRY" dump "$work/trace.bft" 2>/dev/null | grep -q 'vfio_user_message' || fail "nothing is in the trace while it is written"
	stop TERM
	grep -q 'refused: unknown command 99' "$work/err" || fail "--verbose says nothing of the refusal"
	grep -Eq 'ssd0.vfio_user.sessions +2$' "$work/out" || fail "not two sessions"
	[ "$(stat -c %s "$work/media")" -eq 1048576 ] || fail "the media has another size"
	"$BELFRY" dump "$work/trace.bft" >"$work/dump" || fail "the trace cannot be read"
	grep -q 'vfio_user_message' "$work/dump" || fail "no message in the trace"

	start --once
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$socket"
	wait "$server" || fail "--once ends with exit code $?"
	server=
fi

# Options that make no sense say so, with exit code 2, and leave nothing behind.
bad() {
	timeout 20 "$BELFRY" serve "$@" >"$work/out" 2>"$work/err"
	[ $? -eq 2 ] && [ -s "$work/err" ] || fail "taken: serve $*"
	[ ! -e "$socket" ] || fail "left a socket: serve $*"
}
bad nvme
bad mouse --socket "$socket"
bad nvme --socket "$socket" --lba 1024
bad nvme --socket "$socket" --queues 0
bad nvme --socket "$socket" --capacity 4097
bad nvme --socket "$socket" --faults 'no-such-fault'
bad nvme --socket "$socket" --trace "$work/no/such/folder"
bad nvme --socket "$socket" --trace "$work/t" --records nothing
bad nvme --socket "$socket" --media "$work/no/such/folder"
bad nvme --socket "$work/no/such/folder/socket"
bad nvme --socket "$socket" --profile none
bad nvme --socket "$socket" --serial 123456789012345678901
bad nvme --socket "$socket" --serial ''
bad nvme --socket "$socket" --cmb 1000
bad nvme --socket "$socket" --namespaces 65
bad nvme --socket "$socket" --media "$work/twice" --media "$work/twice" --capacity 1M
bad nvme --socket "$socket" --media "$work/twice" --capacity 2M
bad nvme --socket "$socket" --media /dev/null

# A server that is killed leaves the media as they were written, free for the next one.
start --media "$work/twice"
timeout 20 "$BELFRY" serve nvme --socket "$socket.2" --media "$work/twice" >"$work/second" 2>&1
[ $? -eq 2 ] && grep -q 'in use' "$work/second" || fail "two servers on one medium"
kill -KILL "$server"
wait "$server" 2>/dev/null
start --media "$work/twice"
stop TERM
[ "$(stat -c %s "$work/twice")" -eq 1048576 ] || fail "the medium of a killed server has another size"
"$BELFRY" serve nvme --help | grep -q vfio-user-pci || fail "the help has no command line for QEMU"

# The ConnectX, likewise.
device=mlx5
start --json --net "serve$$"
stop TERM
if command -v jq >/dev/null; then
	jq -e '.device == "mlx5" and .stats["mlx5_0.cmdq.commands"] != null' "$work/out" >/dev/null || fail "--json: no document of mlx5"
fi
if command -v python3 >/dev/null; then
	start --net "serve$$" --stats
	python3 - "$socket" <<'END' || fail "a client of mlx5 is not served"
from client import *
assert ask(1, struct.pack('<HH', 0, 0) + b'{"capabilities":{"max_msg_fds":16}}\0')[0] == 1
assert read(7, 0, 4) == b'\xb3\x15\x21\x10'
assert read(0, 0, 8) == struct.pack('>HHHH', 39, 28, 5, 1002)  # firmware, revision of commands
assert read(0, 0x14, 4) == b'\0\0\0\x56'
counter = read(0, 0x1010, 4)
assert ask(10, struct.pack('<QII', 0x14, 0, 4) + b'\0\0\x10\0')[0] == 1  # a command queue in memory that is not there
assert ask(10, struct.pack('<QII', 0x18, 0, 4) + b'\xff\xff\xff\xff')[0] == 1
import time
for _ in range(200):                                            # it lives
    if read(0, 0x1010, 4) > counter:
        break
    time.sleep(0.05)
else:
    sys.exit('the health counter stands still')
END
	stop TERM
	grep -Eq 'mlx5_0.cmdq.doorbells +1$' "$work/out" || fail "mlx5: no doorbell counted"
fi
bad mlx5
bad mlx5 --socket "$socket" --address 10.0.200.1
bad mlx5 --socket "$socket" --address 10.0.0.1:4791
bad mlx5 --socket "$socket" --udp here
bad mlx5 --socket "$socket" --media "$work/media"
