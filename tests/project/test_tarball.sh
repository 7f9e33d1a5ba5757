#!/bin/bash
# tools/tarball: two makers, in other folders, with another umask, time zone and language, get the same bytes, and these
# are the source.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
complain() {
	echo "$*"
	exit 1
}
git -C "$BELFRY_SOURCE_DIR" rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: the source is no git repository"; exit 77; }
# The script as it stands here, in clones of what is committed.
for maker in one two; do
	git clone -q --shared "$BELFRY_SOURCE_DIR" "$work/$maker" || complain "cannot clone"
	cp "$BELFRY_SOURCE_DIR/tools/tarball" "$work/$maker/tools/tarball"
done
(umask 077 && TZ=Asia/Tokyo LC_ALL=C "$work/one/tools/tarball" "$work/one.tar.gz" 2>/dev/null) || complain "it fails"
touch -d '2001-01-01' "$work/two/README.md"
(umask 000 && git -C "$work/two" config tar.umask user && TZ=UTC "$work/two/tools/tarball" "$work/two.tar.gz" 2>/dev/null)
cmp "$work/one.tar.gz" "$work/two.tar.gz" || complain "two runs, two tarballs"
tar -xzf "$work/one.tar.gz" -C "$work" || complain "no tarball"
diff -r --exclude=.git --exclude=tarball "$work/one" "$work"/belfry-[0-9]*/ || complain "it is not the source"
cmake -S "$work"/belfry-[0-9]*/ -B "$work/build" -DBELFRY_TESTS=OFF -DBELFRY_BENCH=OFF >"$work/log" 2>&1 ||
	{ cat "$work/log"; complain "it cannot be configured without git"; }
