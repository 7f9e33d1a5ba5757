#!/bin/bash
# belfry switch with Python's sockets for machines: who gets which frame, what the fault plan may take and what not, the
# order of frames that wait, and options that make no sense. Kernels are on it in the lab (tests/long/lab_switch.sh).
set -u
work=$(mktemp -d)
switch=
trap '[ -z "$switch" ] || kill -KILL "$switch" 2>/dev/null; rm -rf "$work"' EXIT

fail() {
	echo "$*" >&2
	cat "$work"/out "$work"/err >&2 2>/dev/null
	exit 1
}

# start OPTIONS...: a switch with three ports that is ready.
start() {
	rm -f "$work/out" "$work/err"
	"$BELFRY" switch --port "$work/a" --port "$work/b" --port "$work/c" "$@" >"$work/out" 2>"$work/err" &
	switch=$!
	for _ in $(seq 200); do
		! grep -sqx switching "$work/out" "$work/err" || return 0
		kill -0 "$switch" 2>/dev/null || break
		sleep 0.05
	done
	fail "no line that it is ready: switch $*"
}

stop() {
	local code=0
	kill -TERM "$switch"
	wait "$switch" || code=$?
	switch=
	[ "$code" -eq 0 ] || fail "its exit code is $code"
	[ ! -e "$work/a" ] && [ ! -e "$work/c" ] || fail "it leaves its sockets"
}

counted() {
	grep -Eq "$1 +$2\$" "$work/out" || fail "not counted: $1 $2"
}

"$BELFRY" switch --port "$work/no/such/a" --port "$work/no/such/b" >"$work/out" 2>"$work/err"
[ $? -ne 77 ] || exit 77
command -v python3 >/dev/null || exit 77

cat >"$work/machines.py" <<'EOF2'
import os, socket, struct, sys, time

work = sys.argv[1]

class Machine:
    def __init__(self, name, number):
        path = f'{work}/{name}'
        if os.path.exists(path + '.vm'):
            os.unlink(path + '.vm')
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.s.bind(path + '.vm')
        self.s.connect(path)
        self.mac = bytes([2, 0, 0, 0, 0, number])
        self.ip = bytes([10, 0, 0, number])

    def send(self, to, what):
        self.s.send((to.mac if to else b'\xff' * 6) + self.mac + what)

    # The payload of what comes next, None if nothing does.
    def get(self, wait=5.0):
        self.s.settimeout(wait)
        try:
            return self.s.recv(70000)[12:]
        except (TimeoutError, socket.timeout):
            return None

a, b, c = Machine('a', 1), Machine('b', 2), Machine('c', 3)

# A RoCEv2 packet: IPv4, UDP, BTH with a PSN, four bytes, an ICRC that nobody looks at.
def roce(src, dst, psn, port=4791):
    bth = struct.pack('>BBHII', 4, 0, 0xffff, 7, psn) + b'data' + b'icrc'
    udp = struct.pack('>HHHH', 49152, port, 8 + len(bth), 0)
    ip = struct.pack('>BBHHHBBH', 0x45, 0, 28 + len(bth), 0, 0x4000, 64, 17, 0) + src.ip + dst.ip
    return b'\x08\x00' + ip + udp + bth

def psn(frame):
    return int.from_bytes(frame[2 + 20 + 8 + 9:2 + 20 + 8 + 12], 'big')

def meet():
    for m, others in ((a, (b, c)), (b, (a, c)), (c, (a, b))):
        m.send(None, b'\x08\x06hello')               # to all others, and nobody else
        assert [o.get() for o in others] == [b'\x08\x06hello'] * 2
    assert a.get(0.1) is None

def quiet(*machines):
    assert all(m.get(0.2) is None for m in machines)
EOF2

play() {
	cat "$work/machines.py" - >"$work/play.py"
	timeout 60 python3 "$work/play.py" "$work" || fail "as played: line above"
}

# Frames find the one who is meant; a machine that moves is found where it is; a frame that is none is nothing.
start --stats
play <<'EOF2'
meet()
a.send(b, b'\x08\x00text')
assert b.get() == b'\x08\x00text'
quiet(c)
a.s.send(b'short')
a.mac, c.mac = c.mac, a.mac
a.send(b, b'\x08\x00moved')
assert b.get() == b'\x08\x00moved'
b.send(a, b'\x08\x00there')
assert a.get() == b'\x08\x00there'
quiet(b, c)
# Nobody reads for a while: the kernel holds some frames, the switch the rest, and their order is kept.
for n in range(500):
    a.send(b, b'\x08\x00' + struct.pack('>I', n))
time.sleep(0.2)
seen = []
for n in range(500, 700):                               # and while it reads
    a.send(b, b'\x08\x00' + struct.pack('>I', n))
    seen += [b.get(), b.get()]
assert [struct.unpack('>I', f[2:])[0] for f in seen + [b.get() for n in range(300)]] == list(range(700))
a.send(a, b'\x08\x00self')
quiet(a, b, c)
# RoCE before the other has said a word goes straight on; then by the fabric, as it is.
first = roce(b, a, 1)
b.send(a, first)
assert a.get() == first
a.send(b, roce(a, b, 2))
assert psn(b.get()) == 2
b.send(a, roce(b, a, 3))
assert psn(a.get()) == 3
big = roce(a, b, 4) + bytes(9000)                     # longer than a packet can be: straight on as well
a.send(b, big)
assert b.get() == big
EOF2
stop
counted switch.flooded 3
counted switch.roce 2
! grep -q switch.lost "$work/out" || fail "lost frames that a machine would have read"

# The plan takes packets of the machine that it names, and none that is not RoCE.
start --stats --faults 'drop on=10.0.0.1 skip=2 count=3; duplicate on=10.0.0.2 count=1' --trace "$work/wire.bft"
play <<'EOF2'
meet()
b.send(a, roce(b, a, 100))                              # unknown yet: not the plan's
assert psn(a.get()) == 100
for n in range(10):
    a.send(b, roce(a, b, n))
    a.send(b, roce(a, b, n, 4790))
seen = [b.get() for n in range(17)]
assert sorted(psn(f) for f in seen if f[2 + 20 + 3] == 0xb7) == [0, 1, 5, 6, 7, 8, 9], [psn(f) for f in seen]
assert sorted(psn(f) for f in seen if f[2 + 20 + 3] != 0xb7) == list(range(10))
b.send(a, roce(b, a, 101))
assert [psn(a.get()) for _ in range(2)] == [101, 101]
quiet(a, b, c)
EOF2
stop
counted switch.roce 11
"$BELFRY" dump "$work/wire.bft" >"$work/dump" || fail "the trace cannot be read"
grep -q 'drop' "$work/dump" || fail "no loss in the trace"

# A machine that goes: what is for it is lost, and the others do not mind. A killed switch's sockets are taken over.
start --stats
play <<'EOF2'
meet()
b.s.close()
a.send(b, b'\x08\x00nobody')
a.send(c, b'\x08\x00somebody')
assert c.get() == b'\x08\x00somebody'
EOF2
timeout 20 "$BELFRY" switch --port "$work/a" --port "$work/d" >"$work/second" 2>&1
[ $? -eq 2 ] && [ -S "$work/a" ] && [ ! -e "$work/d" ] || fail "a second switch on a socket"
stop
counted switch.lost 1
start
kill -KILL "$switch"
wait "$switch" 2>/dev/null
[ -S "$work/a" ] || fail "a killed switch has cleaned up?"
start
stop
# Somebody's who talks to somebody else only.
python3 - "$work" <<'EOF2' || fail "a socket in use is taken over"
import os, socket, subprocess, sys
at = sys.argv[1]
one, two = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
one.bind(at + '/a')
two.bind(at + '/two')
one.connect(at + '/two')
inode = os.stat(at + '/a').st_ino
switch = [os.environ['BELFRY'], 'switch', '--port', at + '/a', '--port', at + '/b']
assert subprocess.run(switch, timeout=20, stderr=subprocess.DEVNULL).returncode == 2
assert os.stat(at + '/a').st_ino == inode
EOF2
rm "$work/a"

bad() {
	timeout 20 "$BELFRY" switch "$@" >"$work/out" 2>"$work/err"
	[ $? -eq 2 ] && [ -s "$work/err" ] || fail "taken: switch $*"
	[ ! -e "$work/a" ] || fail "left a socket: switch $*"
}
bad
bad --port "$work/a"
bad --port "$work/a" --port "$work/a"
bad --port "$work/a" --port ''
bad --port "$work/a" --port "$work/$(printf 'x%.0s' $(seq 120))"
bad --port "$work/a" --port "$work/b" --faults 'no-such-fault'
bad --port "$work/a" --port "$work/b" --trace "$work/no/such/folder"
echo text >"$work/file"
bad --port "$work/a" --port "$work/file"
[ "$(cat "$work/file")" = text ] || fail "a file at a socket's path"
exit 0
