/*
 * Any bytes as a trace before what turns one into another program's form and no other target does: packets, waveforms
 * in FST, the page, pictures of copies. VCD and Perfetto are fuzz_lint's.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/pictures/page.h"
#include "tools/pictures/sdma.h"
#include "traces/container/trace.h"
#include "traces/export/fst.h"
#include "traces/export/pcapng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(struct bf_trace *t, FILE *out, struct bf_error *err)
{
	struct bf_picture p;

	bf_picture_init(&p);
	if (!bf_picture_read(&p, t))
		bf_picture_draw(&p, out, err);
	bf_picture_free(&p);
}

/* It reads the trace several times, as a file. */
static void page(const uint8_t *data, size_t size, FILE *out)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct bf_error err = { 0 };
	struct bf_page_result r;
	struct bf_input in;
	char path[40];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!bf_input_open(path, &in, &err))
		bf_page_export(&in, path, true, out, &r, &err);
	bf_input_close(&in);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *out = fopen("/dev/null", "w");

	if (!out)
		abort();
	for (uint32_t form = 0; form < 3; form++) {
		struct bf_error err = { 0 };
		struct bf_trace *t;

		if (bf_trace_open_memory(data, size, &t, &err))
			break;
		if (form == 0)
			bf_pcapng_export(t, NULL, out, NULL, &err);
		else if (form == 1)
			bf_fst_export(t, out, NULL, &err);
		else
			draw(t, out, &err);
		bf_trace_close(t);
	}
	page(data, size, out);
	fclose(out);
	return 0;
}
