/* A map from three numbers to one that is not 0. All zero is an empty map. */
#ifndef BELFRY_TRACES_CONTAINER_NUMBER_MAP_INTERNAL_H
#define BELFRY_TRACES_CONTAINER_NUMBER_MAP_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

struct bf_number_entry {
	uint64_t key[3];
	uint64_t value; /* 0: unused */
};

struct bf_number_map {
	struct bf_number_entry *slots; /* a power of two of them */
	size_t count, cap;
};

void bf_number_map_free(struct bf_number_map *m);

/* The entry with this key, valid until the next put; NULL when there is none. */
struct bf_number_entry *bf_number_find(const struct bf_number_map *m, const uint64_t key[3]);

/* Its value; 0 when there is none. */
uint64_t bf_number_get(const struct bf_number_map *m, const uint64_t key[3]);

/* Adds or replaces. 0 or -ENOMEM. */
int bf_number_put(struct bf_number_map *m, const uint64_t key[3], uint64_t value);

/* Removes an entry that bf_number_find() has found. */
void bf_number_take_out(struct bf_number_map *m, struct bf_number_entry *e);

#endif
