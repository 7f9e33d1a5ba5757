#!/bin/sh
# The API is what drivers/api.txt lists: its headers include only each other, and the symbols that the library shows are
# those that they declare, all of them and no others.
set -eu
cd "$BELFRY_SOURCE_DIR"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

grep -v '^#' drivers/api.txt | grep . | LC_ALL=C sort >"$work/api"
[ "$(wc -l <"$work/api")" -gt 30 ]
LC_ALL=C sort -uc "$work/api"

# outside LIST FILE...: includes in quotes of headers that LIST has not.
outside() {
	list=$1
	shift
	grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$@" /dev/null |
		sed -E 's/^([^:]*):[^"]*"([^"]*)".*/\1 \2/' | while read -r file header; do
		grep -Fxq "$header" "$list" || echo "$file includes $header, which is not installed"
	done
}

# Without one line of the list the check must find something.
grep -v '^sim/error.h$' "$work/api" >"$work/less"
outside "$work/less" drivers/belfry.h | grep -q 'belfry.h includes sim/error.h'
# shellcheck disable=SC2046 # names are words
outside "$work/api" drivers/belfry.h $(cat "$work/api") >"$work/wrong"

command -v gcc >/dev/null && command -v readelf >/dev/null || {
	cat "$work/wrong"
	[ ! -s "$work/wrong" ] || exit 1
	echo "gcc, which lists what headers declare, or readelf is not installed"
	exit 77
}

# What is declared: functions as gcc lists them, data as they are written.
{
	sed 's/.*/#include "&"/' "$work/api" | grep -v 'platform_\(apart\|cuda\|hip\|native\|sim\)'
	echo '#include "drivers/belfry.h"'
} >"$work/all.c"
sed '/platform_mbarrier/d; s/platform_sim/platform_native/' "$work/all.c" | sed '1i #include "drivers/platform/platform_native.h"' >"$work/native.c"
for unit in all native; do
	gcc -std=c17 -D_GNU_SOURCE -I. -fsyntax-only -aux-info "$work/$unit.aux" "$work/$unit.c"
done
{
	cat "$work"/*.aux | grep -E '^/\* (./)?(sim|models|traces|drivers)/' | grep -v '\*/ static ' |
		sed -E 's/^[^(]*[ *](bf_[a-z0-9_]+) \(.*/\1/'
	# shellcheck disable=SC2046
	sed -n '/^extern const/{:more;/;/!{N;b more};p}' $(cat "$work/api") | tr ',;[' '\n\n\n' | sed -nE 's/.*[ *](bf_[a-z0-9_]+)$/\1/p'
} | LC_ALL=C sort -u >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 150 ] || { echo "only $(wc -l <"$work/declared") declarations found" >&2; exit 1; }

# What is shown: default visibility, in the archive or in the shared library.
library=$(find "$BELFRY_BUILD_DIR" -maxdepth 1 -name 'libbelfry.a' -o -maxdepth 1 -name 'libbelfry.so')
readelf -sW $(case $library in *.so) echo --dyn-syms ;; esac) "$library" |
	awk '($5 == "GLOBAL" || $5 == "WEAK") && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | sed 's/@.*//' |
	grep -v '^__\(asan\|ubsan\|tsan\|odr\|start_\|stop_\|sanitizer\)' | LC_ALL=C sort -u >"$work/shown"
LC_ALL=C comm -13 "$work/declared" "$work/shown" | sed 's/$/ is exported, and no installed header declares it/' >>"$work/wrong"
LC_ALL=C comm -23 "$work/declared" "$work/shown" | sed 's/$/ is declared in an installed header, and not exported/' >>"$work/wrong"
[ ! -s "$work/wrong" ] || { cat "$work/wrong" >&2; exit 1; }
