#!/bin/sh
# PTX kernels that an H100 ran, on the model; and what was changed in them is found.
set -eu
form=ptx
. "$BELFRY_SOURCE_DIR/tests/tools/checked.sh"

for set in random forms; do
	xz -dc "$samples/ptx_${set}_h100.jsonl.xz" >"$work/$set.jsonl"
	lines=$(wc -l <"$work/$set.jsonl")
	check "$work/$set.jsonl"
	is 0 "$lines exact, 0 not; $((lines * 24)) checksums compared"
done
"$BELFRY" check ptx "$work/random.jsonl" --json | jq -e '.launches == .exact and (.cases | length) == .launches' >/dev/null

cp "$samples/ptx_kernels_h100.jsonl" "$work/kernels.jsonl"
check "$work/kernels.jsonl"
is 2 'kernels.ptx, the module of these kernels, cannot be opened'
xz -dc "$samples/ptx_kernels_h100.ptx.xz" >"$work/kernels.ptx"
check "$work/kernels.jsonl"
is 0 '18 exact, 0 not; 18 checksums compared'
is 0 '4 bodies without a head, 522 lines from line 1596 on: passed over'
# No half of a module is run, and no line asks for more memory than a kernel here needs.
for bad in long folder words; do
	cp "$work/kernels.jsonl" "$work/$bad.jsonl"
done
truncate -s 64M "$work/long.ptx"
check "$work/long.jsonl"
is 2 'long.ptx has 64 MiB or more'
mkdir "$work/folder.ptx"
check "$work/folder.jsonl"
is 2 'folder.ptx cannot be read: Is a directory'
cp "$work/kernels.ptx" "$work/words.ptx"
sed -i 's/"in_words": *[0-9]*/"in_words": 5000000/' "$work/words.jsonl"
check "$work/words.jsonl"
is 2 'in_words'

# One source as a release, a debug and a Blackwell build: the same words from all.
cp "$samples/ptx_kinds_h100.jsonl" "$work/kinds.jsonl"
for build in kinds_h100 kinds_debug_h100 kinds_sm120; do
	xz -dc "$samples/ptx_$build.ptx.xz" >"$work/kinds.ptx"
	check "$work/kinds.jsonl"
	is 0 '123 exact, 0 not; 123 checksums compared'
done
cp "$samples/ptx_more_kinds_h200.jsonl" "$work/more.jsonl"
for build in h200 sm120; do
	xz -dc "$samples/ptx_more_kinds_$build.ptx.xz" >"$work/more.ptx"
	check "$work/more.jsonl"
	is 0 '144 exact, 0 not; 144 checksums compared'
done
# How a debug build rounds and how much shared memory it has is its own; one seed, as it takes long.
xz -dc "$samples/ptx_more_kinds_debug_h200.ptx.xz" >"$work/debug.ptx"
grep -v '"double_functions"\|"sizes"' "$work/more.jsonl" | sed 's/"seeds": \[1, 2, 3\]/"seeds": [1]/' >"$work/debug.jsonl"
check "$work/debug.jsonl"
is 0 '46 exact, 0 not; 46 checksums compared'

# What was changed is found: a register, a word of the output, an instruction, the module.
head -n 1 "$work/random.jsonl" >"$work/one"
sed 's/"r3": "[0-9a-f]*"/"r3": "12345678"/; s/"p": "[0-9a-f]*"/"p": "0"/' "$work/one" >"$work/bad"
check "$work/bad"
is 1 ': r3 p'
sed 's/57076c6f/57076c6e/' "$work/kernels.jsonl" >"$work/changed.jsonl"
cp "$work/kernels.ptx" "$work/changed.ptx"
check "$work/changed.jsonl"
is 1 'MISMATCH  scan, seed 1: other words than on silicon'
is 1 '17 exact, 1 not'
sed 's/bar.sync 0;/trap;/' "$work/one" >"$work/bad"
check "$work/bad"
is 1 'trap'
sed 's/bar.sync 0;/wgmma.fence.sync.aligned;/' "$work/one" >"$work/bad"
check "$work/bad"
is 1 'wgmma'
sed 's/mov.u32/moov.u32/' "$work/one" >"$work/bad"
check "$work/bad"
is 1 'moov'

# Bad files.
sed 's/"row": [0-9]*/"row": 20/' "$work/one" >"$work/bad"
check "$work/bad"
is 2 'is too small for the registers'
sed 's/"r0": "[0-9a-f]*"/"r0": "xyz"/' "$work/one" >"$work/bad"
check "$work/bad"
is 2 '"r0" in "crc" is not a checksum of up to eight digits'
sed 's/"seeds": \[[^]]*\]/"seeds": [1, 2, 3, 4]/' "$work/kernels.jsonl" >"$work/changed.jsonl"
check "$work/changed.jsonl"
is 2 'has fewer entries than seeds'
sed 's/"compare": \[[^]]*\]/"compare": [5]/' "$work/kernels.jsonl" >"$work/changed.jsonl"
check "$work/changed.jsonl"
is 2 'is not [from, to] of the words'
sed 's/"input_seed"/"seed"/' "$work/one" >"$work/bad"
check "$work/bad"
is 2 'field "input_seed" is missing'
echo '{"id": 1}' >"$work/bad"
check "$work/bad"
is 2 'it has neither "ptx" nor "kernel"'
check /dev/null
is 2 'there is no kernel in it'
