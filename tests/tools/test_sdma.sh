#!/bin/sh
# belfry run sdma-..., check sdma-rect, export --to=svg: every workload verifies, every known mistake shows, and what is
# wrong with an input is said.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$1" >&2
	[ ! -s "$work/out" ] || head -n 40 "$work/out" >&2
	exit 1
}

# expect CODE ARGUMENTS...: runs, keeps both outputs in $work/out, compares the exit code.
expect() {
	want=$1
	shift
	code=0
	"$BELFRY" "$@" >"$work/out" 2>&1 || code=$?
	[ "$code" -eq "$want" ] || fail "belfry $*: exit code $code, not $want"
}

# says TEXT: the last output has it.
says() {
	grep -qF -- "$1" "$work/out" || fail "the output does not say '$1'"
}

all='rect tiles copy fill write fence queues concurrent wrap pause doorbell broadcast reset memcpy3d'
for w in $all; do
	expect 0 run "sdma-$w" --records none
	says 'all correct'
	expect 0 run "sdma-$w" --gen v4 --ordering adversarial --wrapped --seed 3
	[ "${BELFRY_WIDE-1}" != 1 ] || expect 0 run "sdma-$w" --gen v7.1 --ordering tso --fences --exact-fit
	expect 0 run "sdma-$w" --backend live
done
expect 0 run sdma-concurrent --producers 4 --queues 2 --gen v5 --commands 200
expect 0 run sdma-wrap --producers 6 --wait-idle --place gpu
expect 0 run sdma-broadcast --pes 4
# What ROCr does on some parts only: gangs of engines, polls done twice, submissions of at least 64 dwords.
for gang in 1 4; do
	expect 0 run sdma-fence --gang $gang --queues 3 --ordering adversarial
	expect 0 run sdma-fence --gang $gang --queues 2 --part gfx908
done
parts='gfx900 gfx908 gfx90a gfx1010 gfx1030 gfx1100 gfx1200 gfx1250'
[ "${BELFRY_WIDE-1}" = 1 ] || parts='gfx900 gfx1250'
for part in $parts; do
	expect 0 run sdma-fence --part $part --gang 2
	expect 0 run sdma-copy --part $part --size 9000000 --commands 1
done
expect 0 run sdma-copy --part gfx90a --size 9000000 --commands 1 --json
says '"packets":1,'
expect 0 run sdma-copy --part gfx900 --size 9000000 --commands 1 --json
says '"packets":3,'
expect 2 run sdma-copy --part gfx803
says 'gfx900, gfx908'
expect 2 run sdma-copy --part gfx900 --gen v6
expect 2 run sdma-copy --gang 2
expect 2 run sdma-fence --gang 2 --fences
says 'need atomics'
expect 77 run sdma-rect --backend kfd
says 'no /dev/kfd'
expect 0 run sdma-copy --size 9000000 --commands 1 --gen v4
expect 0 run sdma-tiles --commands 500 --seed 9 --gen v7 --strict

# The parameters that KFDTest's form of the test prints.
expect 0 run sdma-rect --element 4
says 'one pixel size          4 bytes'
says 'destination rect size   128 * 16384 bytes'
says 'copy rect size          32 * 32 * 1 bytes'
says 'destination offset      (12, 48, 0) pixels'
[ "$(grep -c 'one pixel size' "$work/out")" -eq 1 ] || fail "more than one element size"
expect 0 run sdma-reset
says 'queue 0 hung'

# harm BUG CAUSE ARGUMENTS...: some of the first seeds show it and the cause is named; none does without it.
harm() {
	bug=$1 cause=$2
	shift 2
	for seed in 1 2 3 4 5 6 7 8; do
		code=0
		"$BELFRY" run "$@" --bug "$bug" --seed $seed --limit 10ms >"$work/out" 2>&1 || code=$?
		[ $code -eq 0 ] || break
	done
	[ $code -eq 1 ] || fail "$bug does no harm in $*: exit code $code"
	grep '^cause: ' "$work/out" | grep -qF -- "$cause" || fail "$bug in $*: the cause is not '$cause'"
	expect 0 run "$@" --seed $seed --limit 10ms
}
harm doorbell-first 'before pe0.cpu0 stored it there: the doorbell was rung first' sdma-copy --ordering adversarial
harm no-fence 'no fence stands between the packets and the doorbell' sdma-copy --ordering adversarial
harm no-full-check 'nobody looked at the read pointer' sdma-wrap --producers 4
harm commit-order 'submissions are published out of turn' sdma-wrap --producers 4 --ordering adversarial
harm straddle "over the ring's end at 4096" sdma-wrap
harm no-nops 'as padding and stored no NOPs there' sdma-wrap
harm wrap-index 'an offset in the ring, after bytes up to 4032 had been published' sdma-wrap
harm copy-count 'which moves 4097 bytes' sdma-copy
harm fill-count 'was written by no copy; the nearest is CONST_FILL' sdma-fill
harm rect-pitch 'was written by no copy; the nearest is COPY_RECT' sdma-rect
harm rect-bytes 'COPY_RECT at byte 44 of sdma0.q0, which moves 16384 bytes' sdma-rect --element 16
harm no-copy-order 'before COPY_LINEAR at byte 44 had written it' sdma-copy --hops 2
harm signal-first 'signals, and comes before the body' sdma-copy
harm signal-write 'signals, and may overtake the copies before it' sdma-copy --size 65536 --gen v4
harm poll-low-first 'a counter that falls is polled high half first' sdma-fence
expect 1 run sdma-copy --faults 'lost-doorbell prob=1'
says 'the fault plan fired 1 time, first lost-doorbell at sdma0.pcie'
# Other backends do not repeat a run: what the queues say is all there is.
expect 1 run sdma-wrap --bug straddle --backend live --limit 1s
says 'cause: a packet runs over the end of the ring'

# The same options give the same run; another seed another one.
for seed in 5 5 6; do
	"$BELFRY" run sdma-tiles --seed $seed | grep hash >>"$work/hashes"
done
[ "$(sort -u "$work/hashes" | wc -l)" -eq 2 ] || fail "hashes of two seeds in three runs: $(cat "$work/hashes")"
if command -v jq >/dev/null; then
	"$BELFRY" run sdma-copy --json | jq -e '.verdict == "good" and .moved_bytes == 65536' >/dev/null || fail "--json"
	"$BELFRY" run sdma-wrap --bug straddle --json >"$work/out" || :
	jq -e '.queues[0].stuck and .cause.text and .cause.records > 0' "$work/out" >/dev/null || fail "--json of a failure"
fi

# What makes no sense is said.
expect 2 run sdma-nothing
says 'sdma-rect'
expect 2 run sdma-copy --element 4
says 'it is for sdma-rect'
expect 2 run sdma-rect --hops 2
expect 2 run sdma-rect --element 3
expect 2 run sdma-copy --size 12
expect 2 run sdma-copy --ring 3000
expect 2 run sdma-copy --bug nothing
expect 2 run sdma-copy --profile v6,nothing=1
expect 2 run sdma-copy --profile v6 --gen v4
expect 2 run sdma-copy --backend live --ordering tso
expect 2 run sdma-copy --commands 1000000 --size 65536
expect 1 run sdma-write --ring 1024 --size 4096
says 'submission refused'
expect 0 run sdma-rect --list
says 'no-copy-order'

# Pictures: at once, and out of a trace of either form.
expect 0 run sdma-rect --picture "$work/a.svg" --trace "$work/r.bft"
expect 0 export "$work/r.bft" --to=svg -o "$work/b.svg"
cmp -s "$work/a.svg" "$work/b.svg" || fail "the trace's picture is another one"
expect 0 run sdma-rect --trace "$work/r.jsonl"
expect 0 export "$work/r.jsonl" --to=svg -o "$work/c.svg"
cmp -s "$work/a.svg" "$work/c.svg" || fail "the picture of the JSON Lines form is another one"
[ "$(grep -c 'correct' "$work/a.svg")" -eq 5 ] || fail "not five good surfaces"
expect 1 run sdma-rect --bug rect-pitch --picture "$work/d.svg"
grep -q wrong "$work/d.svg" || fail "a wrong surface is drawn as a good one"
expect 0 run sdma-copy --trace "$work/copy.bft"
expect 2 export "$work/copy.bft" --to=svg
says 'no surface to draw'

# Vectors.
vectors=$BELFRY_SOURCE_DIR/traces/samples/sdma_rect_tiles.jsonl
expect 0 check sdma-rect "$vectors"
says '120 of 120 correct; 91 run on the model, 3 too large for that'
sed '7s/"dw":\["80000401"/"dw":["80000402"/' "$vectors" >"$work/v"
if ! cmp -s "$vectors" "$work/v"; then
	expect 1 check sdma-rect "$work/v"
	says 'dword 0: is 80000401, should be 80000402'
fi
sed '1s/"range":\[32,32,1\]/"range":[32,31,1]/' "$vectors" >"$work/v"
expect 1 check sdma-rect "$work/v"
says '119 of 120'
head -n 3 "$vectors" >"$work/v"
echo '{"id":"x","gen":"gfx8"' >>"$work/v"
expect 2 check sdma-rect "$work/v"
says "$work/v: line 4"
sed -n '1s/"gen":"gfx9"/"gen":"gfx8"/p' "$vectors" >"$work/v"
expect 2 check sdma-rect "$work/v"
says 'is neither gfx9 nor gfx12'
sed -n '1s/"src_off":\[0,0,0\]/"src_off":[0,0]/p' "$vectors" >"$work/v"
expect 2 check sdma-rect "$work/v"
says 'is not [x, y, z]'
: >"$work/v"
expect 2 check sdma-rect "$work/v"
says 'there is no vector'
