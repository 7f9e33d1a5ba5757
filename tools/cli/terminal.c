/* What a terminal can: its width, colours, a line that is drawn again. Pipes and files get none of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "drivers/bootstrap/bootstrap.h"
#include "tools/cli/cli.h"

/* Narrower ones break lines as they like; in wider ones lines would be too long to read. */
#define COLUMNS_MIN 60u
#define COLUMNS_MAX 160u

/* mpirun gives each process a pseudo-terminal, wherever its own output goes: that is nobody's screen. */
static bool is_terminal(FILE *out)
{
	const int fd = fileno(out);

	return fd >= 0 && isatty(fd) == 1 && !bf_boot_under_mpirun();
}

/* One that knows more than to print. */
static bool is_able(FILE *out)
{
	const char *term = getenv("TERM");

	return is_terminal(out) && (!term || strcmp(term, "dumb") != 0);
}

unsigned bf_cli_columns(FILE *out)
{
	struct winsize size;

	if (!is_terminal(out) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || !size.ws_col)
		return BF_CLI_COLUMNS;
	return size.ws_col < COLUMNS_MIN ? COLUMNS_MIN : size.ws_col > COLUMNS_MAX ? COLUMNS_MAX : size.ws_col;
}

bool bf_cli_redraws(void)
{
	return is_able(stderr);
}

/* https://no-color.org: set and not empty, there are no colours. */
const char *bf_cli_paint(FILE *out, enum bf_paint paint)
{
	static const char *const codes[] = {
		[BF_PAINT_NONE] = "\033[0m",  [BF_PAINT_BAD] = "\033[1;31m", [BF_PAINT_WARN] = "\033[1;33m",
		[BF_PAINT_GOOD] = "\033[32m", [BF_PAINT_NAME] = "\033[1m",
	};
	const char *no = getenv("NO_COLOR");

	return is_able(out) && !(no && *no) ? codes[paint] : "";
}

void bf_cli_put_verdict(FILE *out, const char *verdict, bool good)
{
	fprintf(out, "%s%s%s", bf_cli_paint(out, good ? BF_PAINT_GOOD : BF_PAINT_BAD), verdict,
		bf_cli_paint(out, BF_PAINT_NONE));
}
