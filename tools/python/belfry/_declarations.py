"""What the shared library has, as the C headers of the same version declare it."""

import cffi

# What these declarations were written for; another minor version may lay its structs out differently.
VERSION = (0, 1)

ffi = cffi.FFI()
ffi.cdef(
    """
/* sim/error.h, sim/record.h */
struct bf_error { int code; char text[256]; };
struct bf_rec_field {
    const char *name; const char *unit; const char *names; uint16_t offset; uint16_t size; uint8_t kind;
};
struct bf_rec_schema {
    const char *name; const struct bf_rec_field *fields; uint16_t id; uint16_t nfields; uint16_t size; uint32_t class_;
};

/* traces/container/trace.h */
struct bf_trace;
struct bf_trace_record {
    uint64_t number; uint64_t time_ps; uint32_t actor; uint32_t tail_len; const struct bf_rec_schema *type;
    const uint8_t *fixed; const uint8_t *tail; const void *raw; size_t raw_len;
};
struct bf_trace_meta_entry { const char *key; const char *value; };
int bf_trace_open(const char *path, void *file, struct bf_trace **out, struct bf_error *err);
void bf_trace_close(struct bf_trace *t);
int bf_trace_next(struct bf_trace *t, struct bf_trace_record *rec);
int bf_trace_seek_time(struct bf_trace *t, uint64_t time_ps);
const struct bf_rec_schema *bf_trace_type_at(const struct bf_trace *t, size_t i);
const struct bf_trace_meta_entry *bf_trace_meta_at(const struct bf_trace *t, size_t i);
const char *bf_trace_actor_name(const struct bf_trace *t, uint32_t number);

/* traces/rules/rules.h */
struct bf_rules;
struct bf_suppressions;
struct bf_rule_about {
    const char *id; const char *family; const char *title; int severity; const char *hardware; const char *wrong;
    const char *fix; const char *sources; const char *example; const char *twin; const char *test; const char *why;
};
struct bf_found {
    const struct bf_rule_about *rule; bool root; const char *suppressed; const char *where; bool has_index;
    uint64_t index; uint64_t at_ps; uint64_t begin_ps; uint64_t end_ps; uint64_t first_record; uint64_t last_record;
    uint64_t more; const char *text;
};
const char *bf_severity_name(int s);
const char *bf_record_type_at(uint32_t i);
const struct bf_rule_about *bf_rule_at(uint32_t i);
int bf_rules_create(const void *opts, struct bf_rules **out, struct bf_error *err);
void bf_rules_destroy(struct bf_rules *r);
int bf_rules_trace(struct bf_rules *r, struct bf_trace *t, struct bf_error *err);
int bf_rules_finish(struct bf_rules *r, bool complete);
uint32_t bf_rules_count(const struct bf_rules *r);
const struct bf_found *bf_rules_found(const struct bf_rules *r, uint32_t i);

/* sim/stats.h, traces/life/stages.h */
struct bf_hist { uint64_t count; uint64_t sum; uint64_t min; uint64_t max; uint64_t bucket[976]; };
uint64_t bf_hist_quantile(const struct bf_hist *h, uint32_t ppm);
struct bf_stages;
struct bf_stage_queue {
    char name[48]; const char *kind; uint32_t nstages; const char *stage[10]; uint8_t basis[10];
    struct bf_hist hist[10]; struct bf_hist whole; uint64_t entries; uint64_t unfinished;
};
int bf_stages_read(struct bf_trace *t, struct bf_stages **out, struct bf_error *err);
void bf_stages_destroy(struct bf_stages *s);
const struct bf_stage_queue *bf_stages_queue(const struct bf_stages *s, uint32_t i);

/* drivers/belfry.h */
const char *bf_version(void);
"""
)
