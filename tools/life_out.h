/* An entry's life as commands show it. */
#ifndef BELFRY_TOOLS_LIFE_OUT_H
#define BELFRY_TOOLS_LIFE_OUT_H

#include "tools/cli.h"
#include "traces/life.h"

/* "0x100001:81" or decimal. False when it is not that. */
bool bf_life_parse(const char *text, uint32_t *qpn, uint16_t *index);

/* The steps as the member "life" of an open JSON object. */
void bf_life_json(struct bf_json *j, const struct bf_life *l, uint32_t qpn, uint16_t index);

/*
 * Prints it as the whole output of a command, in JSON with `error` (NULL: none) as well. BF_EXIT_FAILED when there is
 * nothing to tell.
 */
int bf_life_out(const struct bf_args *args, const struct bf_life *l, uint32_t qpn, uint16_t index, const char *error);

#endif
