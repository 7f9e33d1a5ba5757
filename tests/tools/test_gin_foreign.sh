#!/bin/sh
# What the rules say of GIN's mistakes when the driver says nothing, as a kernel of somebody else's: its own records are left
# out of the trace. Each mistake is named, and the same run without it is not accused.
set -eu
records=meta,agent,mem,mmio,dma,queue,net,fault

fail() {
	echo "$*" >&2
	exit 1
}

# named RULE WORDS WORKLOAD OPTION... -- MISTAKE...: MISTAKE is left out for the right run.
named() {
	rule=$1 words=$2
	shift 2
	right='' both=''
	for option; do
		if [ "$option" = -- ]; then
			right=$both
		else
			both="$both $option"
		fi
	done
	# shellcheck disable=SC2086
	"$BELFRY" run $both --records $records --lint >"$work/out" 2>&1 && fail "run $both: nothing"
	grep -q "error: $rule, the root cause" "$work/out" || fail "run $both: not $rule: $(cat "$work/out")"
	tr '\n' ' ' <"$work/out" | tr -s ' ' | grep -q -- "$words" || fail "run $both: not '$words': $(cat "$work/out")"
	# shellcheck disable=SC2086
	"$BELFRY" run $right --records $records --lint >"$work/out" 2>&1 || fail "run $right: $(cat "$work/out")"
	! grep -qE 'error:|warning:' "$work/out" || fail "run $right: $(cat "$work/out")"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

named MLX5-NOT-RUNG 'no doorbell reached the device afterwards' gin-put --batch 16 --messages 10 -- --bug gin-flush-no-ring
named MLX5-RING-UNRUNG 'all 128 slots of QP 0x100 on PE 0 hold entries that nobody rang for, 0 to 127' \
	gin-hybrid --messages 200 --batch 4 -- --bug gin-fill-no-ring
named MLX5-UNSIGNALLED 'none from 1 on asked for a completion' gin-put --messages 2 -- --bug gin-unsignaled
named MLX5-CQE-INDEX 'since not each asked for one' gin-put --messages 40 -- --bug gin-unsignaled
named MLX5-ERROR-IGNORED 'and then stored WQE 8 of QP 0x100 on PE 0 into the ring' gin-put --messages 40 --depth 8 -- \
	--bug gin-ignore-error --faults access-error
named MLX5-SIGNAL-PASSES 'was executed on PE' gin-signal -- --bug gin-relaxed-window --profile cx7,pcie.relaxed_ps=3000000
named MLX5-SHARING-MODE 'by atomics of block scope, of two blocks' gin-put --blocks 2 --messages 20 -- --bug gin-wrong-sharing
named MLX5-SLOT-SHARED 'both were given the slot' gin-put --warps 2 --sharing cta --messages 20 -- --bug gin-wrong-sharing
named MLX5-POLL-LAPPED 'of which those below 0 were seen' gin-signal --messages 40 --depth 8 -- --bug gin-no-credit
