/*
 * The values of a trace as GTKWave's Fast Signal Trace: what traces/export/vcd.h writes, in a fraction of the bytes.
 * One value change section, nothing compressed but the hierarchy, whose LZ4 block holds literals only: no library is
 * needed. Format: gtkwave's fstapi.c and the description in its manual (appendix "FST").
 */
#ifndef BELFRY_TRACES_EXPORT_FST_H
#define BELFRY_TRACES_EXPORT_FST_H

#include <stdio.h>

#include "traces/export/vcd.h"

/*
 * Writes from where the reader stands; `result` may be NULL. Keeps all changes in memory until the end. Returns what
 * bf_timeline_read() does, or -EIO.
 */
int bf_fst_export(struct bf_trace *t, FILE *out, struct bf_vcd_result *result, struct bf_error *err);

#endif
