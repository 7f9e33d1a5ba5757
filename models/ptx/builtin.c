/*
 * Functions that every program may call and no module brings: vprintf, __assertfail, malloc, free.
 *
 * printf's arguments lie in a block at their natural alignment, promoted as in C; texts are read at the call.
 */
#include <stdio.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

enum { VPRINTF, ASSERTFAIL, MALLOC, FREE };

const char *const bf_ptx_builtins[] = { "vprintf", "__assertfail", "malloc", "free" };
const uint32_t bf_ptx_builtin_count = BF_ARRAY_LEN(bf_ptx_builtins);

#define TEXT_MAX 4096u
#define STRING_MAX 1024u
#define CALL_PS (100 * BF_NS) /* assumed: what a call that prints or allocates costs its thread */

static void print(struct bf_ptx_device *d, const char *text, size_t len)
{
	if (d->opts.print)
		d->opts.print(d->opts.print_arg, text, len);
	else
		fwrite(text, 1, len, stdout);
}

/* ---- printf ---- */

struct printing {
	struct bf_ptx_machine_warp *w;
	uint32_t lane, args;
	uint64_t block; /* next argument */
	char out[TEXT_MAX];
	size_t len;
};

static uint64_t next_arg(struct printing *p, uint32_t bytes)
{
	uint64_t v = 0;

	p->block = (p->block + bytes - 1) & ~(uint64_t)(bytes - 1);
	bf_ptx_peek(p->w, p->lane, p->block, &v, bytes);
	p->block += bytes;
	p->args++;
	return v;
}

static void put(struct printing *p, const char *text, size_t len)
{
	const size_t room = sizeof(p->out) - 1 - p->len;

	len = len < room ? len : room;
	memcpy(p->out + p->len, text, len);
	p->len += len;
}

/* A conversion as in the format, `spec` with `*` replaced by numbers and without its length; its kind last. */
struct conversion {
	char spec[64];
	size_t len;
	char kind;
	bool wide; /* 8 bytes */
};

static void add_spec(struct conversion *c, char ch)
{
	if (c->len + 4 < sizeof(c->spec))
		c->spec[c->len++] = ch;
}

static const char *read_conversion(struct printing *p, const char *at, struct conversion *c)
{
	char number[16];

	memset(c, 0, sizeof(*c));
	add_spec(c, '%');
	for (; *at && strchr("-+ #0123456789.*", *at); at++) {
		if (*at != '*') {
			add_spec(c, *at);
			continue;
		}
		snprintf(number, sizeof(number), "%d", (int)(uint32_t)next_arg(p, 4));
		for (const char *n = number; *n; n++)
			add_spec(c, *n);
	}
	for (; *at && strchr("hljztL", *at); at++)
		c->wide = c->wide || *at == 'l' || *at == 'j' || *at == 'z' || *at == 't';
	c->kind = *at;
	return *at ? at + 1 : at;
}

static void put_number(struct printing *p, struct conversion *c)
{
	char text[512];
	uint64_t v;
	double real;

	if (strchr("eEfFgGaA", c->kind)) {
		v = next_arg(p, 8);
		memcpy(&real, &v, sizeof(real));
		c->spec[c->len++] = c->kind;
		/* The format is the kernel's; its kind was read just now. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), c->spec, real);
	} else if (c->kind == 'p') {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)next_arg(p, 8));
	} else if (c->kind == 'c') {
		c->spec[c->len++] = 'c';
		snprintf(text, sizeof(text), c->spec, (int)(uint32_t)next_arg(p, 4));
	} else {
		v = next_arg(p, c->wide ? 8 : 4);
		if (!c->wide && (c->kind == 'd' || c->kind == 'i'))
			v = (uint64_t)(int64_t)(int32_t)(uint32_t)v;
		c->spec[c->len++] = 'l';
		c->spec[c->len++] = 'l';
		c->spec[c->len++] = c->kind;
		snprintf(text, sizeof(text), c->spec, (unsigned long long)v);
#pragma GCC diagnostic pop
	}
	put(p, text, strlen(text));
}

static void put_string(struct printing *p, struct conversion *c)
{
	char string[STRING_MAX], text[STRING_MAX + 64];

	bf_ptx_read_text(p->w, p->lane, next_arg(p, 8), string, sizeof(string));
	c->spec[c->len++] = 's';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), c->spec, string);
#pragma GCC diagnostic pop
	put(p, text, strlen(text));
}

static int64_t vprint(struct bf_ptx_machine_warp *w, uint32_t lane, uint64_t format, uint64_t block)
{
	struct printing p = { .w = w, .lane = lane, .block = block };
	char text[TEXT_MAX];

	bf_ptx_read_text(w, lane, format, text, sizeof(text));
	for (const char *at = text; *at;) {
		struct conversion c;

		if (*at != '%') {
			put(&p, at++, 1);
			continue;
		}
		at = read_conversion(&p, at + 1, &c);
		if (c.kind == '%')
			put(&p, "%", 1);
		else if (c.kind == 's')
			put_string(&p, &c);
		else if (c.kind && strchr("diouxXcpeEfFgGaA", c.kind))
			put_number(&p, &c);
	}
	p.out[p.len] = '\0';
	print(w->device, p.out, p.len);
	return p.args;
}

/* ---- assert ---- */

static enum bf_ptx_result assert_failed(struct bf_ptx_machine_warp *w, uint32_t lane, const bf_ptx_row *in)
{
	const struct bf_ptx_block *b = w->block;
	char message[256], file[256], function[256], text[1024];
	int n;

	bf_ptx_read_text(w, lane, in[0][lane], message, sizeof(message));
	bf_ptx_read_text(w, lane, in[1][lane], file, sizeof(file));
	bf_ptx_read_text(w, lane, in[3][lane], function, sizeof(function));
	n = snprintf(text, sizeof(text), "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		     file, (uint32_t)in[2][lane], function, b->ctaid[0], b->ctaid[1], b->ctaid[2], w->core.tid[0][lane],
		     w->core.tid[1][lane], w->core.tid[2][lane], message);
	print(w->device, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ASSERT, 0, "assertion `%s` failed", message);
}

enum bf_ptx_result bf_ptx_do_builtin(struct bf_ptx_warp *core, uint32_t id, uint32_t mask, const bf_ptx_row *in,
				     bf_ptx_row *out)
{
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);

	if (bf_ptx_is_dead(w->device))
		return BF_PTX_FAULT;
	bf_ptx_settle(w);
	bf_agent_delay(w->agent, CALL_PS);
	core->progress++;
	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		switch (id) {
		case VPRINTF:
			out[0][lane] = (uint64_t)vprint(w, lane, in[0][lane], in[1][lane]);
			break;
		case ASSERTFAIL:
			return assert_failed(w, lane, in);
		case MALLOC:
			out[0][lane] = bf_ptx_malloc(w->device, in[0][lane]);
			break;
		default:
			if (!bf_ptx_free(w->device, in[0][lane]))
				return bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, in[0][lane],
						       "free of 0x%llx, which malloc did not give",
						       (unsigned long long)in[0][lane]);
			break;
		}
	}
	return BF_PTX_DONE;
}
