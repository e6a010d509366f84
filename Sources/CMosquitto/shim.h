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
} CMosquittoFunctions;

/* Looks the functions up with `find`, dlsym(3). Returns the name of one that the library lacks; NULL if it has all. */
static inline const char *
cmosquitto_find(CMosquittoFunctions *functions, void *(*find)(void *, const char *), void *library) {
#define F(name)                                                                                                        \
    if (!(functions->name = (__typeof__(name) *)find(library, #name))) return #name;
    CMOSQUITTO_FUNCTIONS(F)
#undef F
    return (const char *)0;
}
