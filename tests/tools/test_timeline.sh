#!/bin/bash
# Perfetto traces by the eyes of protoc and waveforms by those of a strict reader: of runs on each device, of one that
# hangs, and of a capture.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
	echo "$*"
	failed=1
}

trace() {
	local name=$1
	shift
	"$BELFRY" "$@" --trace "$name.bft" >/dev/null
	"$BELFRY" export "$name.bft" --to perfetto -o "$name.pf" >/dev/null || fail "$name: export to perfetto"
	"$BELFRY" export "$name.bft" --to vcd -o "$name.vcd" >/dev/null || fail "$name: export to vcd"
}

trace put run ibgda-mixed --messages 6 --pes 3
trace hang run ibgda-put --messages 1 --bug lost-batch --limit 1ms
trace nvme run nvme-read --commands 5
trace sdma run sdma-rect
trace barrier run mbarrier-ring
trace capture replay "$BELFRY_SOURCE_DIR/traces/samples/mix_1.client.jsonl"
traces="put hang nvme sdma barrier capture"

# A strict reader of value change dumps: every identifier declared once, times grow, widths hold.
for t in $traces; do
	awk '
		/^\$var/ { if ($4 in bits) bad("declared twice: " $4); bits[$4] = $3; next }
		/^\$scope/ { depth++; next }
		/^\$upscope/ { depth--; next }
		/^\$enddefinitions/ { ended = 1; if (depth) bad("scopes are open") ; next }
		/^[$]/ { next }
		/^#/ { if (substr($0, 2) + 0 < now) bad("time goes back"); now = substr($0, 2) + 0; next }
		/^[01x]/ { id = substr($0, 2); if (bits[id] != 1) bad("not a bit: " id); seen++; next }
		/^b/ { if (!($2 in bits)) bad("not declared: " $2); if (length($1) - 1 > bits[$2]) bad("too wide: " $0); seen++; next }
		{ bad("what is this: " $0) }
		function bad(why) { print FILENAME ": line " NR ": " why; wrong = 1 }
		END { exit wrong || !ended || !seen }' "$t.vcd" || fail "$t.vcd"
done
# GTKWave's reader gives back of an FST what the value change dump says.
changes() {
	awk '/^#/ { now = substr($0, 2) + 0; next }
		/^\$scope/ { scope[++depth] = $3; next }
		/^\$upscope/ { depth--; next }
		/^\$var/ { path = ""; for (i = 1; i <= depth; i++) path = path "/" scope[i]; name[$4] = path "/" $5; next }
		/^[01]/ { print now, name[substr($0, 2)], substr($0, 1, 1) }
		/^b[01]/ { value = substr($1, 2); sub(/^0+/, "", value); print now, name[$2], value == "" ? 0 : value }' "$1" | sort
}
for t in $(command -v fst2vcd >/dev/null && echo $traces); do
	"$BELFRY" export "$t.bft" --to fst -o "$t.fst" >/dev/null || fail "$t: export to fst"
	fst2vcd "$t.fst" >"$t.back" 2>/dev/null || fail "$t.fst: fst2vcd cannot read it"
	cmp -s <(changes "$t.vcd") <(changes "$t.back") || fail "$t.fst: other changes than $t.vcd"
done
grep -q 'reg 1 . phase_address' barrier.vcd || fail "no phase of a barrier among the waveforms"

if ! command -v protoc >/dev/null; then
	[ $failed -eq 0 ] && echo "protoc is not installed" && exit 77
	exit 1
fi
for t in $traces; do
	protoc -I "$BELFRY_SOURCE_DIR/tests/tools" --decode=perfetto.protos.Trace perfetto.proto <"$t.pf" >"$t.txt" ||
		fail "$t.pf: protoc cannot read it"
	! grep -qE '^ *[0-9]+[:{ ]' "$t.txt" || fail "$t.pf: fields that the schema lacks"
	# On each track a slice ends before the next one begins, and only those of a hang stay open.
	awk -v open_ok="$([ $t = hang ] && echo 1 || echo 0)" '
		/^ *type:/ { type = $2 }
		/^  timestamp:/ { now = $2 }
		/^ *track_uuid:/ {
			if (type == "TYPE_SLICE_BEGIN" && open[$2]++) bad("slices overlap on track " $2)
			if (type == "TYPE_SLICE_BEGIN" && now < last[$2]) bad("a slice begins before the last one ended, track " $2)
			if (type == "TYPE_SLICE_END") { if (open[$2]-- != 1) bad("no slice to end on track " $2); last[$2] = now }
		}
		function bad(why) { print FILENAME ": " why; wrong = 1 }
		END { for (t in open) left += open[t]; if (left && !open_ok) bad(left " slices are open"); exit wrong }' "$t.txt" ||
		fail "$t.pf"
done
# The arrow of a doorbell, from whoever saw the completion back to the store by software.
flow=$(awk '/^ *name: "saw completion/{ f = 1 } f && /flow_ids:/{ print $2; exit }' put.txt)
for part in 'stores to the device' 'doorbell ' 'CQE REQ' 'saw completion'; do
	awk -v flow="$flow" -v part="$part" '/^ *name: /{ name = $0 } /flow_ids:/ && $2 == flow && index(name, part) { found = 1 }
		END { exit !found }' put.txt || fail "put: the arrow of WQE 0 of a completion that was seen does not touch: $part"
done
grep -q 'name: "waits for' hang.txt || fail "hang: nobody waits"
exit $failed
