#include "tools/exec/real_internal.h"

#include <dlfcn.h>
#include <stdatomic.h>

static const char *const names[] = {
#define NAME(name) #name,
	BF_REAL_FUNCTIONS(NAME)
#undef NAME
};

/* The one thing here that is looked up for the whole process: dlsym() gives every thread the same answer. */
static _Atomic(uintptr_t) addresses[BF_REAL_COUNT];

/* A sanitizer's runtime asks for limits before it can look after memory. */
__attribute__((no_sanitize("address", "undefined"))) uintptr_t bf_real(enum bf_real which)
{
	uintptr_t address = atomic_load_explicit(&addresses[which], memory_order_relaxed);

	if (!address) {
		address = (uintptr_t)dlsym(RTLD_NEXT, names[which]);
		atomic_store_explicit(&addresses[which], address, memory_order_relaxed);
	}
	return address;
}
