/*
 * "Did you mean": which of the names that there are is nearest to a word that is none of them. Names are offered one by
 * one, so tables of any shape do. The nearest is the one with the fewest edits (insert, delete, replace, swap of
 * neighbours; case does not count); a name that begins with the word comes behind those that are spelt nearly alike.
 */
#ifndef BELFRY_SIM_SPELL_H
#define BELFRY_SIM_SPELL_H

#include <stddef.h>

/* Zeroed but for the word. `best` is one of the names offered, NULL as long as none is near. */
struct bf_spell {
	const char *word; /* not owned, needs no NUL */
	size_t len;
	const char *best;
	unsigned distance; /* of `best` */
};

/* Offers a name, which must outlive the struct. NULL is no name. */
void bf_spell_try(struct bf_spell *s, const char *name);

/* "; did you mean NAME?", or nothing. Returns `buf`. */
const char *bf_spell_hint(const struct bf_spell *s, char *buf, size_t cap);

#endif
