#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "work/secret_name.h"
#include "base/buf.h"

bool
secret_name_is_example(const char *name)
{
	static const char *const ends[] = { "example", "sample", "template", "dist", "tmpl", "defaults" };

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (str_ends(name, ends[i]))
			return true;
	return false;
}

bool
secret_name(const char *path)
{
	/* of the last part of the path; by the manuals of the programs that read or write them */
	static const char *const names[] = {
		".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials",
		".dockercfg", ".htpasswd", ".vault-token", ".s3cfg", ".boto", "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519",
		"id_ed25519_sk", "*.pem", "*.key", "*.ppk", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.kdb", "*.agekey",
		"*.tfstate", "*.tfstate.*", "*.tfvars", "*.ovpn", "credentials", ".credentials.json", "kubeconfig", "*.kubeconfig",
		"service-account*.json", "client_secret*.json", "wallet.dat", "credentials.json", "credentials.y*ml", "credentials.toml",
		"credentials.xml", "credentials.properties", "secrets.json", "secrets.y*ml", "secrets.toml", "secrets.properties",
		"secrets.txt",
	};
	/* a part of the path before it */
	static const char *const folders[] = { ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".secrets" };
	const char *last = strrchr(path, '/');

	last = last != NULL ? last + 1 : path;
	if (secret_name_is_example(last))
		return false;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (fnmatch(names[i], last, FNM_CASEFOLD) == 0)
			return true;
	for (const char *p = path; p < last; p += strcspn(p, "/") + 1)
		for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
			if (strcspn(p, "/") == strlen(folders[i]) && strncmp(p, folders[i], strlen(folders[i])) == 0)
				return true;
	return false;
}
