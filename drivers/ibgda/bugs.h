/* The mistakes that the IBGDA driver can make on purpose (BF_IBGDA_BUG_*), by name. */
#ifndef BELFRY_DRIVERS_IBGDA_BUGS_H
#define BELFRY_DRIVERS_IBGDA_BUGS_H

#include "drivers/ibgda/ibgda.h"

/* All of them; ends with a NULL name. */
const struct bf_ibgda_bug *bf_ibgda_bugs(void);

/* The bit of `name`, 0 when there is none of that name. */
uint32_t bf_ibgda_bug_find(const char *name);

#endif
