#include "models/ptx/parse_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"

/* Words, numbers and signs: PTX ISA 4.1 to 4.5. */

enum { LETTER = 1, DIGIT = 2, LEAD = 4, BLANK = 8 }; /* LEAD: _ $ %, which need another character behind them */

static uint8_t class_of(unsigned char c)
{
	static const uint8_t classes[256] = {
		[' '] = BLANK,  ['\t'] = BLANK, ['\r'] = BLANK, ['\v'] = BLANK, ['\f'] = BLANK, ['0'] = DIGIT,
		['1'] = DIGIT,  ['2'] = DIGIT,  ['3'] = DIGIT,  ['4'] = DIGIT,  ['5'] = DIGIT,  ['6'] = DIGIT,
		['7'] = DIGIT,  ['8'] = DIGIT,  ['9'] = DIGIT,  ['_'] = LEAD,   ['$'] = LEAD,   ['%'] = LEAD,
		['a'] = LETTER, ['b'] = LETTER, ['c'] = LETTER, ['d'] = LETTER, ['e'] = LETTER, ['f'] = LETTER,
		['g'] = LETTER, ['h'] = LETTER, ['i'] = LETTER, ['j'] = LETTER, ['k'] = LETTER, ['l'] = LETTER,
		['m'] = LETTER, ['n'] = LETTER, ['o'] = LETTER, ['p'] = LETTER, ['q'] = LETTER, ['r'] = LETTER,
		['s'] = LETTER, ['t'] = LETTER, ['u'] = LETTER, ['v'] = LETTER, ['w'] = LETTER, ['x'] = LETTER,
		['y'] = LETTER, ['z'] = LETTER, ['A'] = LETTER, ['B'] = LETTER, ['C'] = LETTER, ['D'] = LETTER,
		['E'] = LETTER, ['F'] = LETTER, ['G'] = LETTER, ['H'] = LETTER, ['I'] = LETTER, ['J'] = LETTER,
		['K'] = LETTER, ['L'] = LETTER, ['M'] = LETTER, ['N'] = LETTER, ['O'] = LETTER, ['P'] = LETTER,
		['Q'] = LETTER, ['R'] = LETTER, ['S'] = LETTER, ['T'] = LETTER, ['U'] = LETTER, ['V'] = LETTER,
		['W'] = LETTER, ['X'] = LETTER, ['Y'] = LETTER, ['Z'] = LETTER,
	};

	return classes[c];
}

/* Letters, digits, underscores, dollars: what may follow in a name. */
static bool follows(char c)
{
	return class_of((unsigned char)c) & (LETTER | DIGIT) || c == '_' || c == '$';
}

/* The text ends in a NUL that is not counted, so that one character ahead may always be looked at. */
static void new_line(struct bf_ptx_reader *r)
{
	r->at++;
	r->line++;
	r->line_start = r->at;
}

static uint32_t column(const struct bf_ptx_reader *r, const char *at)
{
	return (uint32_t)(at - r->line_start) + 1;
}

static void skip_line(struct bf_ptx_reader *r)
{
	const char *nl = memchr(r->at, '\n', (size_t)(r->end - r->at));

	r->at = nl ? nl : r->end;
}

static void skip_comment(struct bf_ptx_reader *r)
{
	uint32_t line = r->line, col = column(r, r->at);

	for (r->at += 2; r->at < r->end;) {
		if (r->at[0] == '*' && r->at[1] == '/') {
			r->at += 2;
			return;
		}
		if (*r->at == '\n')
			new_line(r);
		else
			r->at++;
	}
	bf_ptx_fail(r, line, col, "a comment begins here and does not end");
}

/* Blanks, comments and preprocessor lines. False at the end. */
static bool skip_blanks(struct bf_ptx_reader *r)
{
	for (;;) {
		while (class_of((unsigned char)*r->at) == BLANK)
			r->at++;
		if (r->at >= r->end)
			return false;
		if (*r->at == '\n')
			new_line(r);
		else if (r->at[0] == '/' && r->at[1] == '/')
			skip_line(r);
		else if (r->at[0] == '/' && r->at[1] == '*')
			skip_comment(r);
		else if (*r->at == '#' && strspn(r->line_start, " \t") == (size_t)(r->at - r->line_start))
			skip_line(r);
		else
			return true;
	}
}

static void name(struct bf_ptx_reader *r)
{
	const char *p = r->at + 1;

	while (follows(*p))
		p++;
	r->tok.len = (uint32_t)(p - r->at);
	r->tok.kind = BF_PTX_TOKEN_NAME;
	if (r->tok.len == 1 && *r->at == '%') { /* an operator */
		r->tok.kind = BF_PTX_TOKEN_PUNCT;
		r->tok.punct = '%';
	}
	r->at = p;
}

/* `.shared::cta` is one word. */
static void dot(struct bf_ptx_reader *r)
{
	const char *p = r->at + 1;

	while (follows(*p) || (p[0] == ':' && p[1] == ':' && follows(p[2]) && (p += 1)))
		p++;
	r->tok.kind = BF_PTX_TOKEN_DOT;
	r->tok.text = r->at + 1;
	r->tok.len = (uint32_t)(p - r->at) - 1;
	if (r->tok.len == 0)
		bf_ptx_fail(r, r->tok.line, r->tok.column, "a dot without a word behind it");
	r->at = p;
}

static void number_end(struct bf_ptx_reader *r, const char *p)
{
	if (follows(*p)) {
		while (follows(*p))
			p++;
		bf_ptx_fail(r, r->tok.line, r->tok.column, "`%.*s` is not a number",
			    (int)(p - r->tok.text < 60 ? p - r->tok.text : 60), r->tok.text);
	}
	r->tok.len = (uint32_t)(p - r->at);
	r->at = p;
}

/* 0f3F800000 and 0d3FF0000000000000: the bits themselves. */
static void exact_real(struct bf_ptx_reader *r)
{
	uint32_t digits = r->at[1] == 'f' || r->at[1] == 'F' ? 8 : 16;
	const char *p = r->at + 2;
	uint64_t bits = 0;

	for (uint32_t i = 0; i < digits; i++, p++) {
		int d = bf_hex_digit(*p);

		if (d < 0)
			bf_ptx_fail(r, r->tok.line, r->tok.column, "0%c takes %u hexadecimal digits", r->at[1], digits);
		bits = bits << 4 | (uint64_t)d;
	}
	r->tok.kind = BF_PTX_TOKEN_REAL;
	if (digits == 8) {
		float f;

		r->tok.width = 32;
		r->tok.single = (uint32_t)bits;
		memcpy(&f, &r->tok.single, sizeof(f));
		r->tok.real = (double)f;
	} else {
		r->tok.width = 64;
		memcpy(&r->tok.real, &bits, sizeof(r->tok.real));
	}
	number_end(r, p);
}

static void decimal_real(struct bf_ptx_reader *r)
{
	char text[128], *end;
	size_t len = strspn(r->at, "0123456789.");

	if (r->at[len] == 'e' || r->at[len] == 'E') {
		len++;
		if (r->at[len] == '+' || r->at[len] == '-')
			len++;
		len += strspn(r->at + len, "0123456789");
	}
	if (len >= sizeof(text))
		bf_ptx_fail(r, r->tok.line, r->tok.column, "a number of %zu digits", len);
	memcpy(text, r->at, len);
	text[len] = 0;
	r->tok.kind = BF_PTX_TOKEN_REAL;
	r->tok.width = 64;
	r->tok.real = strtod(text, &end);
	if (*end)
		bf_ptx_fail(r, r->tok.line, r->tok.column, "`%s` is not a number", text);
	number_end(r, r->at + len);
}

static void integer(struct bf_ptx_reader *r)
{
	const char *p = r->at;
	uint64_t base = 10, bits = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	} else if (p[0] == '0' && (p[1] == 'b' || p[1] == 'B')) {
		base = 2;
		p += 2;
	} else if (p[0] == '0') {
		base = 8;
	}
	for (const char *first = p;; p++) {
		int d = bf_hex_digit(*p);

		if (d < 0 || (uint64_t)d >= base) {
			if (p == first)
				bf_ptx_fail(r, r->tok.line, r->tok.column, "a number without digits");
			break;
		}
		if (bits > (UINT64_MAX - (uint64_t)d) / base)
			bf_ptx_fail(r, r->tok.line, r->tok.column, "a number of more than 64 bits");
		bits = bits * base + (uint64_t)d;
	}
	r->tok.kind = BF_PTX_TOKEN_INT;
	r->tok.bits = bits;
	r->tok.is_unsigned = bits > INT64_MAX;
	if (*p == 'U' || *p == 'u') {
		r->tok.is_unsigned = true;
		p++;
	}
	number_end(r, p);
}

static void number(struct bf_ptx_reader *r)
{
	size_t digits = strspn(r->at, "0123456789");
	char kind = r->at[1];

	if (r->at[0] == '0' && (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D'))
		exact_real(r);
	else if (r->at[digits] == '.' || ((r->at[digits] == 'e' || r->at[digits] == 'E') && kind != 'x' && kind != 'X'))
		decimal_real(r);
	else
		integer(r);
}

static void string(struct bf_ptx_reader *r)
{
	const char *p = r->at + 1;

	for (; p < r->end && *p != '"' && *p != '\n'; p++)
		if (*p == '\\' && p + 1 < r->end && p[1] != '\n')
			p++;
	if (p >= r->end || *p != '"')
		bf_ptx_fail(r, r->tok.line, r->tok.column, "a string begins here and does not end on its line");
	r->tok.kind = BF_PTX_TOKEN_STRING;
	r->tok.text = r->at + 1;
	r->tok.len = (uint32_t)(p - r->at) - 1;
	r->at = p + 1;
}

static void sign(struct bf_ptx_reader *r)
{
	static const struct {
		char text[3];
		int punct;
	} pairs[] = {
		{ "<<", BF_PTX_SHL },    { ">>", BF_PTX_SHR },    { "==", BF_PTX_EQEQ },   { "!=", BF_PTX_NOTEQ },
		{ "<=", BF_PTX_LESSEQ }, { ">=", BF_PTX_MOREEQ }, { "&&", BF_PTX_ANDAND }, { "||", BF_PTX_OROR },
	};

	r->tok.kind = BF_PTX_TOKEN_PUNCT;
	for (size_t i = 0; i < BF_ARRAY_LEN(pairs); i++)
		if (r->at[0] == pairs[i].text[0] && r->at[1] == pairs[i].text[1]) {
			r->tok.punct = pairs[i].punct;
			r->tok.len = 2;
			r->at += 2;
			return;
		}
	if (!strchr("{}()[],;:@!+-*/&|^~<>=?", *r->at) || !*r->at)
		bf_ptx_fail(r, r->tok.line, r->tok.column, "a byte 0x%02x that PTX has no use for",
			    (unsigned)(unsigned char)*r->at);
	r->tok.punct = (unsigned char)*r->at++;
	r->tok.len = 1;
}

void bf_ptx_next(struct bf_ptx_reader *r)
{
	bool more = skip_blanks(r);
	uint8_t class = class_of((unsigned char)*r->at);

	r->tok.text = r->at;
	r->tok.len = 0;
	r->tok.line = r->line;
	r->tok.column = column(r, r->at);
	if (!more)
		r->tok.kind = BF_PTX_TOKEN_END;
	else if (class & (LETTER | LEAD))
		name(r);
	else if (class & DIGIT)
		number(r);
	else if (*r->at == '.')
		dot(r);
	else if (*r->at == '"')
		string(r);
	else
		sign(r);
}

void bf_ptx_fail(struct bf_ptx_reader *r, uint32_t line, uint32_t col, const char *fmt, ...)
{
	char reason[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	bf_fail(&r->p->pub.error, -EINVAL, "%s:%u:%u: %s", r->name, line, col, reason);
	longjmp(r->leave, EINVAL);
}

void bf_ptx_fail_here(struct bf_ptx_reader *r, const char *fmt, ...)
{
	char reason[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	bf_ptx_fail(r, r->tok.line, r->tok.column, "%s", reason);
}

void bf_ptx_expected(struct bf_ptx_reader *r, const char *what)
{
	int len = r->tok.len < 60 ? (int)r->tok.len : 60;

	if (r->tok.kind == BF_PTX_TOKEN_END)
		bf_ptx_fail_here(r, "%s expected, but here the text ends", what);
	bf_ptx_fail_here(r, "%s expected, here is `%s%.*s`", what, r->tok.kind == BF_PTX_TOKEN_DOT ? "." : "", len,
			 r->tok.text);
}

bool bf_ptx_take(struct bf_ptx_reader *r, int punct)
{
	if (!bf_ptx_is(r, punct))
		return false;
	bf_ptx_next(r);
	return true;
}

void bf_ptx_want(struct bf_ptx_reader *r, int punct, const char *what)
{
	if (!bf_ptx_take(r, punct))
		bf_ptx_expected(r, what);
}

bool bf_ptx_is_dot(const struct bf_ptx_reader *r, const char *word)
{
	return r->tok.kind == BF_PTX_TOKEN_DOT && r->tok.len == strlen(word) &&
	       memcmp(r->tok.text, word, r->tok.len) == 0;
}

bool bf_ptx_take_dot(struct bf_ptx_reader *r, const char *word)
{
	if (!bf_ptx_is_dot(r, word))
		return false;
	bf_ptx_next(r);
	return true;
}

uint64_t bf_ptx_want_int(struct bf_ptx_reader *r, uint64_t most, const char *what)
{
	uint64_t bits = r->tok.bits;

	if (r->tok.kind != BF_PTX_TOKEN_INT)
		bf_ptx_expected(r, what);
	if (bits > most)
		bf_ptx_fail_here(r, "%s is %llu, at most %llu are possible", what, (unsigned long long)bits,
				 (unsigned long long)most);
	bf_ptx_next(r);
	return bits;
}

struct bf_ptx_name *bf_ptx_token_name(struct bf_ptx_reader *r)
{
	return bf_ptx_name_get(&r->p->names, &r->p->arena, r->tok.text, r->tok.len);
}

struct bf_ptx_name *bf_ptx_want_name(struct bf_ptx_reader *r, const char *what)
{
	struct bf_ptx_name *n;

	if (r->tok.kind != BF_PTX_TOKEN_NAME || (r->tok.len == 1 && *r->tok.text == '_'))
		bf_ptx_expected(r, what);
	n = bf_ptx_token_name(r);
	bf_ptx_next(r);
	return n;
}
