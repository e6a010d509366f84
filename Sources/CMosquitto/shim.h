#pragma once
#include <mosquitto.h>
#include <mqtt_protocol.h>

/*
 * The functions that this package uses. Nothing is linked: they are looked up in the library when a broker is first
 * used, because it brings OpenSSL along, which every start of a program would load.
 */
#define CMOSQUITTO_FUNCTIONS(F)                                                                                        \
    F(mosquitto_connack_string) F(mosquitto_connect_async) F(mosquitto_connect_bind_v5)                                \
    F(mosquitto_connect_v5_callback_set) F(mosquitto_destroy) F(mosquitto_disconnect) F(mosquitto_int_option)          \
    F(mosquitto_lib_init) F(mosquitto_log_callback_set) F(mosquitto_loop_misc) F(mosquitto_loop_read)                  \
    F(mosquitto_loop_write) F(mosquitto_message_v5_callback_set) F(mosquitto_new) F(mosquitto_property_add_int32)      \
    F(mosquitto_property_free_all) F(mosquitto_property_read_int16) F(mosquitto_property_read_int32)                   \
    F(mosquitto_publish_v5) F(mosquitto_publish_v5_callback_set) F(mosquitto_reason_string) F(mosquitto_socket)        \
    F(mosquitto_strerror) F(mosquitto_subscribe) F(mosquitto_subscribe_v5_callback_set) F(mosquitto_tls_set)           \
    F(mosquitto_user_data_set) F(mosquitto_username_pw_set) F(mosquitto_want_write) F(mosquitto_will_set_v5)

/* A pointer to each function, with the type of its prototype. */
typedef struct {
#define F(name) __typeof__(name) *name;
    CMOSQUITTO_FUNCTIONS(F)
#undef F
    /* Of OpenSSL; NULL if libmosquitto is built without. */
    int (*OPENSSL_init_crypto)(unsigned long long, const void *);
} CMosquittoFunctions;

/* Loads the library. Returns why it cannot be used; NULL if it can. */
static inline const char *cmosquitto_load(CMosquittoFunctions *functions) {
    extern void *dlopen(const char *, int), *dlsym(void *, const char *);
    extern char *dlerror(void);
    /* RTLD_NOW | RTLD_NODELETE: the header of these would make declarations of the C library part of this module. */
    void *library = dlopen("libmosquitto.so.1", 0x1002);
    if (!library) return dlerror();
#define F(name)                                                                                                        \
    if (!(functions->name = (__typeof__(name) *)dlsym(library, #name))) return dlerror();
    CMOSQUITTO_FUNCTIONS(F)
#undef F
    *(void **)&functions->OPENSSL_init_crypto = dlsym(library, "OPENSSL_init_crypto");
    return (const char *)0;
}
