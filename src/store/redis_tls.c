/* TLS to a Redis server, where the hiredis that this was built with has it (decision 20). */
#include <errno.h>
#include <string.h>
#include <sys/time.h>

#include "store/store_private.h"
#include "base/err.h"

#ifdef GT_TLS
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* A key with a passphrase is refused: OpenSSL would ask the terminal. */
static int
no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static int
bad_file(const struct redis_store *s, const char *what, const char *path, struct err *e)
{
	ERR_clear_error();
	err_set(e, GT_USAGE, "tls", "the %s of the Redis store %s cannot be used: %s", what, s->at.shown,
	    path != NULL ? path : "the system has none");
	return err_hint(e, "Name PEM files, and a key without a passphrase, in the address: "
			   "?ca_file=FILE&cert_file=FILE&key_file=FILE");
}

/* Which certificates are believed, and ours, which Redis asks for by default (tls-auth-clients). */
static int
load_files(const struct redis_store *s, SSL_CTX *ctx, struct err *e)
{
	const struct redis_address *at = &s->at;
	const char *key = at->key_file != NULL ? at->key_file : at->cert_file;

	if ((at->ca_file != NULL ? SSL_CTX_load_verify_locations(ctx, at->ca_file, NULL)
				 : SSL_CTX_set_default_verify_paths(ctx)) != 1)
		return bad_file(s, "certificate authority", at->ca_file, e);
	if (at->cert_file != NULL && SSL_CTX_use_certificate_chain_file(ctx, at->cert_file) != 1)
		return bad_file(s, "certificate", at->cert_file, e);
	if (key != NULL && SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		return bad_file(s, "private key", key, e);
	return 0;
}

/* The certificate must be for this host: hiredis compares only its signer. */
static bool
expect_host(SSL *ssl, const char *host)
{
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1)
		return true;
	return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static int
shake_hands(struct redis_store *s, SSL *ssl, int wait_ms, struct err *e)
{
	struct timeval wait = { .tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000 };
	long verdict;

	if (redisSetTimeout(s->conn, wait) == REDIS_OK && redisInitiateSSL(s->conn, ssl) == REDIS_OK)
		return 1;
	verdict = SSL_get_verify_result(ssl);
	SSL_free(ssl);
	ERR_clear_error();
	if (verdict == X509_V_OK)
		return 0;
	err_set(e, GT_FAIL, "tls", "the certificate of the Redis store %s is not valid: %s", s->at.shown,
	    X509_verify_cert_error_string(verdict));
	return err_hint(e, "Name the certificate authority that signed it in the address: ?ca_file=FILE; the "
			   "host must be one that the certificate names");
}

int
redis_tls_start(struct redis_store *s, int wait_ms, struct err *e)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl;
	int ret = -1;

	if (ctx == NULL)
		return 0;
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
	if (load_files(s, ctx, e) == 0) {
		ssl = SSL_new(ctx);
		if (ssl != NULL && expect_host(ssl, s->at.host)) {
			ret = shake_hands(s, ssl, wait_ms, e);
		} else {
			SSL_free(ssl);
			ret = 0;
		}
	}
	SSL_CTX_free(ctx);
	return ret;
}

ssize_t
redis_tls_read(struct redis_store *s, char *to, size_t n)
{
	ssize_t got = s->conn->funcs->read(s->conn, to, n);

	if (got > 0)
		return got;
	errno = got == 0 ? EAGAIN : ECONNRESET;
	return -1;
}

bool
redis_tls_known(void)
{
	return true;
}
#else
int
redis_tls_start(struct redis_store *s, int wait_ms, struct err *e)
{
	(void)s;
	(void)wait_ms;
	(void)e;
	return 0;
}

ssize_t
redis_tls_read(struct redis_store *s, char *to, size_t n)
{
	(void)s;
	(void)to;
	(void)n;
	errno = ENOSYS;
	return -1;
}

bool
redis_tls_known(void)
{
	return false;
}
#endif
