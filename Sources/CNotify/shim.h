/*
 * What this package uses of libnotify and of the GLib below it, declared by hand.
 *
 * GLib's own headers need the compiler option -pthread and a folder that differs from one processor to the next. SwiftPM takes
 * the latter from pkg-config and warns of the former on every build. All of this has been stable for more than ten years; a
 * test compiles this file together with the real headers, which finds every difference.
 */
#pragma once

#if !__has_include(<libnotify/notify.h>)
#error "libnotify is missing: apt-get install libnotify-dev, or build without the trait DesktopNotification"
#endif

#include <stddef.h>
#include <stdint.h>

typedef int gboolean;
typedef void *gpointer;

/* GLib */

typedef struct _GMainContext GMainContext;
typedef struct _GSource GSource;
typedef struct _GVariant GVariant;
typedef struct _GError GError;
#ifndef __G_ERROR_H__
struct _GError {
    uint32_t domain;
    int code;
    char *message;
};
#endif
typedef gboolean (*GSourceFunc)(gpointer);
typedef void (*GDestroyNotify)(gpointer);

GMainContext *g_main_context_new(void);
GMainContext *g_main_context_default(void);
gboolean g_main_context_acquire(GMainContext *);
void g_main_context_release(GMainContext *);
void g_main_context_push_thread_default(GMainContext *);
void g_main_context_pop_thread_default(GMainContext *);
gboolean g_main_context_iteration(GMainContext *, gboolean);
void g_main_context_wakeup(GMainContext *);

GSource *g_timeout_source_new(unsigned int);
void g_source_set_callback(GSource *, GSourceFunc, gpointer, GDestroyNotify);
unsigned int g_source_attach(GSource *, GMainContext *);
void g_source_destroy(GSource *);
void g_source_unref(GSource *);

void g_error_free(GError *);

GVariant *g_variant_new_boolean(gboolean);
GVariant *g_variant_new_int32(int32_t);
GVariant *g_variant_new_uint32(uint32_t);
GVariant *g_variant_new_string(const char *);
GVariant *g_variant_new_tuple(GVariant *const *, size_t);
const char *g_variant_get_type_string(GVariant *);
size_t g_variant_n_children(GVariant *);
GVariant *g_variant_get_child_value(GVariant *, size_t);
uint32_t g_variant_get_uint32(GVariant *);
const char *g_variant_get_string(GVariant *, size_t *);
void g_variant_unref(GVariant *);

/* GObject */

typedef struct _GObject GObject;
typedef struct _GClosure GClosure;
typedef struct _GValue GValue;
#ifndef __G_VALUE_H__
struct _GValue {
    unsigned long g_type;
    uint64_t data[2];
};
#endif
typedef void (*GCallback)(void);
typedef void (*GClosureNotify)(gpointer, GClosure *);

void g_object_unref(gpointer);
GValue *g_value_init(GValue *, unsigned long);
int g_value_get_int(const GValue *);
void g_object_get_property(GObject *, const char *, GValue *);
unsigned long g_signal_connect_data(gpointer, const char *, GCallback, gpointer, GClosureNotify, unsigned int);
void g_signal_handler_disconnect(gpointer, unsigned long);

/* GIO */

typedef struct _GAsyncResult GAsyncResult;
typedef struct _GCancellable GCancellable;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GVariantType GVariantType;
typedef void (*GAsyncReadyCallback)(GObject *, GAsyncResult *, gpointer);
typedef void (*GDBusSignalCallback)(
    GDBusConnection *,
    const char *sender,
    const char *path,
    const char *interface,
    const char *signal,
    GVariant *parameters,
    gpointer
);

GDBusConnection *g_bus_get_sync(int, GCancellable *, GError **);
void g_dbus_connection_set_exit_on_close(GDBusConnection *, gboolean);
gboolean g_dbus_connection_is_closed(GDBusConnection *);
unsigned int g_dbus_connection_signal_subscribe(
    GDBusConnection *,
    const char *sender,
    const char *interface,
    const char *member,
    const char *path,
    const char *argument0,
    unsigned int flags,
    GDBusSignalCallback,
    gpointer,
    GDestroyNotify
);
void g_dbus_connection_signal_unsubscribe(GDBusConnection *, unsigned int);
GVariant *g_dbus_connection_call_sync(
    GDBusConnection *,
    const char *destination,
    const char *path,
    const char *interface,
    const char *method,
    GVariant *arguments,
    const GVariantType *,
    unsigned int flags,
    int milliseconds,
    GCancellable *,
    GError **
);
void g_dbus_connection_call(
    GDBusConnection *,
    const char *destination,
    const char *path,
    const char *interface,
    const char *method,
    GVariant *arguments,
    const GVariantType *,
    unsigned int flags,
    int milliseconds,
    GCancellable *,
    GAsyncReadyCallback,
    gpointer
);
GVariant *g_dbus_connection_call_finish(GDBusConnection *, GAsyncResult *, GError **);

/* libnotify */

typedef struct _NotifyNotification NotifyNotification;

gboolean notify_init(const char *);
void notify_uninit(void);
gboolean notify_is_initted(void);
NotifyNotification *notify_notification_new(const char *, const char *, const char *);
gboolean notify_notification_update(NotifyNotification *, const char *, const char *, const char *);
gboolean notify_notification_show(NotifyNotification *, GError **);
gboolean notify_notification_close(NotifyNotification *, GError **);
void notify_notification_set_app_name(NotifyNotification *, const char *);
void notify_notification_set_timeout(NotifyNotification *, int);
void notify_notification_set_category(NotifyNotification *, const char *);
void notify_notification_set_urgency(NotifyNotification *, unsigned int);
void notify_notification_set_hint(NotifyNotification *, const char *, GVariant *);
