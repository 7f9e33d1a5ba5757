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

/* drivers/backend/backend.h: enumerations are ints */
struct bf_memory { void *ptr; uint64_t va; uint64_t size; bool far; };
struct bf_world_opts {
    uint64_t seed; int ordering; void *chooser; void *stacks; const char *faults;
    uint32_t devices; const void *device_opts[3]; const void *gpu; uint32_t npes; uint32_t nics; uint32_t ports; const char *topology; void *ranks;
    uint32_t lanes; uint64_t limit_ps; uint32_t record_mask; void *sink; bool pe_hashes; bool system_scope; bool cuda;
    const char *device; const void *model; const void *model_opts; const char *ptx;
    bool unrecorded; bool nvlink;
};
struct bf_world_result {
    int end; uint64_t time_ps; uint64_t events; uint64_t hash; uint64_t records; char report[4096];
    uint64_t windows; uint64_t busiest_events;
};

/* drivers/trial/trial.h */
struct bf_trial;
struct bf_thread;
struct bf_ptx_library;
typedef int bf_trial_fn(struct bf_trial *t, void *state);
struct bf_trial_size { const char *name; uint64_t value; uint64_t least; };
struct bf_trial_spec {
    const char *name; struct bf_world_opts world; bf_trial_fn *setup; bf_trial_fn *verify; size_t state_bytes;
    void *arg; const struct bf_trial_size *sizes; uint32_t nsizes; int fail_on; const char *accept; const char *trace;
};
struct bf_trial_finding {
    const struct bf_rule_about *rule; bool root; uint64_t at_ps; char where[64]; char text[800];
};
struct bf_trial_result {
    bool ok; int verdict; uint64_t seed; int ordering; uint64_t size[8]; uint64_t runs; struct bf_world_result world;
    char reason[256]; const struct bf_rule_about *root; uint32_t nfindings; struct bf_trial_finding finding[8];
    char text[8192];
};
struct bf_trial_search_opts {
    uint64_t seeds; const int *orderings; uint32_t norderings; uint32_t jobs; bool no_shrinking;
};
typedef void bf_kernel_fn(struct bf_thread *t, void *arg);
struct bf_grid_opts { uint32_t blocks; uint32_t cluster; uint32_t threads; uint32_t shared_bytes; };
struct bf_trial_mlx5_opts {
    uint64_t heap_bytes; uint32_t queues; uint32_t wqebbs; bool collapsed; bool rings_in_host; uint8_t ack_timeout;
    uint8_t retry_count;
};
struct bf_trial_mlx5_queue {
    uint32_t qpn; uint32_t cqn; uint32_t wqebbs; uint32_t cqes; uint8_t *sq; uint8_t *cq; uint32_t *dbrec;
    uint32_t *cq_dbrec; void *doorbell; uint8_t *local; uint64_t local_va; uint64_t remote_va; uint64_t heap_bytes;
    uint32_t lkey; uint32_t rkey;
};
struct bf_trial_nvme_opts { uint32_t queues; uint32_t entries; int place; };
struct bf_trial_nvme_queue {
    uint32_t id; uint32_t entries; uint8_t *sq; uint8_t *cq; uint32_t *sq_tail; uint32_t *cq_head; uint32_t nsid;
    uint32_t block_bytes; uint64_t blocks;
};
const char *bf_trial_verdict_name(int v);
bool bf_trial_search(const struct bf_trial_spec *spec, const struct bf_trial_search_opts *opts,
                     struct bf_trial_result *result);
uint64_t bf_trial_seed(const struct bf_trial *t);
int bf_trial_fail(struct bf_trial *t, int code, const char *fmt, ...);
int bf_trial_memory(struct bf_trial *t, uint32_t pe, int place, uint64_t bytes, const char *name,
                    struct bf_memory *out);
int bf_trial_ptx(struct bf_trial *t, uint32_t pe, const char *const *files, uint32_t count,
                 struct bf_ptx_library **out);
int bf_trial_ptx_launch(struct bf_trial *t, uint32_t pe, struct bf_ptx_library *lib, const char *kernel,
                        uint32_t blocks, uint32_t threads, const uint64_t *args, uint32_t nargs);
int bf_trial_launch(struct bf_trial *t, uint32_t pe, uint32_t blocks, uint32_t warps, bf_kernel_fn *code, void *arg);
int bf_trial_launch_cpu(struct bf_trial *t, uint32_t pe, uint32_t threads, bf_kernel_fn *code, void *arg);
int bf_trial_launch_grid(struct bf_trial *t, uint32_t pe, const struct bf_grid_opts *grid, bf_kernel_fn *code,
                         void *arg);
int bf_trial_mlx5(struct bf_trial *t, const struct bf_trial_mlx5_opts *opts);
int bf_trial_mlx5_queue(struct bf_trial *t, uint32_t pe, uint32_t peer, uint32_t i, struct bf_trial_mlx5_queue *out);
struct bf_memory bf_trial_heap(const struct bf_trial *t, uint32_t pe);
int bf_trial_nvme(struct bf_trial *t, uint32_t pe, const struct bf_trial_nvme_opts *opts);
int bf_trial_nvme_queue(struct bf_trial *t, uint32_t pe, uint32_t i, struct bf_trial_nvme_queue *out);

/* drivers/belfry.h */
const char *bf_version(void);
"""
)
