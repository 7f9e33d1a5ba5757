#!/bin/sh
# Litmus tests with verdicts of others and with ours: the views agree, and a verdict that was turned round is found.
set -eu
form=litmus
. "$BELFRY_SOURCE_DIR/tests/tools/checked.sh"

xz -dc "$samples/litmus_ptx.jsonl.xz" >"$work/ptx.jsonl"
check "$work/ptx.jsonl"
is 0 "264 tests, 264 with a verdict: 264 agree, 0 differ, 0 not decided"
is 0 "154 of 154 allowed outcomes seen"
check "$samples/litmus_classics.jsonl"
is 0 "46 agree, 0 differ, 0 not decided"
check "$samples/litmus_tso.jsonl"
is 0 "20 agree, 0 differ, 0 not decided"

# Every verdict turned round is noticed.
sed 's/"outcome_allowed":true/"outcome_allowed":FALSE/; s/"outcome_allowed":false/"outcome_allowed":true/
	s/"outcome_allowed":FALSE/"outcome_allowed":false/' "$samples/litmus_classics.jsonl" "$samples/litmus_tso.jsonl" \
	>"$work/turned.jsonl"
check "$work/turned.jsonl"
is 1 "66 tests, 66 with a verdict: 0 agree, 66 differ, 0 not decided"

# A scope that is too narrow, an acquire that is not there, a fence of the wrong kind: forbidden outcomes turn up.
grep '"MP+async-reader"' "$samples/litmus_classics.jsonl" | sed 's/"kind":"async"/"kind":"texture"/' >"$work/kind.jsonl"
check "$work/kind.jsonl"
is 1 "DIFFERS: forbidden by its verdict, seen"
grep '"S+release-acquire"' "$samples/litmus_classics.jsonl" | sed 's/"gpu","proxy"/"cta","proxy"/g' >"$work/scope.jsonl"
check "$work/scope.jsonl"
is 1 "DIFFERS: forbidden by its verdict, seen"

# What cannot be read is named, with line and column.
grep '"2+2W+relaxed"' "$samples/litmus_classics.jsonl" >"$work/one.jsonl"
refuse() { # SED-COMMAND TEXT
	{ cat "$work/one.jsonl"; sed "$1" "$work/one.jsonl"; } >"$work/bad.jsonl"
	check "$work/bad.jsonl"
	is 2 "$2"
}
refuse 's/"op":"st"/"op":"stx"/' 'line 2, column 250: field "op" is no operation that is known'
refuse 's/"sem":"relaxed"/"sem":"volatile"/' 'field "sem" is not known'
refuse 's/"loc":"x"/"loc":"z"/' 'field "loc" names no location'
refuse 's/"outcome":/"result":/' 'field "outcome" is missing'
refuse 's/"scope":"gpu"/"scope":null/' 'line 2: a strong operation has no scope'
refuse 's/"const":1/"const":1e3/' 'wants a whole number'
refuse 's/"threads":\[/"threads":[7,/' 'an object was expected'
echo good
