#!/bin/sh
# Each C file is as .clang-format says. Lists of rows (*.def) are not C files. Versions of clang-format differ in details,
# so it is the one of Debian 12.
set -eu
for format in clang-format-14 clang-format; do
	! "$format" --version 2>/dev/null | grep -q 'version 14\.' || break
	format=
done
[ -n "$format" ] || { echo "clang-format 14 is not installed (Debian 12: apt-get install clang-format)"; exit 77; }

cd "$BELFRY_SOURCE_DIR"
# The check must be able to fail.
if printf 'int  a;\n' | "$format" --style=file --assume-filename=sim/a.c --dry-run -Werror 2>/dev/null; then
	echo "the check is broken: it took a file that is not formatted" >&2
	exit 1
fi
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find sim models traces drivers tools tests -name '*.[ch]' -o -name '*.cc' -o -name '*.cpp' | LC_ALL=C sort >"$list"
[ "$(wc -l <"$list")" -gt 1000 ]
wrong=$(xargs -n 100 "$format" --dry-run -Werror <"$list" 2>&1 | sed -n 's/:.*: error:.*//p' | uniq -c)
[ -z "$wrong" ] || { printf 'places that "%s -i FILE" changes, and the file:\n%s\n' "$format" "$wrong"; exit 1; }
