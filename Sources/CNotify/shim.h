/*
 * Hand-written declarations of the parts of libnotify, and of the GLib below it, that this package uses. Nothing is
 * linked: the functions are looked up in the library when it is first used, so that apps run without it and load no
 * GLib when they start. A test compiles this file together with the real headers, which finds every difference.
 */
#pragma once

/* The real types, when the real headers come first. Enumerations have the type that compilers give them. */
#ifndef __G_LIB_H__
typedef int gboolean;
typedef void *gpointer;
typedef struct _GMainContext GMainContext;
typedef struct _GVariant GVariant;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GCancellable GCancellable;
typedef struct _GObject GObject;
typedef struct _GClosure GClosure;
typedef struct _NotifyNotification NotifyNotification;
typedef struct _GPollFD {
    int fd;
    unsigned short events, revents;
} GPollFD;
typedef struct _GError {
    unsigned int domain;
    int code;
    char *message;
} GError;
typedef struct _GValue {
    unsigned long g_type;
    unsigned long long data[2];
} GValue;
typedef void (*GCallback)(void);
typedef void (*GClosureNotify)(gpointer, GClosure *);
typedef int GLogLevelFlags, GBusType;
typedef unsigned int GConnectFlags;
typedef void (*GLogFunc)(const char *, GLogLevelFlags, const char *, gpointer);
#endif

enum {
    CNOTIFY_BUS_SESSION = 2,
    CNOTIFY_TYPE_INT = 6 << 2,
    CNOTIFY_LOG_RECURSION = 1,
    CNOTIFY_LOG_FATAL = 2,
    CNOTIFY_LOG_ERROR = 4,
};

/* GLib */

GMainContext *g_main_context_new(void);
void g_main_context_push_thread_default(GMainContext *);
gboolean g_main_context_iteration(GMainContext *, gboolean);
gboolean g_main_context_acquire(GMainContext *);
int g_main_context_query(GMainContext *, int, int *, GPollFD *, int);
unsigned int g_log_set_handler(const char *, GLogLevelFlags, GLogFunc, gpointer);
void g_log_default_handler(const char *, GLogLevelFlags, const char *, gpointer);
void g_error_free(GError *);
GVariant *g_variant_new_boolean(gboolean);
GVariant *g_variant_new_byte(unsigned char);
GVariant *g_variant_new_int32(int);
GVariant *g_variant_new_string(const char *);

/* GObject */

gpointer g_type_class_ref(unsigned long);
#ifdef g_object_unref /* also a macro */
#undef g_object_unref
#endif
void g_object_unref(gpointer);
GValue *g_value_init(GValue *, unsigned long);
int g_value_get_int(const GValue *);
void g_object_get_property(GObject *, const char *, GValue *);
unsigned long g_signal_connect_data(gpointer, const char *, GCallback, gpointer, GClosureNotify, GConnectFlags);

/* GIO */

unsigned long g_socket_get_type(void);
GDBusConnection *g_bus_get_sync(GBusType, GCancellable *, GError **);
void g_dbus_connection_set_exit_on_close(GDBusConnection *, gboolean);
gboolean g_dbus_connection_is_closed(GDBusConnection *);

/* libnotify */

gboolean notify_init(const char *);
gboolean notify_is_initted(void);
NotifyNotification *notify_notification_new(const char *, const char *, const char *);
gboolean notify_notification_update(NotifyNotification *, const char *, const char *, const char *);
void notify_notification_set_app_name(NotifyNotification *, const char *);
void notify_notification_set_timeout(NotifyNotification *, int);
void notify_notification_set_hint(NotifyNotification *, const char *, GVariant *);
gboolean notify_notification_show(NotifyNotification *, GError **);
int notify_notification_get_closed_reason(const NotifyNotification *);
void notify_notification_set_app_icon(NotifyNotification *, const char *); /* since 0.8.4 */

#define CNOTIFY_FUNCTIONS(F)                                                                                           \
    F(g_main_context_new) F(g_main_context_push_thread_default) F(g_main_context_iteration) F(g_main_context_acquire)  \
    F(g_main_context_query) F(g_log_set_handler) F(g_log_default_handler) F(g_error_free) F(g_variant_new_boolean)     \
    F(g_variant_new_byte) F(g_variant_new_int32) F(g_variant_new_string) F(g_type_class_ref) F(g_object_unref)         \
    F(g_value_init) F(g_value_get_int) F(g_object_get_property) F(g_signal_connect_data) F(g_socket_get_type)          \
    F(g_bus_get_sync) F(g_dbus_connection_set_exit_on_close) F(g_dbus_connection_is_closed) F(notify_init)             \
    F(notify_is_initted) F(notify_notification_new) F(notify_notification_update) F(notify_notification_set_app_name)  \
    F(notify_notification_set_timeout) F(notify_notification_set_hint) F(notify_notification_show)                     \
    F(notify_notification_get_closed_reason)

/* A pointer to each function, with the type of its prototype. */
typedef struct {
#define F(name) __typeof__(name) *name;
    CNOTIFY_FUNCTIONS(F)
#undef F
    /* NULL before libnotify 0.8.4. */
    __typeof__(notify_notification_set_app_icon) *notify_notification_set_app_icon;
} CNotifyFunctions;

/*
 * Looks all functions up with `find`, which is dlsym(3). Returns the name of one that the library lacks; NULL if it has
 * all of them.
 */
static inline const char *
cnotify_find(CNotifyFunctions *functions, void *(*find)(void *, const char *), void *library) {
#define F(name)                                                                                                        \
    if (!(functions->name = (__typeof__(name) *)find(library, #name))) return #name;
    CNOTIFY_FUNCTIONS(F)
#undef F
    functions->notify_notification_set_app_icon =
        (__typeof__(notify_notification_set_app_icon) *)find(library, "notify_notification_set_app_icon");
    return (const char *)0;
}
