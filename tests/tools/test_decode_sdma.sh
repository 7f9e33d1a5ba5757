#!/bin/bash
# decode sdma prints packets of rings as people paste them, and says where and why an engine would stop.
set -u
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
decrement='5e00000a 00001000 0000007f ffffffff ffffffff 00000000 00000000 00000000'
rect='00000401 10000000 0 1 001fe000 0 20000000 0 0 001fe000 0 00010046 0'

"$BELFRY" decode sdma --gen v4 $decrement >"$work/a" || fail "ROCr's signal decrement"
grep -q 'ATOMIC, 8 dwords' "$work/a" && grep -q 'ADD_64' "$work/a" && grep -q '0x7f00001000' "$work/a" ||
	fail "fields: $(cat "$work/a")"
"$BELFRY" decode sdma --gen=v4 "$decrement" | cmp -s - "$work/a" || fail "one argument"
echo "$decrement" | "$BELFRY" decode sdma --gen v4 - | cmp -s - "$work/a" || fail "standard input"
"$BELFRY" decode sdma --gen v4 "$(echo $decrement | tr -d ' ')" | cmp -s - "$work/a" || fail "without blanks"
"$BELFRY" decode sdma --gen v4 $(for w in $decrement; do echo 0x$w,; done) | cmp -s - "$work/a" || fail "0x and commas"

awk 'BEGIN { for (i = 0; i < 1500; i++) printf "00000005 00030000 00000000 %08x ", i; print "" }' |
	"$BELFRY" decode sdma --gen v4 - | grep -c '^[0-9]*: FENCE' | grep -qx 1500 || fail "a line of 54 KB"

# Several packets; both layouts of a sub-window.
"$BELFRY" decode sdma $rect 00030005 1000 0 1 0 >"$work/b" || fail "three packets"
grep -q '^0: COPY_RECT, 13 dwords, moves 142 bytes' "$work/b" && grep -q '^13: FENCE' "$work/b" &&
	grep -q '^17: NOP' "$work/b" || fail "three packets: $(cat "$work/b")"
grep -q 'src_pitch *0xff (255)\|src_pitch *0xff  256' "$work/b" || fail "narrow pitch: $(grep pitch "$work/b")"
"$BELFRY" decode sdma --gen v7 $rect | grep -q 'src_pitch *0x1f  32' || fail "wide layout"
"$BELFRY" decode sdma --gen v7 --rect narrow $rect | grep -q 'src_pitch *0xff  256' || fail "narrow layout on v7"

# What stops a queue: exit code 2, and a sentence.
"$BELFRY" decode sdma 0 0 ff >"$work/c" 2>"$work/err"
[ $? = 2 ] && grep -q 'at dword 2.*no such packet' "$work/err" || fail "unknown opcode: $(cat "$work/err")"
"$BELFRY" decode sdma 2 1000 0 7 1 >"$work/c" 2>"$work/err"
[ $? = 2 ] && grep -q 'longer than what was published' "$work/err" || fail "truncated: $(cat "$work/err")"
"$BELFRY" decode sdma 80000005 1000 0 1 | grep -q 'reserved bits are set' || fail "reserved bits"
for bad in 'xyz' '123456789' ''; do
	"$BELFRY" decode sdma "$bad" >/dev/null 2>&1
	[ $? = 2 ] || fail "'$bad' was taken"
done
"$BELFRY" decode sdma --gen v9 0 >/dev/null 2>"$work/err"
[ $? = 2 ] && grep -q "v7.1" "$work/err" || fail "unknown generation"
if command -v python3 >/dev/null; then
	"$BELFRY" decode sdma --json $rect 0 | python3 -c '
import json, sys
p = json.load(sys.stdin)["packets"]
assert [x["packet"] for x in p] == ["COPY_RECT", "NOP"], p
assert p[0]["bytes"] == 142 and p[0]["runs"] is True
assert {"name": "x", "dword": 11, "value": "0x46", "meaning": "71"} in p[0]["fields"], p[0]
' || fail "JSON"
	# One document also where decoding ends early.
	"$BELFRY" decode sdma --json 0 ff 0 2>/dev/null | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert [x["runs"] for x in d["packets"]] == [True, False] and "dword 1" in d["error"] and d["exit"] == 2, d
' || fail "JSON of what stops a queue"
fi
exit $failed
