#!/bin/bash
# docs/stopwatch.md, section by section, with Belfry as it is installed: what the commands print, and how long they take.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -z "$(sed -n 's/^BELFRY_SANITIZE:[A-Z]*=//p' "$BELFRY_BUILD_DIR/CMakeCache.txt")" ] ||
	{ echo "skipped: project_install links with sanitizers"; exit 77; }
cmake --install "$BELFRY_BUILD_DIR" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
# Devices need the library with what it does not show.
static=$(find "$work/prefix" -name 'libbelfry-tools.a')
LD_LIBRARY_PATH=$(dirname "$(find "$work/prefix" -name 'libbelfry.*' | head -n 1)")
export LD_LIBRARY_PATH CMAKE_PREFIX_PATH=$work/prefix BELFRY=$work/prefix/bin/belfry
page=$BELFRY_SOURCE_DIR/docs/stopwatch.md
failed=0 sections=0
TIMEFORMAT='%1U + %1S s of processor time, %0R s by the clock'
while read -r title; do
	[ "$title" != "Your own device" ] || [ -n "$static" ] || continue
	awk -v title="## $title" '/^## / { on = $0 == title } on' "$page" | sed 's/^```console installed$/```console/' >"$work/section.md"
	sections=$((sections + 1))
	{ time "$BELFRY_SOURCE_DIR/tests/project/test_docs.sh" "$work/section.md" >"$work/log" 2>&1; } 2>"$work/time" ||
		{ cat "$work/log"; failed=1; }
	echo "$title: $(tail -n 1 "$work/log"), $(cat "$work/time")"
done < <(sed -n 's/^## //p' "$page")
[ $sections -ge 3 ] && exit $failed
