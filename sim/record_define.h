/* Defines the schemas of a file of records, BF_RECORDS_DEF, behind its header: in one .c file each. See record.h. */
#include "sim/record.h"

#ifdef BF_RECORDS_DEF
#define BF_RECORD(rec, number, cls, queue, ...) BF_RECORD_DEFINE(rec, __VA_ARGS__);
#define BF_NAMES(list, ...) BF_NAMES_DEFINE(list, __VA_ARGS__);
#define BF_TEXTS(list, ...) BF_TEXTS_DEFINE(list, __VA_ARGS__);
#include BF_RECORDS_DEF
#undef BF_RECORD
#undef BF_NAMES
#undef BF_TEXTS
#undef BF_RECORDS_DEF
#endif
