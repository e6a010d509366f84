#pragma once
#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "the trait MQTT needs OpenSSL 3, which libmosquitto must use, too"
#endif

/// Names the broker to the server (SNI, RFC 6066 §3) in place of the address that libmosquitto has set. A literal
/// address is not named. OpenSSL calls this between the two.
static inline void indicator_tls_name_broker(const SSL *ssl, int event, int value)
{
    (void)value;
    if (!(event & SSL_CB_HANDSHAKE_START)) return;
    SSL *handshake = (SSL *)ssl; // Constant only because other callers do not change it.
    SSL_set_tlsext_host_name(handshake, X509_VERIFY_PARAM_get0_host(SSL_get0_param(handshake), 0));
}

/// Keeps why a certificate was not accepted: libmosquitto does not.
static inline int indicator_tls_note_problem(int is_valid, X509_STORE_CTX *chain)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
    if (!is_valid) SSL_CTX_set_app_data(SSL_get_SSL_CTX(ssl), (void *)(intptr_t)X509_STORE_CTX_get_error(chain));
    return is_valid;
}

/// Why the broker's certificate was not accepted; `NULL` if it was, or did not arrive.
static inline const char *indicator_tls_rejection(const SSL_CTX *context)
{
    intptr_t error = (intptr_t)SSL_CTX_get_app_data(context);
    return error ? X509_verify_cert_error_string(error) : NULL;
}

/// Notes that a key has a passphrase. Otherwise OpenSSL would ask for it on the terminal.
static inline int indicator_tls_no_passphrase(char *buffer, int size, int is_new, void *is_locked)
{
    (void)buffer, (void)size, (void)is_new;
    *(bool *)is_locked = true;
    return -1;
}

/// Settings for connections to any address by TLS 1.2 or later that accept only a certificate for `host`, a name or a
/// literal address; `NULL` without memory. libmosquitto's own compare the certificate with what it connects to: it would
/// have to be given the name, of which it tries only one address.
static inline SSL_CTX *indicator_tls_context(const char *host)
{
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) return NULL;
    X509_VERIFY_PARAM *expected = SSL_CTX_get0_param(context);
    // RFC 9525 §6.3 and §2: wildcards are whole labels, and the common name is no name of a server.
    const unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
    X509_VERIFY_PARAM_set_hostflags(expected, flags);
    if (!X509_VERIFY_PARAM_set1_ip_asc(expected, host) && !X509_VERIFY_PARAM_set1_host(expected, host, 0)) {
        SSL_CTX_free(context);
        return NULL;
    }
    ERR_clear_error();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, indicator_tls_note_problem);
    SSL_CTX_set_info_callback(context, indicator_tls_name_broker);
    return context;
}

/// Reads the authorities, by default the system's, and the certificate and the key that the client presents, if any.
///
/// @returns 0, or the number of the argument that cannot be used, the context being 0; see ``indicator_tls_error``.
static inline int indicator_tls_use_files(
    SSL_CTX *context, const char *authorities, const char *certificate, const char *key, bool *is_locked)
{
    int unusable = 0;
    *is_locked = false;
    SSL_CTX_set_default_passwd_cb(context, indicator_tls_no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(context, is_locked);
    ERR_clear_error();
    if (authorities ? !SSL_CTX_load_verify_file(context, authorities) : !SSL_CTX_set_default_verify_paths(context))
        unusable = 1;
    else if (certificate && SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        unusable = 2;
    else if (key && (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1 ||
                     SSL_CTX_check_private_key(context) != 1))
        unusable = 3;
    SSL_CTX_set_default_passwd_cb(context, NULL);
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    return unusable;
}

/// The reason for the first error of OpenSSL on this thread.
static inline const char *indicator_tls_error(void) { return ERR_reason_error_string(ERR_peek_error()); }
