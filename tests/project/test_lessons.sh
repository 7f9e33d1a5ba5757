#!/bin/bash
# The lessons: every command prints what the page says, each page asks before it answers, names rules that exist and ends
# with what to look for in a review. The index names each of them once. The reviewers' checklist has every rule.
set -u
cd "$BELFRY_SOURCE_DIR" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

complain() {
	echo "$*"
	bad=$((bad + 1))
}

"$BELFRY" rules --json | python3 -c 'import json, sys; [print(r["id"]) for r in json.load(sys.stdin)]' | sort >"$work/rules"
families=$(sed 's/-.*//' "$work/rules" | sort -u | paste -sd '|')

# ids PAGE: what looks like the id of a rule.
ids() {
	grep -oE "\b($families)-[A-Z0-9]+(-[A-Z0-9]+)*" "$1" | sort -u
}

for page in docs/lessons/[0-9]*.md docs/review.md; do
	for id in $(ids "$page" | comm -23 - "$work/rules"); do
		complain "$page: there is no rule $id"
	done
done
ids docs/review.md | comm -13 - "$work/rules" >"$work/missing"
[ -s "$work/missing" ] && complain "docs/review.md lacks: $(paste -sd ' ' "$work/missing")"

for page in docs/lessons/[0-9]*.md; do
	name=$(basename "$page")
	[ "$(grep -c "]($name)" docs/lessons/README.md)" -eq 1 ] || complain "docs/lessons/README.md does not name $name once"
	head -n 3 "$page" | grep -q ' minutes\.' || complain "$page does not say how long it takes"
	questions=$(grep -c '^\*\*Question' "$page")
	answers=$(grep -c '^<details><summary>Answer' "$page")
	[ "$questions" -ge 2 ] && [ "$answers" -ge 2 ] || complain "$page: $questions questions and $answers answers"
	[ "$answers" -eq "$(grep -c '^</details>' "$page")" ] || complain "$page: an answer does not end"
	for heading in '## The rules' '## In a review'; do
		grep -q "^$heading\$" "$page" || complain "$page lacks '$heading'"
	done
	[ -n "$(ids "$page")" ] || complain "$page names no rule"
done
[ "$(ls docs/lessons/[0-9]*.md | wc -l)" -ge 12 ] || complain "there are fewer than twelve lessons"

# Links that lead nowhere.
for page in docs/lessons/*.md docs/review.md; do
	for link in $(grep -oE '\]\([^)#]+' "$page" | cut -c 3- | grep -v '://'); do
		[ -e "$(dirname "$page")/$link" ] || complain "$page: $link is not there"
	done
done

tests/project/test_docs.sh docs/lessons/*.md || complain "a lesson shows what is no longer so"
[ "$bad" -eq 0 ]
