/* Where the Redis server is, and the password, which is never part of a URL: gt.toml is read by many. */
#include <stdlib.h>
#include <string.h>

#include "store/redis_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

#define PASSWORD_VARIABLE "GT_RECOVER_REDIS_PASSWORD"
#define PASSWORD_MAX 4096

enum { STANDARD_PORT = 6379, PORT_MAX = 65535, DB_MAX = 1000000 };

static int
refuse(struct err *e, const char *why)
{
	err_set(e, GT_USAGE, "state", "the address of the Redis store %s", why);
	return err_hint(e, "Write state = \"redis://HOST:PORT/DB\" or \"redis+unix:///PATH/TO/SOCKET?db=DB\" in gt.toml");
}

static int
number(const char *text, int max, int *out, const char *why, struct err *e)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > max)
		return refuse(e, why);
	*out = (int)n;
	return 0;
}

static int
take_option(struct redis_address *a, const char *option, const char *dir, struct err *e)
{
	if (str_starts(option, "password_file=") && option[14] != '\0') {
		free(a->password_file);
		a->password_file = option[14] == '/' ? xstrdup(option + 14) : io_join(dir, option + 14);
		return 0;
	}
	if (str_starts(option, "db=") && a->path != NULL)
		return number(option + 3, DB_MAX, &a->db, "has a db that is no number", e);
	return refuse(e, a->path != NULL ? "takes no options but db and password_file" : "takes no option but password_file");
}

/* [USER@]HOST[:PORT][/DB]; a host of IPv6 stands in brackets. */
static int
take_host(struct redis_address *a, char *text, struct err *e)
{
	char *at = strrchr(text, '@'), *slash, *colon;

	if (at != NULL) {
		*at = '\0';
		if (strchr(text, ':') != NULL) {
			err_set(e, GT_USAGE, "state", "the address of the Redis store holds a password");
			return err_hint(e, "Take it out of gt.toml: put it into a file of yours alone (mode 0600) and append"
			    " ?password_file=FILE, or set " PASSWORD_VARIABLE);
		}
		a->user = xstrdup(text);
		text = at + 1;
	}
	if ((slash = strchr(text, '/')) != NULL) {
		*slash++ = '\0';
		if (*slash != '\0' && number(slash, DB_MAX, &a->db, "has a database that is no number", e) != 0)
			return -1;
	}
	a->port = STANDARD_PORT;
	if (text[0] == '[' && strchr(text, ']') != NULL) {
		colon = strchr(text, ']');
		*colon++ = '\0';
		text++;
		if (*colon != ':' && *colon != '\0')
			return refuse(e, "has something behind its host");
		colon = *colon == ':' ? colon : NULL;
	} else {
		colon = strchr(text, ':');
	}
	if (colon != NULL) {
		*colon = '\0';
		if (number(colon + 1, PORT_MAX, &a->port, "has a port that is no number", e) != 0)
			return -1;
	}
	if (text[0] == '\0')
		return refuse(e, "names no host");
	a->host = xstrdup(text);
	return 0;
}

static int
parse(struct redis_address *a, char *text, const char *dir, struct err *e)
{
	char *options = strchr(text, '?'), *option, *rest;

	if (options != NULL)
		*options++ = '\0';
	if (str_starts(text, "redis+unix://")) {
		if (text[13] != '/')
			return refuse(e, "names no absolute path of a socket");
		a->path = xstrdup(text + 13);
	} else if (!str_starts(text, "redis://")) {
		return refuse(e, "begins neither with redis:// nor with redis+unix://");
	} else if (take_host(a, text + 8, e) != 0) {
		return -1;
	}
	for (option = options != NULL ? strtok_r(options, "&", &rest) : NULL; option != NULL; option = strtok_r(NULL, "&", &rest))
		if (take_option(a, option, dir, e) != 0)
			return -1;
	a->shown = a->path != NULL ? xasprintf("at %s, database %d", a->path, a->db) :
	    xasprintf("at %s:%d, database %d", a->host, a->port, a->db);
	return 0;
}

int
redis_address_parse(struct redis_address *a, const char *url, const char *dir, struct err *e)
{
	char *text;
	int ret;

	if (str_starts(url, "rediss:")) {
		err_set(e, GT_USAGE, "state", "this gt-recover speaks no TLS: its Redis library (hiredis %d.%d) has none", HIREDIS_MAJOR,
		    HIREDIS_MINOR);
		return err_hint(e, "Run stunnel, or ssh -L, in front of the server, and name its local end as redis://127.0.0.1:PORT/DB");
	}
	text = xstrdup(url);
	ret = parse(a, text, dir, e);
	free(text);
	return ret;
}

static char *kept;

void
store_take_password(void)
{
	const char *now = getenv(PASSWORD_VARIABLE);

	if (now == NULL)
		return;
	free(kept);
	kept = xstrdup(now);
	unsetenv(PASSWORD_VARIABLE);
}

char *
redis_address_password(const struct redis_address *a, struct err *e)
{
	struct buf b = BUF_INIT;

	store_take_password();
	if (a->password_file == NULL)
		return xstrdup(kept != NULL ? kept : "");
	if (io_read_private(a->password_file, PASSWORD_MAX, &b, e) != 0) {
		buf_wipe(&b);
		err_add(e, "the password of the Redis store");
		err_hint(e, "Name in password_file a file that you own and nobody else may read: chmod 600 FILE");
		return NULL;
	}
	while (b.len > 0 && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
		buf_cut(&b, b.len - 1);
	return buf_detach(&b);
}

void
redis_address_release(struct redis_address *a)
{
	free(a->path);
	free(a->host);
	free(a->user);
	free(a->password_file);
	free(a->shown);
	memset(a, 0, sizeof *a);
}
