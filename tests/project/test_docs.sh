#!/bin/bash
# Runs every command of every ```console block in the pages that are named (README.md, docs/ and docs/hardware/ if none
# is), and compares what it prints with what the page says it prints. Lines after "$ command" are expected output, to the letter;
# a line "..." stands for any lines. A command that ends with a backslash goes on in the next line. A block that begins
# with ```LANGUAGE FILE is saved as that file.
# Each page runs in an empty folder of its own, with `belfry` on the path, and the samples and the drivers' sources
# where they are in the repository.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin"
ln -s "$BELFRY" "$work/bin/belfry"
export PATH="$work/bin:$PATH"
bad=0 ran=0

# check PAGE LINE COMMAND EXPECTED-FILE
check() {
	local page=$1 line=$2 command=$3 expected=$4
	ran=$((ran + 1))
	# A sanitizer's notice about context switches, which are annotated for it, is not the program's output.
	(cd "$work/run" && bash -c "$command") 2>&1 </dev/null | grep -v 'ASan doesn.t fully support makecontext' >"$work/got"
	# awk walks both files: a literal line must be next, "..." lets lines pass until the next literal one is found.
	if ! awk -v want="$expected" '
		BEGIN { while ((getline l < want) > 0) w[++n] = l; i = 1; any = 0 }
		{
			while (i <= n && w[i] == "...") { any = 1; i++ }
			if (i <= n && $0 == w[i]) { i++; any = 0; next }
			if (!any) { print "  line " NR " is: " $0; print "  page says: " (i <= n ? w[i] : "(nothing more)"); bad = 1; exit }
		}
		END {
			while (i <= n && w[i] == "...") i++
			if (!bad && i <= n) { print "  missing: " w[i]; bad = 1 }
			exit bad
		}' "$work/got" >"$work/why"; then
		echo "$page:$line: \$ $command"
		cat "$work/why"
		bad=$((bad + 1))
	fi
}

cd "$BELFRY_SOURCE_DIR" || exit 1
[ $# -gt 0 ] || set -- README.md docs/*.md docs/hardware/*.md
for page; do
	inside=0 command="" number=0 more=0
	: >"$work/want"
	rm -rf "$work/run"
	mkdir -p "$work/run/traces"
	ln -s "$BELFRY_SOURCE_DIR/traces/samples" "$work/run/traces/samples"
	ln -s "$BELFRY_SOURCE_DIR/drivers" "$work/run/drivers"
	while IFS= read -r text || [ -n "$text" ]; do
		number=$((number + 1))
		if [ $more = 1 ]; then
			command=${command%\\}${text#"${text%%[! ]*}"}
			[ "${text%\\}" != "$text" ] || more=0
			continue
		fi
		case $inside$text in
		'0```console') inside=1 ;;
		'0```'[a-z]*' '[a-z]*)
			inside=2 file=$work/run/${text##* }
			: >"$file"
			;;
		'2```') inside=0 ;;
		2*) printf '%s\n' "$text" >>"$file" ;;
		'1```')
			[ -n "$command" ] && check "$page" "$at" "$command" "$work/want"
			inside=0 command=""
			;;
		'1$ '*)
			[ -n "$command" ] && check "$page" "$at" "$command" "$work/want"
			command=${text#\$ } at=$number
			[ "${text%\\}" = "$text" ] || more=1
			: >"$work/want"
			;;
		1*) printf '%s\n' "$text" >>"$work/want" ;;
		esac
	done <"$page"
done
echo "$ran commands run, $bad differ"
[ "$bad" -eq 0 ] && [ "$ran" -gt 0 ]
