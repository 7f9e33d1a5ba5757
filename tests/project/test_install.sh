#!/bin/sh
# Installs into an empty prefix and builds outside projects against it, with CMake's package and with pkg-config.
set -eu
command -v pkg-config >/dev/null || { echo "pkg-config is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A sanitized library needs its runtime in the program too, from the same compiler.
cached() {
	sed -n "s/^$1:[A-Z]*=//p" "$BELFRY_BUILD_DIR/CMakeCache.txt"
}
sanitize=$(cached BELFRY_SANITIZE)
case ${sanitize:+$(cached CMAKE_C_COMPILER)} in
'') ;;
*clang) CC=clang CXX=clang++ CFLAGS="-fsanitize=$sanitize -shared-libasan" ;;
*) CFLAGS=-fsanitize=$sanitize ;;
esac
export CC="${CC:-cc}" CXX="${CXX:-c++}" CFLAGS="${CFLAGS-}" CXXFLAGS="${CFLAGS-}"
export LDFLAGS="$CFLAGS"
case $CFLAGS in
*-shared-libasan)
	runtime=$(clang -print-file-name="libclang_rt.asan-$(uname -m).so")
	LDFLAGS="$CFLAGS -Wl,-rpath,$(dirname "$runtime")"
	;;
esac
cmake --install "$BELFRY_BUILD_DIR" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }

mkdir "$work/app"
cat >"$work/app/main.c" <<'C'
#include <stdio.h>

#include "models/mlx5/profile.h"
#include "sim/sim.h"

int main(void)
{
	struct bf_sim *sim;

	if (bf_sim_create(1, &sim))
		return 1;
	printf("%s %d\n", bf_mlx5_cx7.name, bf_sim_run(sim, BF_NEVER) == BF_RUN_IDLE);
	bf_sim_destroy(sim);
	return 0;
}
C
cat >"$work/app/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(belfry REQUIRED)
add_executable(app main.c)
target_link_libraries(app PRIVATE belfry::belfry)
C
# Its headers are those of the list.
(cd "$work/prefix/include/belfry" && find . -name '*.h' | sed 's,^\./,,' | LC_ALL=C sort) >"$work/installed"
tools=$BELFRY_SOURCE_DIR/tools/api.txt # the program as a library comes with the static one
[ -n "$(find "$work/prefix" -name 'libbelfry-tools.a')" ] || tools=
{ cat "$BELFRY_SOURCE_DIR/drivers/api.txt" $tools | grep '^[a-z]'; echo belfry.h; } | LC_ALL=C sort | diff - "$work/installed"
cmake -S "$work/app" -B "$work/b" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 &&
	cmake --build "$work/b" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
test "$("$work/b/app")" = "cx7 1"

# A shared library in a prefix of its own is found as users of such a prefix let it be found.
LD_LIBRARY_PATH=$(dirname "$(find "$work/prefix" -name 'libbelfry.*' | head -n 1)")
export LD_LIBRARY_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name belfry.pc)")
export PKG_CONFIG_PATH
$CC $CFLAGS $(pkg-config --cflags belfry) "$work/app/main.c" $(pkg-config --static --libs belfry) $LDFLAGS -o "$work/app2"
test "$("$work/app2")" = "cx7 1"

# The example of an outside project, which tests a driver of its own: good as it is, and each of its mistakes is named.
# It takes nothing but <belfry.h>.
examples=$work/examples
cp -r "$BELFRY_SOURCE_DIR/tests/examples" "$examples"
cmake -S "$examples" -B "$work/e" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_FLAGS="$CFLAGS -Wall -Wextra -Wpedantic -Werror" \
	-DCMAKE_CXX_FLAGS="$CFLAGS -Wall -Wextra -Wpedantic -Werror" >"$work/log" 2>&1 &&
	cmake --build "$work/e" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
(cd "$work/e" && ctest --output-on-failure >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
# fails_with BUG RULE PROGRAM: the program fails, and its text has the rule as the cause.
fails_with() {
	if MY_BUG=$1 MY_TRACE=$work/$3.bft "$work/e/$3" >"$work/out" 2>&1; then
		echo "$3 does not notice $1"
		exit 1
	fi
	grep -q "^cause: $2 at " "$work/out" || { cat "$work/out"; exit 1; }
}
for program in test_mlx5_check test_mlx5_gtest test_mlx5_assert; do
	[ -x "$work/e/$program" ] || { echo "without $program: its framework is not installed"; continue; }
	fails_with no-doorbell-fence MLX5-DBREC-ORDER $program
	fails_with no-entry-fence MLX5-ENTRY-ORDER $program
done
fails_with no-entry-fence NVME-ENTRY-ORDER test_nvme
# A device of an outside project: docs/adding-a-device.md shows parts of its files and what its commands print.
# shown PAGE FOLDER: each line of a block of PAGE that names a file is in that file of FOLDER.
shown() {
	awk '/^```(c|cpp|cmake) [a-zA-Z]/ { file = $2; next } /^```$/ { file = "" } file && NF { print file "\t" $0 }' "$1" >"$work/shown"
	[ "$(wc -l <"$work/shown")" -gt 15 ]
	while IFS= read -r line; do
		file=${line%%	*}
		grep -Fxq -e "${line#*	}" "$2/$file" || { echo "$1 shows what $file has not: ${line#*	}"; exit 1; }
	done <"$work/shown"
}
if [ -n "$tools" ]; then
	cmake -S "$examples/ring64" -B "$work/r" -DCMAKE_PREFIX_PATH="$work/prefix" \
		-DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" >"$work/log" 2>&1 &&
		cmake --build "$work/r" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	page=$BELFRY_SOURCE_DIR/docs/adding-a-device.md
	shown "$page" "$examples/ring64"
	[ "$(cat "$examples"/ring64/*.[chd]* | wc -l)" -lt 500 ]
	sed 's/^```console ring64$/```console/' "$page" >"$work/page.md"
	BELFRY=$work/r/belfry "$BELFRY_SOURCE_DIR/tests/project/test_docs.sh" "$work/page.md"
	# Same seed, same records; every ordering; its trace read by a program that knows the device and by one that does not.
	ring() { "$work/r/belfry" "$@" >"$work/out" 2>&1; }
	has() { grep -q -e "$1" "$work/out" || { echo "no '$1' in:"; cat "$work/out"; exit 1; }; }
	ring explore ring64-copy --seeds 20 --copies 40 --bytes 300
	has 'no failure in 80 runs'
	if ring run ring64-copy --bug no-fence --ordering adversarial --trace "$work/r.bft" || ring lint "$work/r.bft"; then
		echo "ring64 does not notice no-fence"
		exit 1
	fi
	has RING64-ENTRY-ORDER
	ring rules RING64-OVERRUN
	ring dump "$work/r.bft"
	has 'ring64_fetch .*index=3'
	ring export "$work/r.bft" --to vcd -o "$work/r.vcd"
	grep -q 'produced' "$work/r.vcd"
	ring decode ring64 0100000040000000 "$(printf '%0112d' 0)"
	has 'opcode  1 (copy)'
	ring run ring64-copy --stats --json
	has '"ring0.reads"'
	ring completion bash
	has ring64-copy
	code=0
	"$work/prefix/bin/belfry" lint "$work/r.bft" >"$work/out" || code=$?
	test $code -eq 3
	has 'no rule knows the device ring0'
fi

# docs/embedding.md shows parts of these files, and what one of them prints.
page=$BELFRY_SOURCE_DIR/docs/embedding.md
MY_BUG=no-entry-fence "$work/e/test_mlx5_assert" >"$work/out" || :
awk '/^```text no-entry-fence$/ { on = 1; next } /^```$/ { on = 0 } on' "$page" | diff - "$work/out"
shown "$page" "$examples"
# The traces that they left say the same to a program that reads them, and to belfry lint.
for pair in test_mlx5_assert:MLX5-ENTRY-ORDER test_nvme:NVME-ENTRY-ORDER; do
	code=0
	"$work/e/lint_trace" "$work/${pair%:*}.bft" >"$work/out" || code=$?
	[ $code -eq 1 ] && grep -q "^root cause: ${pair#*:} at " "$work/out" || { cat "$work/out"; exit 1; }
	! "$work/prefix/bin/belfry" lint "$work/${pair%:*}.bft" >"$work/out"
	grep -q "${pair#*:}" "$work/out"
done

# The version is the same everywhere.
cat >"$work/app/version.c" <<'C'
#include <belfry.h>

int main(void)
{
	printf("%d.%d.%d %s\n", BELFRY_VERSION_MAJOR, BELFRY_VERSION_MINOR, BELFRY_VERSION_PATCH, bf_version());
	return 0;
}
C
$CC $CFLAGS $(pkg-config --cflags belfry) "$work/app/version.c" $(pkg-config --static --libs belfry) $LDFLAGS -o "$work/version"
version=$(pkg-config --modversion belfry)
test "$("$work/version")" = "$version $version"
test "$("$work/prefix/bin/belfry" --version)" = "belfry $version"

# The installed program runs from where it is.
"$work/prefix/bin/belfry" --version >/dev/null
test -s "$work/prefix/share/bash-completion/completions/belfry"
for command in '' -run -dump; do
	grep -q '^\.SH SYNOPSIS' "$work/prefix/share/man/man1/belfry$command.1"
done

# The Debian package holds the same.
if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
	cpack --config "$BELFRY_BUILD_DIR/CPackConfig.cmake" -B "$work/deb" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	dpkg-deb -x "$work"/deb/belfry_*.deb "$work/root"
	"$work/root/usr/bin/belfry" --version >/dev/null
	test -s "$work/root/usr/share/man/man1/belfry-run.1.gz"
	# As it is for users: without sanitizers, and with the library in the programs, as presets have it.
	if [ -z "$sanitize" ] && command -v lintian >/dev/null; then
		lintian --allow-root "$work"/deb/belfry_*.deb >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
		! grep '^[EW]:' "$work/log"
	fi
	test -s "$work/root/usr/include/belfry/sim/sim.h"
	test -s "$work/root/usr/include/belfry/belfry.h"
	dpkg-deb -f "$work"/deb/belfry_*.deb Depends | grep -q libc6
fi
