# shellcheck shell=bash Sourced by the scripts of this folder: where the cache is, how a program of an unpacked tree
# is started, how one fails.

lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab_cache=${BELFRY_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/belfry-lab}

# A command that fails where no script looks for it would otherwise end the script without a word. 2 and 77
# have been explained.
set -E
trap '[[ $? == @(2|77) ]] || echo "${BASH_SOURCE[0]##*/}:$LINENO: \"$BASH_COMMAND\" failed" >&2' ERR

# What stands before the first empty line of a script, without the comment signs, is its help text.
lab_help() {
	sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

lab_fail() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# What was asked for makes no sense.
lab_misused() {
	echo "${0##*/}: $*" >&2
	exit 2
}

# Not an error of ours: this machine or its mirror lacks something. Tests count 77 as skipped.
lab_unavailable() {
	echo "${0##*/}: $*" >&2
	exit 77
}

# lab_loader TREE: sets `loader` to the command that runs a program with an unpacked tree's own loader and libraries, so
# that nothing of it depends on what the host has. Debian 12's packages still have some libraries in /lib; fio's ceph
# library lies in a folder that only an absolute run path names.
lab_loader() {
	local libraries=$1/usr/lib/x86_64-linux-gnu file=$1/usr/lib64/ld-linux-x86-64.so.2
	[ -e "$file" ] || file=$1/lib64/ld-linux-x86-64.so.2
	loader=("$file" --library-path "$1/lib/x86_64-linux-gnu:$libraries:$libraries/ceph")
}

# lab_in TREE PROGRAM ARGUMENTS...
lab_in() {
	local tree=$1 program=$2 loader
	shift 2
	lab_loader "$tree"
	"${loader[@]}" --argv0 "${program##*/}" "$tree/$program" "$@"
}

# lab_libraries TREE PROGRAM: the files of the libraries that it needs.
lab_libraries() {
	local loader
	lab_loader "$1"
	"${loader[@]}" --list "$1/$2" | sed -n 's/.* => \(\/[^ ]*\).*/\1/p'
}

# lab_archive FOLDER: its contents as an archive for the kernel, all of it root's. Needs $user, the tree of that name.
lab_archive() {
	(cd "$1" && find . -mindepth 1 | LC_ALL=C sort | "$user/usr/bin/busybox" cpio -o -H newc -R 0:0 2>/dev/null)
}

# lab_key: a short name for what standard input says, for folders and files of the cache.
lab_key() {
	sha256sum | cut -c1-16
}
