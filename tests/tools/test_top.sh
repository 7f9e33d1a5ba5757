#!/bin/bash
# The live view: lines where there is no terminal, drawn over itself on one, and nothing of it in the results.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$BELFRY" doctor | grep -q '^ *live *yes' || { echo "backend live is not available here"; exit 77; }
fail() {
	echo "$*"
	failed=1
}

"$BELFRY" run nvme-read --backend live --commands 2000 --top >"$work/out" 2>"$work/err" || fail "nvme: exit $?"
grep -q '^good: 2000 commands' "$work/out" || fail "nvme: no result"
grep -q 'doorbells/s' "$work/err" || fail "nvme: no heading"
grep -q '^ssd0 ' "$work/err" || fail "nvme: no row of ssd0"
! grep -q "$(printf '\033')" "$work/err" || fail "nvme: escapes in what is no terminal"
"$BELFRY" run ibgda-put --backend live --messages 500 --top >"$work/out" 2>"$work/err" || fail "ibgda: exit $?"
grep -q '^nic1 ' "$work/err" || fail "ibgda: no row of nic1"
"$BELFRY" run ibgda-put --top >/dev/null 2>"$work/err" && fail "virtual time has no live view"
grep -q 'backend live' "$work/err" || fail "virtual time: no reason"

# On a terminal of 60 columns nothing is wider than it (a notice of a sanitizer aside).
if command -v python3 >/dev/null; then
	on_terminal() {
		TERM=$1 python3 - "$BELFRY" >"$work/tty" <<-'P' || fail "terminal $1: failed"
			import fcntl, os, pty, struct, subprocess, sys, termios
			main, far = pty.openpty()
			fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 60, 0, 0))
			p = subprocess.Popen([sys.argv[1], "run", "nvme-read", "--backend", "live", "--commands", "30000", "--records", "none",
			                      "--capacity", "64M", "--top"], stdout=subprocess.DEVNULL, stderr=far)
			os.close(far)
			seen = b""
			while True:
			    try:
			        part = os.read(main, 65536)
			    except OSError:
			        break
			    if not part:
			        break
			    seen += part
			sys.stdout.buffer.write(seen)
			sys.exit(p.wait())
		P
	}
	on_terminal dumb
	! grep -q "$(printf '\033')" "$work/tty" || fail "a dumb terminal: escapes"
	on_terminal xterm
	grep -q "$(printf '\033')\[K" "$work/tty" || fail "terminal: does not draw over itself"
	sed "s/$(printf '\033')\[[0-9]*[KA]//g" "$work/tty" | tr -d '\r' | awk '!/^==/ && length($0) > 60 { bad = 1; print "too wide: " $0 } END { exit bad }' ||
		fail "terminal: lines wider than it"
fi
exit $failed
