/* Where in a program's code an access was made (BF_CLASS_WHERE); for the memory primitives. */
#ifndef BELFRY_SIM_WHERE_INTERNAL_H
#define BELFRY_SIM_WHERE_INTERNAL_H

#include "sim/agent.h"

struct bf_where; /* programs and libraries that were met */

/* Emits a `where` record for the access of agent `a` whose own record comes next; `pc` is where it returns to. */
void bf_where_record(struct bf_agent *a, const void *pc);
/* The same place as one number: the offset in its program or library, or the line of interpreted code. */
uint32_t bf_where_site(struct bf_agent *a, const void *pc);
void bf_where_free(struct bf_where *w);

/* In a primitive that drivers call: the call's place in their code. */
#define BF_WHERE(a)                                                                                                    \
	do {                                                                                                           \
		if (bf_probe((a)->sim, BF_CLASS_WHERE))                                                                \
			bf_where_record(a, (a)->from ? (a)->from : __builtin_return_address(0));                       \
	} while (0)

#endif
