#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/encode.h"

#define DIGITS 16

static char id[HOST_MAX + 1];
static bool named;

static bool
is_name(const char *name)
{
	size_t n = strlen(name);

	if (n > HOST_MAX || !isalnum((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && strchr("._-", name[i]) == NULL)
			return false;
	return true;
}

/* In a container there may be no machine-id: its host name tells it from others. */
static int
take_machine(struct err *e)
{
	struct buf b = BUF_INIT;
	char digest[65], name[256] = "";

	if (io_read_file(fault_path("GT_MACHINE_ID", "/etc/machine-id"), 4096, &b, NULL) != 0 || b.len == 0) {
		buf_reset(&b);
		if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') {
			buf_release(&b);
			err_set(e, GT_FAIL, "machine",
			    "this machine has neither /etc/machine-id nor a host name to be known by");
			return err_hint(
			    e, "Give it a name of its own: host = \"NAME\" in [recovery] of gt.toml");
		}
		buf_str(&b, name);
	}
	buf_str(&b, " gt-recover");
	sha256_hex(b.data, b.len, digest);
	snprintf(id, sizeof id, "%.*s", DIGITS, digest);
	named = false;
	buf_release(&b);
	return 0;
}

int
host_set(const char *name, struct err *e)
{
	if (*name == '\0')
		return take_machine(e);
	if (!is_name(name)) {
		err_set(e, GT_USAGE, "host", "\"%.80s\" cannot be the name of a host", name);
		return err_hint(e,
		    "Up to %d letters, digits, dots, underscores and dashes, a letter or digit first: host = "
		    "\"west-1\"",
		    HOST_MAX);
	}
	snprintf(id, sizeof id, "%s", name);
	named = true;
	return 0;
}

void
host_unset(void)
{
	id[0] = '\0';
}

const char *
host_id(void)
{
	return id;
}

bool
host_is_other(const char *other)
{
	return other != NULL && *other != '\0' && id[0] != '\0' && strcmp(other, id) != 0;
}

void
host_name(char out[HOST_MAX + 1])
{
	char name[256] = "";

	if (named && id[0] != '\0')
		memcpy(out, id, sizeof id);
	else if (gethostname(name, sizeof name - 1) == 0)
		snprintf(out, HOST_MAX + 1, "%.*s", HOST_MAX, name);
	else
		out[0] = '\0';
}
