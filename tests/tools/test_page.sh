#!/bin/bash
# The page of a trace: its data are what the trace has, and a browser shows each view without an error.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }

fail() {
	echo "$*"
	failed=1
}

# page NAME ARGUMENTS: the page of a run's trace, and its data as NAME.json.
page() {
	local name=$1
	shift
	"$BELFRY" run "$@" --trace "$work/$name.bft" >/dev/null
	"$BELFRY" export "$work/$name.bft" --to html -o "$work/$name.html" >/dev/null || fail "$name: no page"
	sed -n 's/.*type="application\/json">\(.*\)<\/script>.*/\1/p' "$work/$name.html" >"$work/$name.json"
}

holds() {
	jq -e "$2" "$work/$1.json" >/dev/null || fail "$1: not so: $2"
}

page put ibgda-put --messages 5
page late ibgda-put --messages 3 --size 1 --qp-choice first --ordering adversarial --bug cta-fence --seed 2
page nvme nvme-read --commands 4
page sdma sdma-rect
page barrier mbarrier-ring
page none ibgda-put --records none
holds put '.rings | map(select(.name | test("qp"))) | map(.entries | length) == [5, 5]'
holds put '.rings[].entries[0] | (.bytes | length) >= 128 and (.text | test("opcode"))'
holds put '.items | length % 7 == 0'
holds put '.findings == []'
holds late '.findings | length > 0 and .[0].root'
holds late '[.stores[] | select(.[5] | length > 0)] | length > 0'
holds nvme '[.rings[] | select(.name == "ssd0.sq1")][0].entries | length == 4'
holds sdma '.rings[0].entries[] | select(.label | test("COPY_RECT")) | .text | test("element")'
holds barrier '.tracks | map(.[0]) | index("gpu0.sm0") != null'
holds late '[.places[] | select(.[4] == "doorbell record of QP 0x101")] | length == 2'
holds late '.places[] | select(.[4] == "send ring of QP 0x101" and .[5] == 0) | .[1] == 65536 and .[2] == 64'
holds nvme '.places | map(.[4]) | index("ring of SQ 1") != null'
holds sdma '.places | map(.[4]) | index("read pointer of sdma0.q0") != null'
cat "$work/put.bft" | "$BELFRY" export - --to html | cmp -s - "$work/put.html" || fail "another page from a pipe"
# Two elements of script, whatever texts the trace has.
grep -c '</script>' "$work/put.html" | grep -qx 2 || fail "the page's script elements"

if ! command -v chromium >/dev/null; then
	[ $failed -eq 0 ] && echo "chromium is not installed: the page's data were checked, its looks were not" && exit 77
	exit 1
fi
# see NAME VIEW PATTERN...: what a browser shows of a view.
see() {
	local page=$1 view=$2
	shift 2
	timeout 60 chromium --headless=new --no-sandbox --disable-gpu --virtual-time-budget=4000 --user-data-dir="$work/profile" \
		--dump-dom "file://$work/$page.html#$view" 2>/dev/null >"$work/dom"
	grep -q 'id="verdict"[^>]*>This page failed' "$work/dom" && fail "$page#$view: $(grep -o '>This page failed[^<]*' "$work/dom")"
	for pattern; do
		grep -q "$pattern" "$work/dom" || fail "$page#$view: does not show $pattern"
	done
}
see none memory 'no store that others saw later'
see none statistics 'no entry to follow'
# With the legend: what the colours mean.
see put timeline 'Click a bar' '<i style="background: [^<]*</i>RDMA_WRITE'
see late timeline '</i>error'
see put queues 'RDMA_WRITE'
see put statistics 'nic0.dma'
see late findings 'Root cause' '2 rules could not judge, for lack of records wqe_start'
see late memory '<svg' 'block 0 of the send ring of QP 0x101'
see nvme queues 'ssd0.sq1: 4 entries'
see sdma queues 'COPY_RECT'
see barrier statistics 'barrier waits'
exit $failed
