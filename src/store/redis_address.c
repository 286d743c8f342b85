/* Where the Redis server is; the password is never part of a URL: gt.toml is read by many. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

#define COUNT(v) (sizeof (v) / sizeof (v)[0])

enum { STANDARD_PORT = 6379, PORT_MAX = 65535, DB_MAX = 1000000 };

static int
refuse_url(struct err *e, const char *why)
{
	err_set(e, GT_USAGE, "state", "the address of the Redis store %s", why);
	return err_hint(
	    e, "Write state = \"redis://HOST:PORT/DB\" or \"redis+unix:///PATH/TO/SOCKET?db=DB\" in gt.toml");
}

static int
parse_number(const char *text, int max, int *out, const char *why, struct err *e)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > max)
		return refuse_url(e, why);
	*out = (int)n;
	return 0;
}

static int
take_option(struct redis_address *a, const char *option, const char *dir, struct err *e)
{
	static const struct {
		const char *name;
		size_t at;
		bool tls;
	} files[] = {
		{ "password_file=", offsetof(struct redis_address, password_file), false },
		{ "ca_file=", offsetof(struct redis_address, ca_file), true },
		{ "cert_file=", offsetof(struct redis_address, cert_file), true },
		{ "key_file=", offsetof(struct redis_address, key_file), true },
	};

	for (size_t i = 0; i < COUNT(files); i++) {
		size_t n = strlen(files[i].name);
		char **file = (char **)(void *)((char *)a + files[i].at);

		if (!str_starts(option, files[i].name) || option[n] == '\0' || (files[i].tls && !a->tls))
			continue;
		free(*file);
		*file = option[n] == '/' ? xstrdup(option + n) : io_join(dir, option + n);
		return 0;
	}
	if (str_starts(option, "db=") && a->path != NULL)
		return parse_number(option + 3, DB_MAX, &a->db, "has a db that is not a number", e);
	return refuse_url(e,
	    a->path != NULL ? "allows only the options db and password_file" :
		a->tls	    ? "allows only the options password_file, ca_file, cert_file and key_file"
			    : "allows only the option password_file");
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
			return err_hint(e,
			    "Remove it from gt.toml: put it into a private file (mode 0600) and append "
			    "?password_file=FILE, or set " REDIS_PASSWORD_VARIABLE);
		}
		a->user = xstrdup(text);
		text = at + 1;
	}
	if ((slash = strchr(text, '/')) != NULL) {
		*slash++ = '\0';
		if (*slash != '\0' &&
		    parse_number(slash, DB_MAX, &a->db, "has a database that is not a number", e) != 0)
			return -1;
	}
	a->port = STANDARD_PORT;
	if (text[0] == '[' && strchr(text, ']') != NULL) {
		colon = strchr(text, ']');
		*colon++ = '\0';
		text++;
		if (*colon != ':' && *colon != '\0')
			return refuse_url(e, "has extra text after its host");
		colon = *colon == ':' ? colon : NULL;
	} else {
		colon = strchr(text, ':');
	}
	if (colon != NULL) {
		*colon = '\0';
		if (parse_number(colon + 1, PORT_MAX, &a->port, "has a port that is not a number", e) != 0)
			return -1;
	}
	if (text[0] == '\0')
		return refuse_url(e, "names no host");
	a->host = xstrdup(text);
	return 0;
}

static int
parse_url(struct redis_address *a, char *text, const char *dir, struct err *e)
{
	char *options = strchr(text, '?'), *option, *rest;

	if (options != NULL)
		*options++ = '\0';
	if (str_starts(text, "redis+unix://")) {
		if (text[13] != '/')
			return refuse_url(e, "names no absolute socket path");
		a->path = xstrdup(text + 13);
	} else {
		a->tls = str_starts(text, "rediss://");
		if (!a->tls && !str_starts(text, "redis://"))
			return refuse_url(e, "does not begin with redis://, rediss:// or redis+unix://");
		if (take_host(a, text + (a->tls ? 9 : 8), e) != 0)
			return -1;
	}
	for (option = options != NULL ? strtok_r(options, "&", &rest) : NULL; option != NULL;
	    option = strtok_r(NULL, "&", &rest))
		if (take_option(a, option, dir, e) != 0)
			return -1;
	a->shown = a->path != NULL ? xasprintf("at %s, database %d", a->path, a->db) :
	    xasprintf("at %s:%d%s, database %d", a->host, a->port, a->tls ? " (TLS)" : "", a->db);
	return 0;
}

int
redis_address_parse(struct redis_address *a, const char *url, const char *dir, struct err *e)
{
	char *text;
	int ret;

	if (str_starts(url, "rediss:") && !redis_tls_known()) {
		err_set(e, GT_USAGE, "state",
		    "this gt-recover has no TLS: its Redis library (hiredis %d.%d) was built without it",
		    HIREDIS_MAJOR, HIREDIS_MINOR);
		return err_hint(e,
		    "Run stunnel, or ssh -L, in front of the server, and name its local end as "
		    "redis://127.0.0.1:PORT/DB");
	}
	text = xstrdup(url);
	ret = parse_url(a, text, dir, e);
	free(text);
	return ret;
}

void
redis_address_release(struct redis_address *a)
{
	free(a->path);
	free(a->host);
	free(a->user);
	free(a->password_file);
	free(a->ca_file);
	free(a->cert_file);
	free(a->key_file);
	free(a->shown);
	memset(a, 0, sizeof *a);
}
