/* Sentences of tables (traces/device.h) with fields of a record in place of their $names. */
#ifndef BELFRY_TRACES_LIFE_LABEL_H
#define BELFRY_TRACES_LIFE_LABEL_H

#include "sim/record.h"

/* An enum's value is its name, a hexadecimal field has 0x; a field that the type lacks leaves nothing. Cut to `cap`. */
void bf_label_make(const char *label, const struct bf_rec_schema *type, const void *fixed, char *out, size_t cap);

#endif
