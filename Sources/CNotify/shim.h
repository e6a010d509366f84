/*
 * The parts of libnotify, and of the GLib below it, that this package uses, under names of its own: an app may include
 * the real headers, and a C type has one definition for all that a compiler sees. Nothing is linked, so that apps run
 * without libnotify, and load no GLib when they start. A test compares each type, value and function with the real
 * headers.
 */
#pragma once

typedef struct CNotifyBusConnection CNotifyBusConnection;
typedef struct CNotifyCancellable CNotifyCancellable;
typedef struct CNotifyClosure CNotifyClosure;
typedef struct CNotifyContext CNotifyContext;
typedef struct CNotifyNotification CNotifyNotification;
typedef struct CNotifyObject CNotifyObject;
typedef struct CNotifyVariant CNotifyVariant;
typedef __SIZE_TYPE__ CNotifyType;
typedef void (*CNotifyCallback)(void);
typedef struct {
    int fd;
    unsigned short events, revents;
} CNotifyPollFD;
typedef struct {
    unsigned int domain;
    int code;
    char *message;
} CNotifyError;
typedef struct {
    CNotifyType g_type;
    unsigned long long data[2];
} CNotifyValue;
#define CNOTIFY_BUS_SESSION 2
#define CNOTIFY_TYPE_INT 24ul
#define CNOTIFY_LOG_RECURSION 1
#define CNOTIFY_LOG_FATAL 2
#define CNOTIFY_LOG_ERROR 4

/* F(result, name, arguments). Enumerations have the type that compilers give them. */
#define CNOTIFY_FUNCTIONS(F)                                                                                           \
    F(CNotifyContext *, g_main_context_new, (void))                                                                    \
    F(void, g_main_context_push_thread_default, (CNotifyContext *))                                                    \
    F(int, g_main_context_iteration, (CNotifyContext *, int))                                                          \
    F(int, g_main_context_acquire, (CNotifyContext *))                                                                 \
    F(int, g_main_context_query, (CNotifyContext *, int, int *, CNotifyPollFD *, int))                                 \
    F(unsigned int, g_log_set_handler,                                                                                 \
      (const char *, int, void (*)(const char *, int, const char *, void *), void *))                                  \
    F(void, g_log_default_handler, (const char *, int, const char *, void *))                                          \
    F(void, g_error_free, (CNotifyError *))                                                                            \
    F(CNotifyVariant *, g_variant_new_boolean, (int))                                                                  \
    F(CNotifyVariant *, g_variant_new_byte, (unsigned char))                                                           \
    F(CNotifyVariant *, g_variant_new_int32, (int))                                                                    \
    F(CNotifyVariant *, g_variant_new_string, (const char *))                                                          \
    F(void *, g_type_class_ref, (CNotifyType))                                                                         \
    F(void, g_object_unref, (void *))                                                                                  \
    F(CNotifyValue *, g_value_init, (CNotifyValue *, CNotifyType))                                                     \
    F(int, g_value_get_int, (const CNotifyValue *))                                                                    \
    F(void, g_object_get_property, (CNotifyObject *, const char *, CNotifyValue *))                                    \
    F(unsigned long, g_signal_connect_data,                                                                            \
      (void *, const char *, CNotifyCallback, void *, void (*)(void *, CNotifyClosure *), unsigned int))               \
    F(CNotifyType, g_socket_get_type, (void))                                                                          \
    F(CNotifyBusConnection *, g_bus_get_sync, (int, CNotifyCancellable *, CNotifyError **))                            \
    F(void, g_dbus_connection_set_exit_on_close, (CNotifyBusConnection *, int))                                        \
    F(int, g_dbus_connection_is_closed, (CNotifyBusConnection *))                                                      \
    F(int, notify_init, (const char *))                                                                                \
    F(int, notify_is_initted, (void))                                                                                  \
    F(CNotifyNotification *, notify_notification_new, (const char *, const char *, const char *))                      \
    F(int, notify_notification_update, (CNotifyNotification *, const char *, const char *, const char *))              \
    F(void, notify_notification_set_app_name, (CNotifyNotification *, const char *))                                   \
    F(void, notify_notification_set_timeout, (CNotifyNotification *, int))                                             \
    F(void, notify_notification_set_hint, (CNotifyNotification *, const char *, CNotifyVariant *))                     \
    F(int, notify_notification_show, (CNotifyNotification *, CNotifyError **))                                         \
    F(int, notify_notification_get_closed_reason, (const CNotifyNotification *))

/* Since libnotify 0.8.4; before, the members are NULL. */
#define CNOTIFY_NEW_FUNCTIONS(F)                                                                                       \
    F(void, notify_notification_set_app_icon, (CNotifyNotification *, const char *))

typedef struct {
#define F(result, name, arguments) result (*name) arguments;
    CNOTIFY_FUNCTIONS(F) CNOTIFY_NEW_FUNCTIONS(F)
#undef F
} CNotifyFunctions;

/* Looks the functions up with `find`, dlsym(3). Returns the name of one that the library lacks; NULL if it has all. */
static inline const char *
cnotify_find(CNotifyFunctions *functions, void *(*find)(void *, const char *), void *library) {
#define F(result, name, arguments) functions->name = (result (*) arguments)find(library, #name);
    CNOTIFY_NEW_FUNCTIONS(F)
#undef F
#define F(result, name, arguments)                                                                                     \
    if (!(functions->name = (result (*) arguments)find(library, #name))) return #name;
    CNOTIFY_FUNCTIONS(F)
#undef F
    return (const char *)0;
}
