#!/bin/sh
# `belfry new` writes projects that build against an installed Belfry, run, and fail by the mistake that they name; with
# the mistake mended they are good. It never writes into a folder that has files.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
complain() {
	echo "$*" >&2
	exit 1
}

"$BELFRY" new trial "$work/trial" >"$work/out"
grep -q 'build/trial$' "$work/out" || complain "no next step: $(cat "$work/out")"
diff -r "$BELFRY_SOURCE_DIR/tests/examples/trial" "$work/trial"
mkdir "$work/device"
"$BELFRY" new device "$work/device" --json | grep -q '"ring64.def"' || complain "--json names no files"
diff -r "$BELFRY_SOURCE_DIR/tests/examples/ring64" "$work/device"

# refuses TEXT WORD...: exit code 2, and TEXT.
refuses() {
	text=$1
	shift
	code=0
	"$BELFRY" new "$@" >"$work/out" 2>&1 || code=$?
	[ $code -eq 2 ] && grep -q -e "$text" "$work/out" || complain "new $*: code $code, no '$text': $(cat "$work/out")"
}
echo mine >"$work/trial/trial.c"
refuses 'there are files already' trial "$work/trial"
[ "$(cat "$work/trial/trial.c")" = mine ] || complain "it wrote over a file"
refuses 'did you mean trial?' trail "$work/other"
[ ! -e "$work/other" ] || complain "it made a folder for a project that there is not"
refuses 'Not a directory' trial "$work/trial/trial.c"
refuses 'an argument is missing' device

# What users do with them.
cached() {
	sed -n "s/^$1:[A-Z]*=//p" "$BELFRY_BUILD_DIR/CMakeCache.txt"
}
[ -z "$(cached BELFRY_SANITIZE)" ] || exit 0 # project_install links with sanitizers
cmake --install "$BELFRY_BUILD_DIR" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
LD_LIBRARY_PATH=$(dirname "$(find "$work/prefix" -name 'libbelfry.*' | head -n 1)")
export LD_LIBRARY_PATH
rm -r "$work/trial" "$work/device"
"$work/prefix/bin/belfry" new trial "$work/trial" >"$work/out"
grep -q "CMAKE_PREFIX_PATH=$work/prefix\$" "$work/out" || complain "no prefix: $(cat "$work/out")"
"$work/prefix/bin/belfry" new device "$work/device" >"$work/out"
build() {
	cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
		-DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >"$work/log" 2>&1 &&
		cmake --build "$work/$1/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
"$work/prefix/bin/belfry" new nvme "$work/nvme" >/dev/null
diff "$BELFRY_SOURCE_DIR/tests/examples/trial_nvme/trial.c" "$work/nvme/trial.c"
diff "$BELFRY_SOURCE_DIR/tests/examples/trial/CMakeLists.txt" "$work/nvme/CMakeLists.txt"
build nvme
cd "$work/nvme"
! build/trial >"$work/out" || complain "the NVMe trial does not fail"
grep -q '^cause: NVME-ENTRY-ORDER at ' "$work/out" || complain "no cause: $(cat "$work/out")"
sed -i 's/entry_fence = false/entry_fence = true/' trial.c
build nvme
build/trial >"$work/out" || complain "mended, the NVMe trial fails: $(cat "$work/out")"
build trial
cd "$work/trial"
! build/trial >"$work/out" || complain "the trial does not fail"
grep -q '^cause: MLX5-ENTRY-ORDER at ' "$work/out" || complain "no cause: $(cat "$work/out")"
code=0
"$work/prefix/bin/belfry" lint trial.bft >"$work/out" || code=$?
[ $code -eq 3 ] && grep -q MLX5-ENTRY-ORDER "$work/out" || complain "lint: code $code: $(cat "$work/out")"
sed -i 's/entry_fence = false/entry_fence = true/' trial.c
build trial
build/trial >"$work/out" || complain "mended, it fails: $(cat "$work/out")"

[ -n "$(find "$work/prefix" -name 'libbelfry-tools.a')" ] || exit 0 # the others need the static library
"$work/prefix/bin/belfry" new cuda "$work/cuda" >/dev/null
diff -r "$BELFRY_SOURCE_DIR/tests/examples/trial_cuda" "$work/cuda"
! command -v nvcc >/dev/null || nvcc -arch=sm_90 -ptx "$work/cuda/put.cu" -o "$work/cuda/put.ptx"
build cuda
cd "$work/cuda"
for ptx in '' $(find . -name put.ptx); do
	! build/trial $ptx >"$work/out" || complain "the kernel's trial $ptx does not fail"
	grep -q '^cause: MLX5-ENTRY-ORDER at ' "$work/out" || complain "trial $ptx: no cause: $(cat "$work/out")"
	[ -n "$ptx" ] || "$work/prefix/bin/belfry" lint trial.bft >"$work/lint" || [ $? -eq 3 ]
done
! command -v g++ >/dev/null || grep -Eq 'at .*/put.cu:[0-9]' "$work/lint" || complain "no line: $(cat "$work/lint")"
sed -i 's/ENTRY_FENCE 0/ENTRY_FENCE 1/' put.cu
[ ! -e put.ptx ] || nvcc -arch=sm_90 -ptx put.cu -o put.ptx
build cuda
for ptx in '' $(find . -name put.ptx); do
	build/trial $ptx >"$work/out" || complain "mended, the kernel's trial $ptx fails: $(cat "$work/out")"
done
build device
cd "$work/device"
build/belfry run ring64-copy >"$work/out" || complain "the device fails: $(cat "$work/out")"
! build/belfry run ring64-copy --bug no-fence --ordering adversarial >"$work/out" || complain "no-fence is good"
grep -q RING64-ENTRY-ORDER "$work/out" || complain "no cause: $(cat "$work/out")"
code=0
build/belfry run ring64-copy --bug no-wait --entries 4 --lint >"$work/out" || code=$?
[ $code -ne 0 ] && grep -q RING64-OVERRUN "$work/out" || complain "no-wait: code $code: $(cat "$work/out")"
