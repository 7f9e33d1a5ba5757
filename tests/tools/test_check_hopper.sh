#!/bin/sh
# Barrier words, tokens, results and faults as an H200 gave them; and what was changed in them is found.
set -eu
form=hopper-mbarrier
. "$BELFRY_SOURCE_DIR/tests/tools/checked.sh"

xz -dc "$samples/hopper_mbarrier_h200.jsonl.xz" >"$work/all"
check "$work/all"
is 0 '1000 sequences, 40000 steps: 1000 exact, 0 not; 70177 words, tokens and results compared'
check "$samples/hopper_mbarrier_edges_h200.jsonl"
is 0 '41 sequences, 130 steps: 41 exact, 0 not; 151 words, tokens and results compared, 13 faults'
"$BELFRY" check hopper-mbarrier "$samples/hopper_mbarrier_edges_h200.jsonl" --json |
	jq -e '.sequences == 41 and .exact == 41 and (.mismatches | length) == 0' >/dev/null

head -n 1 "$work/all" | sed 's/7ffff800001fffee/7ffff800001fffec/' >"$work/bad"
check "$work/bad"
is 1 'step 2: the word is 0x7ffff800001fffec on silicon, 0x7ffff800001fffee here'
head -n 1 "$work/all" | sed 's/"result":8/"result":7/' >"$work/bad"
check "$work/bad"
is 1 'step 5: the result is 0x7 on silicon, 0x8 here'
sed 's/launch failure[^"]*/ok/' "$samples/hopper_mbarrier_edges_h200.jsonl" >"$work/bad"
check "$work/bad"
is 1 'faults here (more arrivals than are pending), but not on silicon'
sed 's/"outcome":"ok"/"outcome":"launch failure"/' "$samples/hopper_mbarrier_edges_h200.jsonl" >"$work/bad"
check "$work/bad"
is 1 'the unit faults on silicon, but not here'

# Bad files.
echo '{"seq":0,"steps":[{"op":"arive"}]}' >"$work/bad"
check "$work/bad"
is 2 'line 1, step 0: there is no operation of that name'
echo '{"seq":0,"steps":[{"op":"init","arg":1},{"op":"pending_count","token_of_step":0}]}' >"$work/bad"
check "$work/bad"
is 2 'line 1, step 1: no token came out of the step that is named'
echo '{"seq":0}' >"$work/bad"
check "$work/bad"
is 2 'there is no array "steps"'
echo '{"seq":0,"steps":[{"op":"init","arg":1,"word":"xyz"}]}' >"$work/bad"
check "$work/bad"
is 2 '"word"'
check /dev/null
is 2 'there is no sequence in it'
