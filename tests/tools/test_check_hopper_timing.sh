#!/bin/sh
# What an H200's sync unit took, row by row, on the model; and what was changed in the rows is found.
set -eu
form=hopper-timing
. "$BELFRY_SOURCE_DIR/tests/tools/checked.sh"

rows() {
	grep "\"exp\":\"$1\"" "$work/all" >"$work/rows"
}

xz -dc "$samples/hopper_timing_h200.jsonl.xz" >"$work/all"

# All rows of these kinds are within bounds.
for kind in arrive_cycle test_cycle stride plain merge arrive_throughput single_latency stale replacement plain_store \
	cta_exit pingpong wake_order park_shape timeout timeout_bg limit_spread limit_many limit_pair hint_arrive \
	remote_pingpong remote_throughput cluster_remote_arrive; do
	rows $kind
	check "$work/rows"
	is 0 '(100.0 %)'
done

# Of all rows that are not about copies at least so many are.
grep -v '"exp":"bulk\|"exp":"tx_partial\|"exp":"evict_bulk' "$work/all" >"$work/rows"
check "$work/rows"
# shellcheck disable=SC2046
set -- $(sed -n 's/^\([0-9]*\) of \([0-9]*\) rows within.*/\1 \2/p' "$work/out")
[ "$2" = 819 ] && [ "$1" -ge 776 ] || { echo "FAILED: $1 of $2 rows within bounds" >&2; exit 1; }

# Rows with equal parameters, each with the bounds of the other: what silicon repeats.
rows 'pool\|wait62\|wake_order'
check "$work/rows"
is 1 'silicon against itself 110 of 134'
is 1 'silicon against itself 3 of 22'
rows stride
cat "$work/rows" "$work/rows" >"$work/twice"
check "$work/twice"
is 0 '312 of  312; silicon against itself 312 of 312'
sed '1s/"cycles_per_op":49.8[0-9]*/"cycles_per_op":53.1/' "$work/rows" | cat - "$work/rows" >"$work/twice"
check "$work/twice"
is 1 'silicon against itself 310 of 312'
check --json "$work/twice"
is 1 '"itself":[{"exp":"stride","pairs":312,"within":310}]'

# A value that is wrong, a capacity that is wrong, a kind that nobody knows.
rows stride
sed 's/"cycles_per_op":49.8[0-9]*/"cycles_per_op":59.8/' "$work/rows" >"$work/bad"
check "$work/bad"
is 1 'silicon      59.80  model      49.90    -16.56 %  OUT'
rows replacement
sed 's/"still_cached":"0/"still_cached":"1/' "$work/rows" >"$work/bad"
check "$work/bad"
is 1 'still_cached             silicon 1'
echo '{"exp":"warp_speed","cycles":1}' >"$work/bad"
check "$work/bad"
is 1 'there is no experiment of this kind'

# A shape is read from its words; an arrive on the own barrier is a local one by whatever address.
row='{"exp":"park_shape","lanes":[0],"tries":[1],"first_try":[5891],"first_result":[1],"total":[5977],"mean_try":[5891]'
echo "$row,\"shape\":\"8 lanes, others exited\"}" >"$work/shape"
row='{"exp":"remote_pingpong","other_lanes":"none","cluster":2,"peer":1,"cycles_one_way":66.07'
echo "$row,\"mode\":\"relaxed, itself\"}" >>"$work/shape"
check "$work/shape"
is 0 '2 of 2 rows'
echo '{"exp":"park_shape","shape":"sideways","lanes":[0],"tries":[1],"first_try":[1],"first_result":[1],"total":[1],"mean_try":[1]}' \
	>"$work/bad"
check "$work/bad"
is 1 'the words of its shape say no experiment'

# Bad files.
echo '{"exp":"stride","stride":8,"op":"arrive","cycles_per_op":49.85}' >"$work/bad"
check "$work/bad"
is 2 'line 1: barriers must be a number'
echo '{"exp":"stride","stride":8,"barriers":100000,"op":"arrive","cycles_per_op":49.85}' >"$work/bad"
check "$work/bad"
is 1 "the row's numbers do not fit an SM"
echo '{"barriers":1}' >"$work/bad"
check "$work/bad"
is 2 'exp must be a text'
check /dev/null
is 2 'there is no row in it'
