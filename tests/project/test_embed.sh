#!/bin/sh
# Belfry inside of another project's build: by FetchContent, by add_subdirectory(), as an archive and as a shared
# library. That project gets the headers of the API, the library, and none of Belfry's tests, programs and warnings.
# And on its own, `cmake -S . -B build` without the Check library, which the tests need.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
launcher=$(sed -n 's/^CMAKE_C_COMPILER_LAUNCHER:[A-Z]*=//p' "$BELFRY_BUILD_DIR/CMakeCache.txt")
sh -c "${launcher:-true} --version" >/dev/null 2>&1 || launcher=

mkdir "$work/app"
cat >"$work/app/main.c" <<'C'
#include <belfry.h>

int main(void)
{
	printf("%s %d\n", bf_version(), bf_backend_find("sim") != NULL);
	return 0;
}
C
cat >"$work/app/inside.c" <<'C'
#include "sim/sim_internal.h"
C
cat >"$work/app/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.25)
project(app C)
enable_testing()
if(HOW STREQUAL fetch)
	include(FetchContent)
	FetchContent_Declare(belfry SOURCE_DIR ${BELFRY})
	FetchContent_MakeAvailable(belfry)
else()
	add_subdirectory(${BELFRY} third_party/belfry)
endif()
add_executable(app main.c)
target_link_libraries(app PRIVATE belfry::belfry)
install(TARGETS app)
add_library(inside OBJECT EXCLUDE_FROM_ALL inside.c)
target_link_libraries(inside PRIVATE belfry::belfry)
C

# configure HOW [OPTION...]
configure() {
	how=$1
	shift
	cmake -S "$work/app" -B "$work/$how" -DHOW="$how" -DBELFRY="$BELFRY_SOURCE_DIR" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" \
		"$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}

version=$(sed -n 's/^#define BELFRY_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$BELFRY_SOURCE_DIR/drivers/belfry.h" | paste -sd.)
# The question is whether that project has every file, and each with the same command as this build has: the objects of
# those that do are taken from here. What is not the same is compiled.
configure fetch -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
python3 - "$BELFRY_BUILD_DIR" "$work/fetch" <<'PY'
import json, os, shutil, sys

def commands(build):
    with open(os.path.join(build, "compile_commands.json")) as file:
        return {e["file"]: e for e in json.load(file) if "belfry-objects.dir" in e["command"]}

def parts(e):
    """Where the object goes, and all else of the command that says what is in it."""
    words = [w for w in e["command"].split() if not w.endswith("/ccache")]
    at = words.index("-o")
    return os.path.join(e["directory"], words[at + 1]), words[:at] + words[at + 2:]

here, there = (commands(build) for build in sys.argv[1:])
assert len(there) > 500 and set(here) == set(there), set(here) ^ set(there)
taken = 0
for file, e in there.items():
    (object, command), (mine, same) = parts(e), parts(here[file])
    if command == same and os.path.exists(mine):
        os.makedirs(os.path.dirname(object), exist_ok=True)
        shutil.copyfile(mine, object)
        taken += 1
print(f"{taken} of {len(there)} objects are this build's")
PY
cmake --build "$work/fetch" -j 2 >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
test "$("$work/fetch/app")" = "$version 1"
! grep -q 'warning:' "$work/log"
# Its own headers are all that it sees, and its own program all that it tests and installs.
! cmake --build "$work/fetch" --target inside >"$work/log" 2>&1
grep -q 'sim/sim_internal.h: No such file' "$work/log"
ctest --test-dir "$work/fetch" -N | grep -q '^Total Tests: 0$'
cmake --install "$work/fetch" --prefix "$work/prefix" >/dev/null
test "$(find "$work/prefix" -type f)" = "$work/prefix/bin/app"
# The other way lists the same files once more: that it can be configured is enough.
configure add -DBUILD_SHARED_LIBS=ON

# Without Check, and without anything else that pkg-config would find.
PKG_CONFIG_LIBDIR=$work cmake -S "$BELFRY_SOURCE_DIR" -B "$work/plain" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -q 'Tests are off: they need the Check library' "$work/log"
grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' "$work/plain/CMakeCache.txt"
