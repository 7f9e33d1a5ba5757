#!/bin/bash
# The steps of docs/ci.md, as the page has them, on a project that `belfry new trial` has written: with the mistake that
# it comes with they fail, and leave reports that name it; mended they pass. Packages are taken to be there, and Belfry is
# installed from this build; with BELFRY_CI_WHOLE set it is built from a clone, as the page says.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
page=$BELFRY_SOURCE_DIR/docs/ci.md
complain() {
	echo "$*"
	exit 1
}
[ -z "$(sed -n 's/^BELFRY_SANITIZE:[A-Z]*=//p' "$BELFRY_BUILD_DIR/CMakeCache.txt")" ] ||
	{ echo "skipped: project_install links with sanitizers"; exit 77; }
command -v ninja >/dev/null || { echo "skipped: no ninja"; exit 77; }

# yaml N: the N-th yaml block of the page.
yaml() {
	awk -v want="$1" '/^```yaml$/ { on = ++n == want; next } /^```$/ { on = 0 } on' "$page"
}
# Paths of a machine of its own lie in ours.
here() {
	sed -e "s#/tmp/belfry#$work/belfry#g; s#/tmp/b\\b#$work/b#g; s#/usr/local#$work/local#g"
}
# github FAILED: the commands of its steps, those for failures or the others.
github() {
	yaml 1 | awk -v failed="$1" '
		/^      - / { run = 0; wanted = !failed }
		/^        if: failure\(\)/ { wanted = failed }
		/^        [a-z]+:/ { run = 0 }
		/^        run: \|$/ { run = 1; next }
		/^        run: / && wanted { sub(/^        run: /, ""); print }
		run && wanted { sub(/^          /, ""); print }' | here
}
# gitlab KEY: the lines of one of its scripts; what is indented goes on with the line before.
gitlab() {
	yaml 2 | awk -v key="$1" '
		/^  [a-z_]+:/ { on = $1 == key ":"; next }
		on && /^    - / { if (line) print line; line = substr($0, 7); next }
		on && /^      / { sub(/^ +/, " "); line = line $0 }
		END { if (line) print line }' | here
}

mkdir -p "$work/bin" "$work/local/bin"
printf '#!/bin/sh\nexit 0\n' >"$work/bin/apt-get"
if [ -z "${BELFRY_CI_WHOLE-}" ]; then
	printf '#!/bin/sh\nmkdir -p "$5"/.git\n' >"$work/bin/git"
	cat >"$work/bin/cmake" <<-END
		#!/bin/sh
		case "\$*" in
		"--install $work/b "*) exec $(command -v cmake) --install "$BELFRY_BUILD_DIR" --prefix "$work/local" ;;
		"--build $work/b" | "-S $work/belfry "*) ;;
		*) exec $(command -v cmake) "\$@" ;;
		esac
	END
fi
chmod +x "$work"/bin/*
commit=$(git -C "$BELFRY_SOURCE_DIR" rev-parse HEAD 2>/dev/null) || commit=none
export BELFRY_GIT=$BELFRY_SOURCE_DIR BELFRY_COMMIT=$commit PATH="$work/local/bin:$work/bin:$PATH"
export CMAKE_PREFIX_PATH=$work/local

# steps NAME FOLDER: runs a script from standard input, which stops at the first command that fails.
steps() {
	cat >"$work/$1.sh"
	[ -s "$work/$1.sh" ] || complain "the page has no $1"
	(cd "$2" && MY_TRACE=$2/traces/failed.bft bash -eu "$work/$1.sh") >"$work/log" 2>&1
}
# reports FOLDER: what the failed job keeps.
reports() {
	grep -q '<failure' "$1/trials.xml" || complain "trials.xml has no failure"
	for file in belfry.sarif belfry.xml; do
		grep -q MLX5-ENTRY-ORDER "$1/$file" || complain "$file does not name the mistake"
	done
	grep -q '"uri":"[^"]*trial\.c"' "$1/belfry.sarif" || complain "belfry.sarif has no line of the driver"
}

"$BELFRY" new trial "$work/project" >/dev/null
! github 0 | steps trials "$work/project" || complain "GitHub: the mistake passes"
grep -q 'cause: MLX5-ENTRY-ORDER' "$work/log" || { cat "$work/log"; complain "GitHub: no cause in the log"; }
! github 1 | steps reports "$work/project" || complain "GitHub: lint finds nothing"
reports "$work/project"
rm -r "$work/project/"{traces,trials.xml,belfry.*}
! { gitlab before_script && gitlab script; } | steps script "$work/project" || complain "GitLab: the mistake passes"
! gitlab after_script | steps after_script "$work/project" || complain "GitLab: lint finds nothing"
reports "$work/project"
rm -r "$work/project/"{traces,trials.xml,belfry.*}
sed -i 's/entry_fence = false/entry_fence = true/' "$work/project/trial.c"
gitlab script | steps mended "$work/project" || { cat "$work/log"; complain "GitLab: mended, it fails"; }
gitlab after_script | steps after_mended "$work/project" || complain "GitLab: lint where there is nothing"
