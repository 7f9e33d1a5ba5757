#!/bin/bash
# decode takes bytes as people paste them; check compares with what was said of them.
set -u
command -v python3 >/dev/null || {
	echo "python3 is not here"
	exit 77
}
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows='00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
0000000b 00000000 00000000 00000000
00000000 00008a12 0a00e2dd 000025d2'
wqe='0000010a 10100102 00000008 00000000 00000040 00001000 00005605 1da51000'

# One completion, many ways to write it.
"$BELFRY" decode mlx5-cqe $rows >"$work/a" || fail "words as arguments"
grep -q 'remote invalid request' "$work/a" && grep -q 'qpn *0xe2dd' "$work/a" || fail "fields: $(cat "$work/a")"
"$BELFRY" decode mlx5-cqe "$rows" | cmp -s - "$work/a" || fail "one argument"
echo "$rows" | "$BELFRY" decode mlx5-cqe - | cmp -s - "$work/a" || fail "standard input"
head -c 70000000 /dev/zero | "$BELFRY" decode mlx5-cqe - 2>&1 | grep -q 'longer than 64 MiB' || fail "standard input without end"
"$BELFRY" decode mlx5-cqe "$(echo $rows | tr -d ' ')" | cmp -s - "$work/a" || fail "without blanks"
"$BELFRY" decode mlx5-cqe "$(echo $rows | tr -d ' ' | sed 's/../&:/g')" | cmp -s - "$work/a" || fail "bytes with colons"
"$BELFRY" decode mlx5-cqe $(for w in $rows; do echo 0x$w; done) | cmp -s - "$work/a" || fail "words with 0x"
"$BELFRY" decode mlx5-cqe 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0xb 0x0 0x0 0x0 0x0 0x8a12 0xa00e2dd 0x25d2 | cmp -s - "$work/a" ||
	fail "words that lost their zeros"
"$BELFRY" decode mlx5-cqe $(printf '00%.0s' $(seq 64)) $rows | cmp -s - "$work/a" || fail "the long form"
"$BELFRY" decode mlx5-wqe $wqe | grep -q '0x0a SEND' || fail "an entry"

# Lines of a log, as why takes them: clocks and ranks in front, offsets, two dumps in one paste.
echo "$rows" | sed 's/^/[1,3]<stderr>:Nov 22 10:00:01 n7: /' | "$BELFRY" decode mlx5-cqe - | cmp -s - "$work/a" || fail "a log"
echo "$rows" | awk '{ gsub(/ /, ""); gsub(/../, "& "); printf "[ 12.34] %08x: %s\n", 16 * (NR - 1), $0 }' >"$work/offsets"
"$BELFRY" decode mlx5-cqe - <"$work/offsets" | cmp -s - "$work/a" || fail "offsets: $(cat "$work/offsets")"
cut -d']' -f2 "$work/offsets" | "$BELFRY" decode mlx5-cqe - | cmp -s - "$work/a" || fail "offsets without clocks"
[ "$(cat "$work/offsets" "$work/offsets" | "$BELFRY" decode mlx5-cqe - | grep -c 'remote invalid request')" -eq 2 ] || fail "two dumps"

# NVMe.
"$BELFRY" decode nvme-status 0x2013 | grep -q 'type 0, code 0x13: PRP Offset Invalid, more in' || fail "$("$BELFRY" decode nvme-status 0x2013)"
"$BELFRY" decode nvme-cqe 00000000 00000000 0100 0500 bf00 0540 >"$work/out"
grep -q 'sqid *5' "$work/out" && grep -q 'cid *0xbf' "$work/out" && grep -q 'phase *1' "$work/out" &&
	grep -q 'type 0, code 0x02: Invalid Field in Command, more in' "$work/out" || fail "nvme-cqe: $(cat "$work/out")"
"$BELFRY" decode nvme-sqe "$(printf '0200050001000000%032d0010000000000000%016d0800000000000000%048d' 0 0 7)" >"$work/out"
grep -q 'an I/O queue Read' "$work/out" && grep -q 'prp1 *0x1000$' "$work/out" && grep -q 'from 8,' "$work/out" || fail "nvme-sqe: $(cat "$work/out")"
# The same from logs: rows with clocks and offsets, of which none is taken for bytes, and statuses in words.
cat >"$work/log" <<'END'
[12.3] sqe:
[12.3] 00000000: 02 00 05 00 01 00 00 00 00 00 00 00 00 00 00 00 |................|
[12.3] 00000010: 00 00 00 00 00 00 00 00 00 10 00 00 00 00 00 00 |................|
[12.3] 00000020: 00 00 00 00 00 00 00 00 08 00 00 00 00 00 00 00 |................|
[12.3] 00000030: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 |................|
END
"$BELFRY" decode nvme-sqe - <"$work/log" >"$work/from_log"
cmp -s "$work/from_log" "$work/out" || fail "nvme-sqe from a log: $(diff "$work/from_log" "$work/out")"
sed 's/^.12.3. //; s/ |.*//; 1d' "$work/log" | "$BELFRY" decode nvme-sqe - | cmp -s - "$work/out" || fail "nvme-sqe with offsets"
{ cat "$work/log" && sed 's/: 02/: 01/' "$work/log"; } | "$BELFRY" decode nvme-sqe - | grep -c '^opcode' | grep -qx 2 || fail "two entries"
printf 'NVMe status: PRP Offset Invalid: x(0x2013)\nnvme0n1: I/O Cmd(0x1) @ LBA 5, 8 blocks, I/O Error (sct 0x0 / sc 0x80) DNR\n' |
	"$BELFRY" decode nvme-status - >"$work/out"
grep -q 'PRP Offset Invalid' "$work/out" && grep -q 'LBA Out of Range, do not retry' "$work/out" || fail "statuses: $(cat "$work/out")"
echo nothing | "$BELFRY" decode nvme-status - >/dev/null 2>&1
[ $? -eq 2 ] || fail "a log without a status"

# Refusals.
refused() {
	local text=$1
	shift
	"$BELFRY" decode "$@" >"$work/out" 2>"$work/err" </dev/null
	local code=$?
	[ $code -eq 2 ] || fail "decode $*: exit code $code, not 2"
	grep -Eq -e "$text" "$work/err" || fail "decode $*: $(cat "$work/err")"
}
refused 'a completion has 64 bytes \(or 128\), not 4' mlx5-cqe 00000000
refused "'z' in 'zz' is not a hex digit" mlx5-cqe zz
refused 'odd number of hex digits' mlx5-cqe 123
refused 'no bytes' mlx5-cqe
refused 'no bytes' mlx5-wqe -
refused 'no form' mlx4-cqe 00
refused 'malformed entry' mlx5-wqe 00
refused 'DS 7 needs 112 bytes' mlx5-wqe "${wqe/02 /07 }"
refused 'malformed entry' mlx5-wqe "${wqe/0a /ff }"
refused 'more than 1024 bytes' mlx5-wqe "$(printf '00%.0s' $(seq 1025))"

# JSON: the fields.
"$BELFRY" decode mlx5-cqe --json "$rows" | python3 -c '
import json, sys
c = json.load(sys.stdin)
assert (c["opcode"], c["syndrome"], c["vendor_syndrome"], c["qpn"]) == ("REQ_ERR", "0x12", "0x8a", "0xe2dd"), c
' || fail "decode mlx5-cqe --json"
"$BELFRY" decode mlx5-wqe --json "$wqe" | python3 -c '
import json, sys
w = json.load(sys.stdin)
assert w["opcode"] == "SEND" and w["index"] == 1 and w["qpn"] == "0x101001", w
assert w["segments"] == [{"address": "0x56051da51000", "length": 64, "lkey": "0x1000"}], w
' || fail "decode mlx5-wqe --json"

# check: the vectors of real cards.
vectors=$BELFRY_SOURCE_DIR/traces/samples/mlx5_cqe_dumps.jsonl
"$BELFRY" check mlx5-cqe "$vectors" >"$work/out" || fail "$(cat "$work/out")"
grep -q '^12 completions: 12 as expected, 0 not, 0 without an expectation$' "$work/out" || fail "$(tail -1 "$work/out")"
"$BELFRY" check mlx5-cqe "$vectors" --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert len(r["vectors"]) == 12 and r["good"] == 12 and r["mismatches"] == 0
assert sum("signature" in v["checked"] for v in r["vectors"]) == 2
' || fail "check --json"

# Each kind of untruth is found.
untrue() {
	sed "$1" "$vectors" >"$work/v.jsonl"
	cmp -s "$work/v.jsonl" "$vectors" && fail "nothing was altered by $1"
	"$BELFRY" check mlx5-cqe "$work/v.jsonl" >"$work/out" 2>&1
	[ $? -eq 1 ] || fail "$1 was not noticed"
	grep -Eq -e "$2" "$work/out" || fail "$1: $(grep -A4 MISMATCH "$work/out")"
}
untrue '1s/92005204/92005205/' 'syndrome should be 0x4, is 0x5'
untrue '1s/92005204/92005304/' 'vendor syndrome should be 0x52, is 0x53'
untrue '1s/0a00082f/0a00082e/' 'QP should be 0x82f, is 0x82e'
untrue '6s/10002c02/08002c02/' 'WQE opcode should be 0x10, is 0x8'
untrue '10s/status 9/status 10/' 'verbs status should be 0xa, is 0x9'
untrue '4s/005a98d2/005a99d2/' 'signature should be 0x2, is 0x3'
untrue '4s/CQ slot 2/CQ slot 3/' 'signature should be 0x3, is 0x2'

bytes=$(echo $rows | tr -d ' ')
echo "{\"bytes\":\"$bytes\",\"expect\":{\"syndrome\":18,\"vendor\":\"0x8a\",\"qpn\":\"0xe2dd\",\"opcode\":10}}" >"$work/e.jsonl"
"$BELFRY" check mlx5-cqe "$work/e.jsonl" | grep -q 'as expected: syndrome, vendor syndrome, QP, WQE opcode' || fail "expect"
echo "{\"bytes\":\"$bytes\",\"expect\":{\"qpn\":5}}" | "$BELFRY" check mlx5-cqe - | grep -q 'QP should be 0x5' || fail "expect qpn"
echo "{\"bytes\":\"$bytes\"}" | "$BELFRY" check mlx5-cqe - | grep -q 'nothing that could be checked' || fail "no note"
imm=${bytes/0a00e2dd/0900e2dd}
echo "{\"bytes\":\"$imm\",\"note\":\"RDMA WRITE with immediate to a peer\"}" | "$BELFRY" check mlx5-cqe - |
	grep -q 'as expected: WQE opcode' || fail "WRITE with immediate"
for bad in '{"bytes":"00"}' '{"words":["zz"]}' '{"note":"x"}' '{' '[]' ''; do
	echo "$bad" | "$BELFRY" check mlx5-cqe - >/dev/null 2>"$work/err"
	[ $? -eq 2 ] && grep -q . "$work/err" || fail "check takes $bad"
done
exit $failed
