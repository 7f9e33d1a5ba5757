#!/bin/sh
# Every header compiles alone, as C17, without a warning and without _GNU_SOURCE: anybody may include it first. Those of
# the API (drivers/api.txt) that are not built on C11 atomics compile as C++ as well. Device code (the headers below
# drivers/ibgda that refuse to go without a platform) is compiled behind each platform that a plain compiler knows.
set -eu

cd "$BELFRY_SOURCE_DIR"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-I. -Wall -Wextra -Wpedantic -Werror -fsyntax-only"
failed=0
count=0

# compile LANGUAGE FILE [OPTION...]: says what is wrong and notes it.
compile() {
	language=$1 file=$2
	shift 2
	case $language in
	c) compiler="${CC:-cc} -std=c17" ;;
	c++) compiler="${CXX:-c++} -std=c++17" ;;
	esac
	printf '#include "%s"\nextern int not_empty;\n' "$file" >"$work/alone.$language"
	count=$((count + 1))
	if ! $compiler $flags "$@" -x "$language" "$work/alone.$language" >"$work/log" 2>&1; then
		echo "$file does not compile alone as $language $*" >&2
		head -n 5 "$work/log" >&2
		failed=1
		return 1
	fi
}

# The check itself must be able to fail.
printf 'size_t without_its_header(void);\n' >"$work/bad.h"
if compile c "$work/bad.h" 2>/dev/null; then
	echo "the check is broken: it took a header that lacks an include" >&2
	exit 1
fi
failed=0

have_cxx=true
command -v "${CXX:-c++}" >/dev/null || have_cxx=false
for header in $(find sim models traces drivers -name '*.h' ! -name '*_internal.h' | LC_ALL=C sort); do
	case $header in
	drivers/platform/platform_cuda.h | drivers/platform/platform_hip.h | drivers/platform/platform_mbarrier_cuda.h)
		continue # need their vendors' compilers; test_cuda_compile.sh and test_hip_compile.sh take those
		;;
	drivers/mbarrier/barrier.h | drivers/mbarrier/pipeline.h | \
		drivers/mbarrier/order.h | drivers/mbarrier/ampere.h)
		compile c "$header" -include drivers/platform/platform_mbarrier_sim.h || :
		continue
		;;
	esac
	if grep -q 'include one of drivers/platform' "$header" ||
		grep -Eq '#include "drivers/(gin/(cq|ops|sq)|ibgda/(amo|av|by_pe|by_rc|cq|fence|get|group|ibuf|keys|live|p|proxy|put|recv|select|sq|wqe)|nvme/(admin|cmd|cq|prp|share|sq))\.h"' "$header"; then
		compile c "$header" -include drivers/platform/platform_sim.h || :
		compile c "$header" -include drivers/platform/platform_native.h || :
		continue
	fi
	compile c "$header" || :
	[ "$header" != drivers/platform/platform_native.h ] || continue # <stdatomic.h> is C++ from 2023 on
	! $have_cxx || ! grep -Fxq "$header" drivers/api.txt || compile c++ "$header" || :
done
! $have_cxx || compile c++ drivers/belfry.h || :
[ "$count" -gt 60 ] || { echo "only $count compilations below $BELFRY_SOURCE_DIR" >&2; exit 1; }
exit $failed
