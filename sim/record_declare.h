/*
 * Makes structs, enumerations and declarations of schemas of a file of records, BF_RECORDS_DEF. It has no guard: the
 * header of each such file includes it. See record.h.
 */
#include "sim/record.h"

#ifdef BF_RECORDS_DEF
#define BF_RECORD(rec, number, cls, queue, ...) BF_RECORD_DECLARE(rec, number, BF_CLASS_##cls, __VA_ARGS__);
#define BF_NAMES(list, ...) BF_NAMES_DECLARE(list, __VA_ARGS__);
#define BF_TEXTS(list, ...) extern const char bf_names_##list[];
#include BF_RECORDS_DEF
#undef BF_RECORD
#undef BF_NAMES
#undef BF_TEXTS
#undef BF_RECORDS_DEF
#endif
