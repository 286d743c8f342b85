#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gastown/gastown_private.h"
#include "base/io.h"

static const struct {
	enum town_role_kind kind;
	const char *word;
	const char *session;	/* under "hq-", or behind a prefix */
	bool in_rig;
} roles[] = {
	{ TOWN_ROLE_MAYOR, "mayor", "mayor", false },
	{ TOWN_ROLE_DEACON, "deacon", "deacon", false },
	{ TOWN_ROLE_BOOT, "boot", "boot", false },
	{ TOWN_ROLE_OVERSEER, "overseer", "overseer", false },
	{ TOWN_ROLE_DOG, "dog", NULL, false },
	{ TOWN_ROLE_WITNESS, "witness", "witness", true },
	{ TOWN_ROLE_REFINERY, "refinery", "refinery", true },
	{ TOWN_ROLE_POLECAT, "polecat", NULL, true },
	{ TOWN_ROLE_CREW, "crew", NULL, true },
};

enum { ROLES = sizeof roles / sizeof roles[0] };

bool
role_is_part(const char *s, size_t n)
{
	if (n == 0 || n >= TOWN_ROLE_NAME_MAX || s[0] == '.' || s[0] == '-')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)s[i]) && strchr("_-.", s[i]) == NULL)
			return false;
	}
	return true;
}

static bool
is_part_text(const char *s)
{
	return s != NULL && role_is_part(s, strlen(s));
}

bool
role_is(const struct town_role *a, const struct town_role *b)
{
	return a->kind == b->kind && strcmp(a->rig, b->rig) == 0 && strcmp(a->name, b->name) == 0;
}

const char *
role_word(enum town_role_kind kind)
{
	for (size_t i = 0; i < ROLES; i++) {
		if (roles[i].kind == kind)
			return roles[i].word;
	}
	return "agent";
}

bool
role_is_infra(enum town_role_kind kind)
{
	return kind != TOWN_ROLE_NONE && kind != TOWN_ROLE_POLECAT;
}

static void
set_role(struct town_role *out, enum town_role_kind kind, const char *rig, size_t n_rig, const char *name,
    size_t n_name)
{
	out->kind = kind;
	memcpy(out->rig, rig, n_rig);
	out->rig[n_rig] = '\0';
	memcpy(out->name, name, n_name);
	out->name[n_name] = '\0';
}

static int
no_role(struct town_role *out)
{
	set_role(out, TOWN_ROLE_NONE, "", 0, "", 0);
	return -1;
}

/* "<rig>/…" split at its slashes. */
static int
rig_role(const char *const part[3], const size_t len[3], size_t n, struct town_role *out)
{
	if (!role_is_part(part[0], len[0]))
		return no_role(out);
	if (n == 3 && role_is_part(part[2], len[2])) {
		if (len[1] == 8 && strncmp(part[1], "polecats", 8) == 0) {
			set_role(out, TOWN_ROLE_POLECAT, part[0], len[0], part[2], len[2]);
			return 0;
		}
		if (len[1] == 4 && strncmp(part[1], "crew", 4) == 0) {
			set_role(out, TOWN_ROLE_CREW, part[0], len[0], part[2], len[2]);
			return 0;
		}
	}
	for (size_t i = 0; n == 2 && i < ROLES; i++) {
		if (!roles[i].in_rig || roles[i].session == NULL || strlen(roles[i].word) != len[1])
			continue;
		if (strncmp(part[1], roles[i].word, len[1]) == 0) {
			set_role(out, roles[i].kind, part[0], len[0], "", 0);
			return 0;
		}
	}
	return no_role(out);
}

int
town_role(const char *gt_role, struct town_role *out)
{
	const char *part[3] = { "", "", "" }, *p = gt_role;
	size_t len[3] = { 0 }, n = 0;

	no_role(out);
	if (gt_role == NULL)
		return -1;
	while (*p != '\0' && n < 3) {
		part[n] = p;
		len[n] = strcspn(p, "/");
		p += len[n++];
		p += *p == '/';
	}
	if (*p != '\0' || n == 0)
		return -1;
	for (size_t i = 0; n == 1 && i < ROLES; i++) {
		if (strlen(roles[i].word) == len[0] && strncmp(part[0], roles[i].word, len[0]) == 0) {
			out->kind = roles[i].kind;
			return 0;
		}
	}
	if (len[0] == 6 && strncmp(part[0], "deacon", 6) == 0) {
		if (n == 2 && len[1] == 4 && strncmp(part[1], "boot", 4) == 0) {
			out->kind = TOWN_ROLE_BOOT;
			return 0;
		}
		if (n == 3 && len[1] == 4 && strncmp(part[1], "dogs", 4) == 0 &&
		    role_is_part(part[2], len[2])) {
			set_role(out, TOWN_ROLE_DOG, "", 0, part[2], len[2]);
			return 0;
		}
		return -1;
	}
	return rig_role(part, len, n, out);
}

/* What stands behind a rig's prefix: witness, refinery, crew-<name>, else a polecat's name. */
static int
rest_role(const char *rig, const char *rest, struct town_role *out)
{
	bool crew = str_starts(rest, "crew-");
	const char *name = crew ? rest + 5 : rest;

	for (size_t i = 0; i < ROLES; i++) {
		if (roles[i].in_rig && roles[i].session != NULL && strcmp(rest, roles[i].session) == 0) {
			set_role(out, roles[i].kind, rig, strlen(rig), "", 0);
			return 0;
		}
	}
	if (!is_part_text(name))
		return no_role(out);
	set_role(out, crew ? TOWN_ROLE_CREW : TOWN_ROLE_POLECAT, rig, strlen(rig), name, strlen(name));
	return 0;
}

static int
headquarters_role(const char *rest, struct town_role *out)
{
	for (size_t i = 0; i < ROLES; i++) {
		if (!roles[i].in_rig && roles[i].session != NULL && strcmp(rest, roles[i].session) == 0) {
			out->kind = roles[i].kind;
			return 0;
		}
	}
	if (str_starts(rest, "dog-") && is_part_text(rest + 4)) {
		set_role(out, TOWN_ROLE_DOG, "", 0, rest + 4, strlen(rest + 4));
		return 0;
	}
	return no_role(out);
}

static bool
has_home(const struct town *t, const struct town_role *role)
{
	struct town_list dirs = TOWN_LIST_INIT;
	bool yes;

	if (role->kind != TOWN_ROLE_POLECAT && role->kind != TOWN_ROLE_CREW) {
		char *path = xasprintf("%s/%s/%s", town_root(t), role->rig, role_word(role->kind));

		yes = io_is_dir(path);
		free(path);
		return yes;
	}
	town_workdirs(t, role, &dirs);
	yes = dirs.n > 0;
	town_list_release(&dirs);
	return yes;
}

/* January 2026: "gt-<rig>-…" whatever the rig's prefix. True only when such a worker has a directory. */
static bool
older_role(const struct town *t, const char *session, struct town_role *out)
{
	if (!str_starts(session, "gt-"))
		return false;
	for (size_t i = 0; i < town_rigs(t); i++) {
		const char *name = town_rig_at(t, i)->name;
		size_t n = strlen(name);

		if (strncmp(session + 3, name, n) == 0 && session[3 + n] == '-' &&
		    rest_role(name, session + 4 + n, out) == 0 && has_home(t, out))
			return true;
	}
	if (strcmp(session, "gt-boot") == 0 && town_root(t) != NULL &&
	    town_dir_below(town_root(t), "deacon")) {
		no_role(out);
		out->kind = TOWN_ROLE_BOOT;
		return true;
	}
	return false;
}

int
town_session_role(const struct town *t, const char *session, struct town_role *out)
{
	struct town_role older;
	const struct rig *rig = NULL;
	size_t n = 0;

	no_role(out);
	if (str_starts(session, "hq-") && headquarters_role(session + 3, out) == 0)
		return 0;
	/*
	 * Two rigs may share gt's default prefix: the one that has the worker's directory is
	 * meant, else the first.
	 */
	for (size_t i = 0; i < town_rigs(t); i++) {
		const struct rig *r = town_rig_at(t, i);
		size_t len = strlen(r->prefix);

		if (strncmp(session, r->prefix, len) != 0 || session[len] != '-' || (rig != NULL && len < n))
			continue;
		if (rest_role(r->name, session + len + 1, out) != 0)
			continue;
		if (has_home(t, out))
			return 0;
		if (rig == NULL || (r->registered && !rig->registered)) {
			rig = r;
			n = len;
		}
	}
	if (older_role(t, session, &older)) {
		*out = older;
		return 0;
	}
	return rig != NULL ? rest_role(rig->name, session + n + 1, out) : no_role(out);
}

/* What lies behind a town's root in a path, or NULL when the path is not below it. */
static const char *
below_root(const char *root, const char *path)
{
	size_t n = root != NULL ? strlen(root) : 0;

	return n > 0 && strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/*
 * The first parts of a path as a role: "<rig>/polecats/<name>", "<rig>/witness" (its clone is
 * <rig>/witness/rig), "mayor", "deacon".
 */
int
town_path_role(const struct town *t, const char *path, struct town_role *out)
{
	const char *rest = path != NULL ? below_root(town_root(t), path) : NULL;
	char *text, *end;
	int ret = -1;

	no_role(out);
	if (rest == NULL && path != NULL)
		rest = below_root(town_real_root(t), path);
	if (rest == NULL)
		return -1;
	text = xstrdup(rest);
	end = text;
	for (int part = 0; part < 3; part++) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
	}
	*end = '\0';
	if (strcmp(text, "deacon/dogs/boot") == 0) {
		out->kind = TOWN_ROLE_BOOT;
		ret = 0;
	}
	/* From the longest: what lies below a role's directory is the role's. */
	while (ret != 0 && text[0] != '\0') {
		if (strcmp(text, "mayor") == 0 || strcmp(text, "deacon") == 0 || strchr(text, '/') != NULL)
			ret = town_role(text, out);
		end = strrchr(text, '/');
		if (end == NULL)
			break;
		*end = '\0';
	}
	free(text);
	return ret;
}

char *
town_session_name(const struct town *t, const struct town_role *role)
{
	const struct rig *r;

	if (role->kind == TOWN_ROLE_NONE)
		return NULL;
	if (role->kind == TOWN_ROLE_DOG)
		return role->name[0] != '\0' ? xasprintf("hq-dog-%s", role->name) : NULL;
	for (size_t i = 0; i < ROLES; i++) {
		if (roles[i].kind == role->kind && !roles[i].in_rig)
			return xasprintf("hq-%s", roles[i].session);
	}
	r = town_rig(t, role->rig);
	if (r == NULL)
		return NULL;
	if (role->kind == TOWN_ROLE_WITNESS || role->kind == TOWN_ROLE_REFINERY)
		return xasprintf("%s-%s", r->prefix, role_word(role->kind));
	if (role->name[0] == '\0')
		return NULL;
	return xasprintf("%s-%s%s", r->prefix, role->kind == TOWN_ROLE_CREW ? "crew-" : "", role->name);
}

char *
role_address(const struct town_role *role)
{
	switch (role->kind) {
	case TOWN_ROLE_POLECAT:
		return xasprintf("%s/polecats/%s", role->rig, role->name);
	case TOWN_ROLE_CREW:
		return xasprintf("%s/crew/%s", role->rig, role->name);
	case TOWN_ROLE_WITNESS:
	case TOWN_ROLE_REFINERY:
		return xasprintf("%s/%s", role->rig, role_word(role->kind));
	case TOWN_ROLE_BOOT:
		return xstrdup("deacon/boot");
	case TOWN_ROLE_DOG:
		return role->name[0] != '\0' ? xasprintf("deacon/dogs/%s", role->name) : xstrdup("dog");
	case TOWN_ROLE_NONE:
		return xstrdup("");
	default:
		return xstrdup(role_word(role->kind));
	}
}

void
town_workdirs(const struct town *t, const struct town_role *role, struct town_list *out)
{
	const char *kind = role->kind == TOWN_ROLE_POLECAT ? "polecats" : "crew";
	char *outer, *inner;

	if (town_root(t) == NULL || role->rig[0] == '\0' || role->name[0] == '\0' ||
	    (role->kind != TOWN_ROLE_POLECAT && role->kind != TOWN_ROLE_CREW))
		return;
	outer = xasprintf("%s/%s/%s/%s", town_root(t), role->rig, kind, role->name);
	inner = io_join(outer, role->rig);
	if (role->kind == TOWN_ROLE_POLECAT && io_is_dir(inner))
		town_list_add(out, xstrdup(inner));
	if (io_is_dir(outer))
		town_list_add(out, xstrdup(outer));
	free(inner);
	free(outer);
}
