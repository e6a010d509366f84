#pragma once
#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>

/// Names the broker to the server (SNI, RFC 6066 §3) in place of the address that libmosquitto has set. A literal
/// address is not named.
static inline void mosquitto_kit_name_broker(const SSL *ssl, int event, int value)
{
    (void)value;
    if (!(event & SSL_CB_HANDSHAKE_START)) return;
    SSL *handshake = (SSL *)ssl; // Only this callback is called at the start, and only with a constant one.
    SSL_set_tlsext_host_name(handshake, X509_VERIFY_PARAM_get0_host(SSL_get0_param(handshake), 0));
}

/// Keeps why a certificate was not accepted: libmosquitto does not.
static inline int mosquitto_kit_note_problem(int is_valid, X509_STORE_CTX *chain)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
    if (!is_valid) SSL_CTX_set_app_data(SSL_get_SSL_CTX(ssl), (void *)(intptr_t)X509_STORE_CTX_get_error(chain));
    return is_valid;
}

/// Why the broker's certificate was not accepted; `NULL` if it was, or did not arrive.
static inline const char *mosquitto_kit_problem(const SSL_CTX *context)
{
    intptr_t error = (intptr_t)SSL_CTX_get_app_data(context);
    return error ? X509_verify_cert_error_string(error) : NULL;
}

/// Otherwise OpenSSL would ask for the passphrase of a key on the terminal.
static inline int mosquitto_kit_no_passphrase(char *buffer, int size, int is_new, void *data)
{
    (void)buffer, (void)size, (void)is_new, (void)data;
    return 0;
}

/// Settings for connections to any address by TLS 1.2 or later that accept only a certificate for `host`, a name or a
/// literal address; `NULL` without memory. With its own, libmosquitto verifies what it connects to: it would have to be
/// given the name, and tries only one of its addresses.
static inline SSL_CTX *mosquitto_kit_tls_context(const char *host)
{
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) return NULL;
    X509_VERIFY_PARAM *expected = SSL_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!X509_VERIFY_PARAM_set1_ip_asc(expected, host) && !X509_VERIFY_PARAM_set1_host(expected, host, 0)) {
        SSL_CTX_free(context);
        return NULL;
    }
    ERR_clear_error();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, mosquitto_kit_note_problem);
    SSL_CTX_set_info_callback(context, mosquitto_kit_name_broker);
    SSL_CTX_set_default_passwd_cb(context, mosquitto_kit_no_passphrase);
    return context;
}

/// The reason for the first error of OpenSSL on this thread.
static inline const char *mosquitto_kit_tls_error(void) { return ERR_reason_error_string(ERR_peek_error()); }
