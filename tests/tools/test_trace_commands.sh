#!/bin/bash
# import, dump, diff and export: thin, but wired right, in both forms, with damage reported and exit codes kept.
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
capture=$BELFRY_SOURCE_DIR/traces/samples/mix_3rkey.client.jsonl
lines=$(wc -l <"$capture")

"$BELFRY" import mlx5-capture "$capture" -o "$work/a.bft" | grep -q ": $lines events" || fail "import"
"$BELFRY" import mlx5-capture - -o "$work/b.jsonl" <"$capture" >/dev/null || fail "import as JSON Lines"
"$BELFRY" diff "$work/a.bft" "$work/b.jsonl" | grep -q "^$lines records equal, 0 changed" || fail "the forms differ"
"$BELFRY" diff "$work/a.bft" "$capture" >/dev/null || fail "a capture differs from its trace"
"$BELFRY" import mlx5-capture "$capture" 2>&1 | grep -q 'where shall the trace go' || fail "import without -o"
"$BELFRY" import pcap "$capture" -o "$work/x" 2>&1 | grep -q "no form 'pcap'" || fail "import pcap"
"$BELFRY" import mlx5-capture "$capture" -o /nonexistent/x >/dev/null 2>&1
[ $? -eq 2 ] || fail "import into a folder that is not there"
cp "$capture" "$work/same.jsonl"
"$BELFRY" import mlx5-capture "$work/same.jsonl" -o "$work/same.jsonl" 2>&1 | grep -q 'another name' &&
	cmp -s "$capture" "$work/same.jsonl" || fail "import over what is imported"

# No output of any command takes the place of what it reads, and two do not meet in one file.
keeps() { # FILE COMMAND...
	local file=$1
	shift
	cp "$file" "$work/before"
	"$BELFRY" "$@" >"$work/said" 2>&1
	[ $? -eq 2 ] && grep -q 'another name' "$work/said" && cmp -s "$file" "$work/before" || fail "$*: $(cat "$work/said")"
}
ln -s same.jsonl "$work/alias.jsonl"
keeps "$work/same.jsonl" replay "$work/same.jsonl" --trace "$work/same.jsonl"
keeps "$work/same.jsonl" replay "$work/same.jsonl" --pcapng "$work/alias.jsonl"
keeps "$work/same.jsonl" lint "$work/same.jsonl" --sarif "$work/same.jsonl"
keeps "$work/same.jsonl" lint "$work/same.jsonl" --junit="$work/alias.jsonl"
keeps "$work/a.bft" export "$work/a.bft" --to=perfetto -o "$work/a.bft"
echo 'MLX5-FLUSHED because' >"$work/suppress"
keeps "$work/suppress" lint "$work/a.bft" --suppress "@$work/suppress" --sarif "$work/suppress"
keeps "$work/same.jsonl" replay "$work/same.jsonl" --trace "$work/new" --pcapng "$work/new"
[ ! -e "$work/new" ] || fail "a refused command wrote"
mkdir "$work/full" && cp "$capture" "$work/full/records"
"$BELFRY" export "$work/a.bft" --to=ctf -o "$work/full" 2>&1 | grep -q 'is not empty' && cmp -s "$capture" "$work/full/records" ||
	fail "export --to=ctf into a folder with files"

# Damage: what stands in front of it is imported.
head -c 10000 "$capture" >"$work/cut.jsonl"
whole=$(head -c 10000 "$capture" | grep -c '}$')
"$BELFRY" import mlx5-capture "$work/cut.jsonl" -o "$work/cut.bft" >"$work/out" 2>&1
[ $? -eq 2 ] || fail "a cut capture imports without complaint"
grep -q "ends inside line $((whole + 1))" "$work/out" && grep -q "the $whole events in front of it" "$work/out" ||
	fail "$(cat "$work/out")"
[ "$("$BELFRY" dump "$work/cut.bft" --type=capture_mkey,capture_qp,capture_doorbell,capture_wqe,capture_recv_wqe,capture_cqe |
	grep -vc '^#')" -eq "$whole" ] || fail "events in front of the damage"
"$BELFRY" dump "$work/cut.jsonl" >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q 'ends inside line' "$work/err" && [ "$(grep -vc '^#' "$work/out")" -eq "$whole" ] ||
	fail "dump of a cut capture"
head -c 3000 "$work/a.bft" >"$work/half.bft"
"$BELFRY" dump "$work/half.bft" >/dev/null 2>&1
[ $? -eq 2 ] || fail "a cut trace dumps without complaint"

# dump: selections.
[ "$("$BELFRY" dump "$work/a.bft" --type=capture_qp | grep -vc '^#')" -eq 2 ] || fail "dump --type"
[ "$("$BELFRY" dump "$work/a.bft" --limit=3 | grep -vc '^#')" -eq 3 ] || fail "dump --limit"
"$BELFRY" dump "$work/a.bft" --queue=0x100002 | grep -v '^#' | grep -qv 'qpn=0x100002' && fail "dump --queue"
"$BELFRY" dump "$work/a.bft" --type=capture_cqe --limit=1 --tails | grep -q '10 00 02\|100002' || fail "dump --tails"
[ "$("$BELFRY" dump "$work/a.bft" --from=2255us | grep -vc '^#')" -eq 2 ] || fail "dump --from"
"$BELFRY" dump "$work/a.bft" --json | python3 -c '
import json, sys
n = sum(1 for line in sys.stdin if isinstance(json.loads(line), dict))
assert n == int(sys.argv[1]), n' "$lines" || fail "dump --json"
[ "$("$BELFRY" dump - <"$work/a.bft" | grep -vc '^#')" -eq "$lines" ] || fail "dump of standard input"

# diff: finds one changed byte, and says so by exit code.
sed '16s/"index":0/"index":7/' "$capture" >"$work/changed.jsonl"
"$BELFRY" diff "$capture" "$work/changed.jsonl" >"$work/out"
[ $? -eq 1 ] && grep -q '1 changed' "$work/out" || fail "diff: $(cat "$work/out")"
"$BELFRY" diff "$capture" "$work/changed.jsonl" --ignore-fields=capture_cqe.index >/dev/null || fail "diff --ignore-fields"
"$BELFRY" diff "$capture" "$work/changed.jsonl" --json | head -1 | python3 -m json.tool >/dev/null || fail "diff --json"
"$BELFRY" diff "$capture" /nonexistent >/dev/null 2>&1
[ $? -eq 2 ] || fail "diff with nothing"

# export.
"$BELFRY" replay "$capture" --life=none --trace="$work/r.bft" >/dev/null
"$BELFRY" export "$work/r.bft" --to=jsonl -o "$work/r.jsonl" || fail "export --to=jsonl"
"$BELFRY" diff "$work/r.bft" "$work/r.jsonl" >/dev/null || fail "the exported trace differs"
"$BELFRY" export "$work/r.bft" --to=jsonl | cmp -s - "$work/r.jsonl" || fail "export to standard output"
"$BELFRY" export "$work/r.bft" --to=pcapng -o "$work/r.pcapng" | grep -q 'packets, [0-9]* ports$' || fail "export --to=pcapng"
[ "$(head -c 4 "$work/r.pcapng" | od -An -tx1 | tr -d ' ')" = 0a0d0d0a ] || fail "that is no pcapng"
"$BELFRY" export "$work/r.bft" 2>&1 | grep -q 'into which form' || fail "export without a form"
"$BELFRY" export "$work/r.bft" --to=pcapng -o /nonexistent/x >/dev/null 2>&1
[ $? -eq 2 ] || fail "export into a folder that is not there"
ln -s r.jsonl "$work/link.jsonl"
"$BELFRY" export "$work/r.jsonl" --to=jsonl -o "$work/link.jsonl" 2>&1 | grep -q 'another name' &&
	"$BELFRY" diff "$work/r.bft" "$work/r.jsonl" >/dev/null || fail "export over what is exported"
for form in jsonl html vcd ctf; do
	"$BELFRY" export "$0" --to=$form -o "$work/none" 2>&1 | grep -q 'not a Belfry trace' || fail "export --to=$form of a script"
	[ ! -e "$work/none" ] || fail "export --to=$form leaves something of nothing"
done
for form in svg topology-svg; do
	"$BELFRY" export "$work/r.bft" --to=$form -o "$work/none" 2>&1 | grep -q 'to draw' || fail "export --to=$form of a replay"
	[ ! -e "$work/none" ] || fail "export --to=$form leaves an empty picture"
done
"$BELFRY" export "$work/r.bft" --to=jsonl --both 2>&1 | grep -q -e '--both is for --to=pcapng' || fail "--both without pcapng"
"$BELFRY" dump "$work/r.bft" --type=cqe,nosuch 2>&1 >/dev/null | grep -q "has the type 'nosuch'" || fail "a type that is not there"

# What holds nothing of use: one error, nothing written, one JSON document.
"$BELFRY" run ibgda-put --messages=1 --records=meta --trace="$work/put.bft" >/dev/null
"$BELFRY" import mlx5-capture "$work/put.bft" -o "$work/none.bft" 2>&1 | grep -q "the trace of 'belfry run ibgda-put.*' holds no captured events\$" || fail "import of a run"
[ -e "$work/none.bft" ] && fail "import of nothing writes a trace"
"$BELFRY" import mlx5-capture "$capture" -o "$work/i.bft" >/dev/null
"$BELFRY" explain "$work/i.bft" 0x100001:0 2>&1 | grep -q "'belfry replay --life=0x100001:0' runs it" || fail "life of an import"
head -c 9000 "$work/r.bft" >"$work/cut.bft"
for file in "$work/cut.bft" "$work/i.bft" /dev/null; do
	"$BELFRY" explain "$file" 0x100001:0 --json 2>/dev/null >"$work/out"
	[ $? -eq 2 ] || fail "life of $file: exit code"
	python3 -c 'import json, sys; assert json.load(sys.stdin)["error"]' <"$work/out" || fail "life --json of $file"
done
for form in pcapng jsonl perfetto vcd fst html; do
	[ ! -w /dev/full ] || "$BELFRY" export "$work/r.bft" --to=$form -o /dev/full 2>&1 >/dev/null |
		grep -q 'No space left on device$' || fail "export --to=$form on a full disk"
done
for report in sarif junit; do
	[ ! -w /dev/full ] || "$BELFRY" lint "$work/r.bft" --$report /dev/full 2>&1 >/dev/null |
		grep -q '/dev/full: No space left on device$' || fail "lint --$report on a full disk"
done
[ ! -w /dev/full ] || "$BELFRY" run ibgda-put --trace=/dev/full 2>&1 >/dev/null |
	grep -q 'writing a trace: /dev/full: No space left on device$' || fail "run --trace on a full disk"
# Who closed standard output: no results in the trace, which would have its number.
"$BELFRY" run ibgda-put --trace "$work/closed.bft" 2>&1 >&- | grep -q 'Bad file descriptor$' || fail "standard output closed"
"$BELFRY" stats "$work/closed.bft" >/dev/null || fail "the trace of a run with standard output closed"
[ -w /dev/full ] && "$BELFRY" run ibgda-put --trace=/dev/full --json 2>/dev/null >"$work/out"
[ ! -w /dev/full ] || python3 -c 'import json, sys; assert json.load(sys.stdin)["exit"] == 2' <"$work/out" || fail "run --json with a full disk"
if command -v tshark >/dev/null; then
	sent=$("$BELFRY" dump "$work/r.bft" --type=packet | grep -c 'dir=tx')
	[ "$(tshark -r "$work/r.pcapng" 2>/dev/null | wc -l)" -eq "$sent" ] || fail "tshark sees another number of packets"
	tshark -r "$work/r.pcapng" -Y '_ws.malformed || !infiniband' 2>/dev/null | grep -q . && fail "tshark cannot dissect all"
fi
exit $failed
