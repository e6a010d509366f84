#pragma once

#if !__has_include(<curl/curl.h>)
#error "libcurl is missing: apt-get install libcurl4-openssl-dev"
#endif

#include <curl/curl.h>

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

static inline CURLcode curl_kit_set_bytes_function(CURL *handle, CURLoption option, curl_kit_bytes_function value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode curl_kit_set_seek_function(CURL *handle, curl_kit_seek_function value) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}

static inline CURLcode curl_kit_set_progress_function(CURL *handle, curl_kit_progress_function value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
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

/* How many bytes this process has read from a TCP socket; -1 if the system does not report it (Linux 4.1). */
static inline long long curl_kit_count_read(curl_socket_t socket) {
    extern int ioctl(int, unsigned long, ...);
    enum { tcp = 6, tcp_info = 11, fionread = 0x541B };
    /* The first fields of `struct tcp_info` in <linux/tcp.h>, which cannot be included beside <netinet/tcp.h>. */
    struct { unsigned char options[8]; unsigned int counts[24]; unsigned long long paces[2], acked, received; } info;
    socklen_t size = sizeof info;
    int waiting = 0;
    if (getsockopt(socket, tcp, tcp_info, &info, &size) || size < sizeof info) return -1;
    if (ioctl(socket, fionread, &waiting)) return -1;
    return (long long)info.received - waiting;
}

static inline curl_off_t curl_kit_get_offset(CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
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
