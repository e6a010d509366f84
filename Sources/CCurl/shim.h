#pragma once

#if !__has_include(<curl/curl.h>)
#error "libcurl is missing: apt-get install libcurl4-openssl-dev"
#endif

#if !__has_include(<zlib.h>)
#error "zlib is missing: apt-get install zlib1g-dev"
#endif

#include <curl/curl.h>
#include <zlib.h>

/* Swift cannot call variadic functions, so there is one function per argument type. */

typedef size_t (*curl_kit_bytes_function)(char *, size_t, size_t, void *);
typedef int (*curl_kit_seek_function)(void *, curl_off_t, int);
typedef int (*curl_kit_progress_function)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

static inline CURLcode curl_kit_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_kit_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_kit_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_kit_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

/* Copies a body, which is then sent together with the head if that is possible. */
static inline CURLcode curl_kit_set_body(CURL *handle, const void *bytes, curl_off_t count) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, count);
    return curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, count ? bytes : "");
}

static inline CURLcode curl_kit_set_bytes_function(CURL *handle, CURLoption option, curl_kit_bytes_function value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_kit_set_seek_function(CURL *handle, curl_kit_seek_function value) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}

static inline CURLcode curl_kit_set_progress_function(CURL *handle, curl_kit_progress_function value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode curl_kit_set_begin_function(CURL *handle, curl_prereq_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode curl_kit_set_open_function(CURL *handle, curl_opensocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode curl_kit_set_close_function(CURL *handle, curl_closesocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, value);
}

static inline struct curl_slist *curl_kit_cookies(CURL *handle) {
    struct curl_slist *list = NULL;
    curl_easy_getinfo(handle, CURLINFO_COOKIELIST, &list);
    return list;
}

/* What the kernel knows of a TCP connection (Linux 4.1). */
typedef struct {
    long long received, unread;   /* in bytes; the second are part of the first, and not read by this process yet */
    long long acknowledged;       /* by the other side, in bytes */
    unsigned int ignored;         /* for how many milliseconds the other side has acknowledged nothing that was repeated */
} curl_kit_tcp_state;

/* Returns 0 if the system does not report it, or the connection is not established. */
static inline int curl_kit_get_tcp_state(curl_socket_t socket, curl_kit_tcp_state *state) {
    extern int ioctl(int, unsigned long, ...);
    enum { tcp = 6, tcp_info = 11, fionread = 0x541B, established = 1 };
    enum { last_ack = 12 };
    /* The first fields of `struct tcp_info` in <linux/tcp.h>, which cannot be included beside <netinet/tcp.h>. */
    struct {
        unsigned char state, congestion, retransmits, probes, others[4];
        unsigned int counts[24];
        unsigned long long paces[2], acked, received;
    } info;
    socklen_t size = sizeof info;
    int unread = 0;
    if (getsockopt(socket, tcp, tcp_info, &info, &size) || size < sizeof info) return 0;
    if (info.state != established || ioctl(socket, fionread, &unread)) return 0;
    state->received = (long long)info.received;
    state->unread = unread;
    state->acknowledged = (long long)info.acked;
    /* What was sent once may be on its way, on a connection that was silent before. */
    state->ignored = info.retransmits > 1 || info.probes > 1 ? info.counts[last_ack] : 0;
    return 1;
}

/* 0 if it has none. */
static inline int curl_kit_get_local_port(curl_socket_t socket) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    const unsigned char *bytes = (const unsigned char *)&address;
    return getsockname(socket, (struct sockaddr *)&address, &size) ? 0 : bytes[2] << 8 | bytes[3];
}

/* Whether the other side has an address, as text. One that has ended the connection has none any more, and may have it. */
static inline int curl_kit_may_have_peer(curl_socket_t socket, const char *text) {
    extern const char *inet_ntop(int, const void *, char *, socklen_t);
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    char own[64] = {0};
    if (!text || getpeername(socket, (struct sockaddr *)&address, &size)) return 1;
    const char *bytes = (const char *)&address + (address.ss_family == AF_INET6 ? 8 : 4);
    return inet_ntop(address.ss_family, bytes, own, sizeof own) && !__builtin_strcmp(own, text);
}

/*
 * A function of OpenSSL, without its headers, and the TLS connection of a transfer. NULL if there is none, or it is of
 * another TLS library.
 */
static inline void *curl_kit_openssl(CURL *handle, const char *name, const void **connection) {
    extern void *dlsym(void *, const char *);
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session) || !session || !session->internals) return NULL;
    *connection = session->internals;
    return session->backend == CURLSSLBACKEND_OPENSSL ? dlsym(NULL, name) : NULL;
}

/* Whether the other side has ended the TLS connection, not only closed the socket; 1 if it is not known. */
static inline int curl_kit_has_close_notify(CURL *handle) {
    const void *connection = NULL;
    typedef int (*get_function)(const void *);
    get_function get = (get_function)curl_kit_openssl(handle, "SSL_get_shutdown", &connection);
    enum { received_shutdown = 2 };
    return get ? (get(connection) & received_shutdown) != 0 : connection != NULL;
}

/* Whether HTTP/2 was chosen in the TLS handshake; 0 if it is not known. */
static inline int curl_kit_has_http2(CURL *handle) {
    typedef void (*get_function)(const void *, const unsigned char **, unsigned int *);
    const void *connection = NULL;
    const unsigned char *name = NULL;
    unsigned int count = 0;
    get_function get = (get_function)curl_kit_openssl(handle, "SSL_get0_alpn_selected", &connection);
    if (get) get(connection, &name, &count);
    return count == 2 && name[0] == 'h' && name[1] == '2';
}

static inline long curl_kit_get_long(CURL *handle, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

static inline CURLMcode curl_kit_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLSHcode curl_kit_share_cookies(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
}

/* Swift does not import macros with casts. */
enum {
    CURLAUTH_BASIC_BITS = 1,
    CURLAUTH_DIGEST_BITS = 2,
};
