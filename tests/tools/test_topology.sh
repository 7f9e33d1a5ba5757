#!/bin/bash
# belfry run --topology and export --to=topology-svg: workloads verify on switches that queue, a broken link shows, and a
# trace draws the same in either form.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fail() {
	echo "FAILED: $*"
	bad=1
}
expect() {
	local code=$1
	shift
	"$BELFRY" "$@" >"$work/out" 2>&1
	[ $? -eq "$code" ] || fail "belfry $* did not exit with $code: $(tail -n 3 "$work/out")"
}
says() {
	grep -q -- "$1" "$2" || fail "$2 does not say '$1'"
}

net='leaf-spine leaves=2 spines=2 hosts-per-leaf=4'
put="ibgda-put --pes 8 --route all --messages 40 --size 6000 --records net"
expect 0 run $put --topology "$net" --trace "$work/a.bft"
says "--topology '$net'" "$work/out"
expect 0 export "$work/a.bft" --to=topology-svg -o "$work/a.svg"
says '8 hosts. links, 2 leaves, 2 spines' "$work/a.svg"
says 'spine 1' "$work/a.svg"
[ "$(grep -c '<title>host' "$work/a.svg")" -eq 8 ] || fail "not eight hosts"
expect 0 export "$work/a.bft" --to=jsonl -o "$work/a.jsonl"
expect 0 export "$work/a.jsonl" --to=topology-svg -o "$work/b.svg"
cmp -s "$work/a.svg" "$work/b.svg" || fail "the JSON Lines' picture is another one"

# A cut link: frames are lost, sent again by another way, and nothing is missing.
expect 0 run $put --topology "$net detect=20us" --faults 'link-down on=leaf0-spine* skip=20 delay=1ms' \
	--ack-timeout 4 --trace "$work/cut.bft"
expect 0 export "$work/cut.bft" --to=topology-svg -o "$work/cut.svg"
says ' lost</tspan>' "$work/cut.svg"
says 'leaf0 to spine' "$work/cut.svg"

# All to one: marks, and with cc CNPs that slow senders down.
hot="ll-dispatch --pes 8 --tokens 32 --hidden 7168 --topk 4 --experts 16 --routing hot --records net"
expect 0 run $hot --topology "$net kmin=4K kmax=32K cc=on" --trace "$work/hot.bft"
expect 0 export "$work/hot.bft" --to=jsonl -o "$work/hot.jsonl"
says '"marked":"yes"' "$work/hot.jsonl"
says '"type":"rate"' "$work/hot.jsonl"

# Two processes share the switches: every PE sees what it sees in one.
spread="ibgda-put --pes 8 --route all --messages 40 --size 6000 --hashes"
expect 0 run $spread --topology "$net kmin=2K kmax=16K xoff=16K xon=8K cc=on"
grep '^PE ' "$work/out" >"$work/one"
expect 0 launch -n 2 -- "$BELFRY" run $spread --topology "$net kmin=2K kmax=16K xoff=16K xon=8K cc=on"
grep '^PE ' "$work/out" >"$work/two"
[ -s "$work/one" ] && cmp -s "$work/one" "$work/two" || fail "two processes give other hashes than one"

expect 0 run $put --topology 'rail rails=1 leaves=2 spines=1 hosts-per-leaf=4'
expect 0 run $put --topology switch --trace "$work/one.bft"
expect 2 export "$work/one.bft" --to=topology-svg
says 'there is no topology to draw' "$work/out"
expect 2 run $put --topology 'leaf-spine hosts-per-leaf=2'
says 'has places for 4 hosts' "$work/out"
expect 2 run $put --topology 'leaf-spine leafs=2'
says "column 12: 'leafs' is not a known option" "$work/out"
if command -v xmllint >/dev/null; then
	xmllint --noout "$work"/*.svg || fail "an SVG is no XML"
fi
exit $bad
