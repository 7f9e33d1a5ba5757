#!/bin/sh
# The same record streams on another processor: builds for aarch64 without any optional library, runs it under QEMU's user
# emulation and compares the golden hashes. The switch of coroutines there is assembly that nothing else executes here.
set -eu
for program in aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $program >/dev/null || {
		echo "$program is not installed (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)"
		exit 77
	}
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Nobody reads its debug information, and what reads traces and prints them runs for a moment: it is not optimized.
cmake -S "$BELFRY_SOURCE_DIR" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_SYSTEM_NAME=Linux \
	-DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
	-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DCMAKE_EXE_LINKER_FLAGS=-static \
	-DCMAKE_C_FLAGS_DEBUG='-O1 -DNDEBUG' -DBELFRY_SELDOM=-O0 -DBELFRY_TESTS=OFF -DBELFRY_BENCH=OFF >"$work/log" 2>&1 &&
	cmake --build "$work/build" --target belfry-cli >>"$work/log" 2>&1 || {
	tail -n 20 "$work/log"
	exit 1
}
cat >"$work/belfry" <<RUN
#!/bin/sh
exec qemu-aarch64 "$work/build/tools/belfry" "\$@"
RUN
chmod +x "$work/belfry"
BELFRY=$work/belfry "$BELFRY_SOURCE_DIR/tests/tools/test_determinism.sh"
for sample in mix_1.client mix_3rkey.client rc_pingpong.server; do
	"$work/belfry" replay "$BELFRY_SOURCE_DIR/traces/samples/$sample.jsonl" --life=none | grep 'The model agrees'
done
