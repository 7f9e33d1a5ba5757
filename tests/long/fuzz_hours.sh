#!/bin/bash
# Fuzzes every target of tests/fuzz for a number of minutes in all, in turns of equal length, and prints for each how often
# it ran and how much processor time it took. Sums are kept in FOLDER/sums, so that hours can be grown from many runs; so
# are the corpora, of which tests/fuzz/corpus is only the beginning and is not written to.
#
#	cmake --preset fuzz && cmake --build --preset fuzz
#	bash tests/long/fuzz_hours.sh MINUTES [FOLDER [TARGET...]]      FOLDER: build/fuzz-hours
#
# What an execution costs is mostly its input: keep inputs small (the corpus of lint has up to 5 KB, a trace for each few
# records). AddressSanitizer's options are in tests/fuzz/options.c; ASAN_OPTIONS goes before them.
#
# Each turn runs one target on one processor. A crash ends nothing: it is told, its input is kept in FOLDER, and the exit
# code is 1.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BELFRY_FUZZ_DIR-$root/build/fuzz}
minutes=${1:?usage: fuzz_hours.sh MINUTES [FOLDER [TARGET...]]}
folder=${2-$root/build/fuzz-hours}
shift $(($# < 2 ? $# : 2))
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
	for f in "$root"/tests/fuzz/fuzz_*.c; do
		f=${f##*/fuzz_}
		targets+=("${f%.c}")
	done
fi
mkdir -p "$folder"
touch "$folder/sums"
seconds=$((minutes * 60 / ${#targets[@]}))
[ $seconds -gt 0 ] || seconds=1
failed=0
TIMEFORMAT='%U %S'
for t in "${targets[@]}"; do
	program=$build/tests/fuzz_$t
	if [ ! -x "$program" ]; then
		echo "$t: not built"
		failed=1
		continue
	fi
	mkdir -p "$folder/$t"
	[ ! -d "$root/tests/fuzz/corpus/$t" ] || cp -n "$root/tests/fuzz/corpus/$t"/* "$folder/$t/" 2>/dev/null || :
	code=0
	used=$({ time "$program" -max_total_time=$seconds -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
		-artifact_prefix="$folder/$t-" "$folder/$t" >"$folder/$t.out" 2>&1 || echo $? >"$folder/$t.code"; } 2>&1 |
		awk 'NF == 2 && $1 + 0 == $1 { used = $1 + $2 } END { print used + 0 }')
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$t.out" | tail -1)
	if [ -e "$folder/$t.code" ]; then
		code=$(cat "$folder/$t.code")
		rm "$folder/$t.code"
		failed=1
		echo "$t: ended with $code, see $folder/$t.out"
		cp "$folder/$t.out" "$folder/$t-$(date +%s).failed"
	fi
	echo "$t ${runs:-0} $used $code" >>"$folder/sums"
	awk -v t="$t" -v runs="${runs:-0}" -v used="$used" \
		'BEGIN { printf "%-12s %10d runs in %6.1f s of processor: %.0f a second\n", t, runs, used, used > 0 ? runs / used : 0 }'
done
awk '{ n[$1] += $2; s[$1] += $3; runs += $2; used += $3; bad += $4 != 0 }
     END { printf "in all, with what was run before: %d targets, %d runs, %.2f hours of processor, %d ended badly\n",
           length(n), runs, used / 3600, bad }' "$folder/sums"
exit $failed
