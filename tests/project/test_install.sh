#!/bin/sh
# Installs into an empty prefix and builds an outside project against it, once with CMake's package and once with
# pkg-config.
set -eu
command -v pkg-config >/dev/null || { echo "pkg-config is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A sanitized library needs its runtime in the program too; the plain builds cover this test.
grep -q '^BELFRY_SANITIZE:[A-Z]*=.' "$BELFRY_BUILD_DIR/CMakeCache.txt" && { echo "sanitizer build"; exit 77; }
cmake --install "$BELFRY_BUILD_DIR" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }

mkdir "$work/app"
cat >"$work/app/main.c" <<'C'
#include <stdio.h>

#include "models/mlx5/wqe.h"
#include "sim/sim.h"

int main(void)
{
	struct bf_sim *sim;

	if (bf_sim_create(1, &sim))
		return 1;
	printf("%s %d\n", bf_mlx5_opcode_name(BF_MLX5_OP_RDMA_WRITE), bf_sim_run(sim, BF_NEVER) == BF_RUN_IDLE);
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
cmake -S "$work/app" -B "$work/b" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 &&
	cmake --build "$work/b" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
test "$("$work/b/app")" = "RDMA_WRITE 1"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name belfry.pc)")
export PKG_CONFIG_PATH
cc $(pkg-config --cflags belfry) "$work/app/main.c" $(pkg-config --static --libs belfry) -o "$work/app2"
test "$("$work/app2")" = "RDMA_WRITE 1"

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
	test -s "$work/root/usr/share/man/man1/belfry-run.1"
	test -s "$work/root/usr/include/belfry/sim/sim.h"
	dpkg-deb -f "$work"/deb/belfry_*.deb Depends | grep -q libc6
fi
