/*
 * Hand-written declarations of the parts of libdbus that this package uses. Nothing is linked: the functions are looked
 * up in the library when a bus is first used, because it brings libsystemd along, which every start of a program would
 * load. A test compiles this file together with the real headers, which finds every difference.
 */
#pragma once

/* The real types, when the real headers come first. */
#ifndef DBUS_H
typedef unsigned int dbus_bool_t;
typedef struct DBusAddressEntry DBusAddressEntry;
typedef struct DBusConnection DBusConnection;
typedef struct DBusMessage DBusMessage;
typedef struct DBusPendingCall DBusPendingCall;
typedef struct DBusWatch DBusWatch;
typedef struct DBusError {
    const char *name;
    const char *message;
    unsigned int bits;
    void *padding;
} DBusError;
typedef struct DBusMessageIter {
    void *pointers[2];
    int numbers[10];
    void *padding[2];
} DBusMessageIter;
typedef enum { DBUS_DISPATCH_DATA_REMAINS, DBUS_DISPATCH_COMPLETE, DBUS_DISPATCH_NEED_MEMORY } DBusDispatchStatus;
typedef enum { DBUS_HANDLER_RESULT_HANDLED, DBUS_HANDLER_RESULT_NOT_YET_HANDLED } DBusHandlerResult;
typedef enum {
    DBUS_WATCH_READABLE = 1,
    DBUS_WATCH_WRITABLE = 2,
    DBUS_WATCH_ERROR = 4,
    DBUS_WATCH_HANGUP = 8
} DBusWatchFlags;
typedef void (*DBusFreeFunction)(void *);
typedef dbus_bool_t (*DBusAddWatchFunction)(DBusWatch *, void *);
typedef void (*DBusWatchToggledFunction)(DBusWatch *, void *);
typedef void (*DBusRemoveWatchFunction)(DBusWatch *, void *);
typedef DBusHandlerResult (*DBusHandleMessageFunction)(DBusConnection *, DBusMessage *, void *);
typedef struct DBusObjectPathVTable {
    void (*unregister_function)(DBusConnection *, void *);
    DBusHandlerResult (*message_function)(DBusConnection *, DBusMessage *, void *);
    void (*padding[4])(void *);
} DBusObjectPathVTable;
#endif

/* Compared with the real ones, too: another value would be a redefinition. */
#define DBUS_MESSAGE_TYPE_METHOD_CALL 1
#define DBUS_MESSAGE_TYPE_ERROR 3
#define DBUS_MESSAGE_TYPE_SIGNAL 4

_Static_assert(sizeof(DBusError) == 32 && sizeof(DBusMessageIter) == 72 && sizeof(DBusObjectPathVTable) == 48, "");
_Static_assert(DBUS_DISPATCH_DATA_REMAINS == 0 && DBUS_HANDLER_RESULT_NOT_YET_HANDLED == 1, "");
_Static_assert(DBUS_WATCH_WRITABLE == 2 && DBUS_WATCH_ERROR == 4 && DBUS_WATCH_HANGUP == 8, "");

dbus_bool_t dbus_parse_address(const char *, DBusAddressEntry ***, int *, DBusError *);
const char *dbus_address_entry_get_value(DBusAddressEntry *, const char *);
void dbus_address_entries_free(DBusAddressEntry **);
dbus_bool_t dbus_bus_set_unique_name(DBusConnection *, const char *);
dbus_bool_t dbus_connection_add_filter(
    DBusConnection *, DBusHandleMessageFunction, void *, DBusFreeFunction);
void dbus_connection_close(DBusConnection *);
DBusDispatchStatus dbus_connection_dispatch(DBusConnection *);
DBusDispatchStatus dbus_connection_get_dispatch_status(DBusConnection *);
dbus_bool_t dbus_connection_get_is_connected(DBusConnection *);
long dbus_connection_get_outgoing_size(DBusConnection *);
dbus_bool_t dbus_connection_has_messages_to_send(DBusConnection *);
DBusConnection *dbus_connection_open_private(const char *, DBusError *);
dbus_bool_t dbus_connection_send(DBusConnection *, DBusMessage *, unsigned int *);
dbus_bool_t dbus_connection_send_with_reply(DBusConnection *, DBusMessage *, DBusPendingCall **, int);
void dbus_connection_set_change_sigpipe(dbus_bool_t);
void dbus_connection_set_exit_on_disconnect(DBusConnection *, dbus_bool_t);
dbus_bool_t dbus_connection_set_watch_functions(
    DBusConnection *, DBusAddWatchFunction, DBusRemoveWatchFunction, DBusWatchToggledFunction, void *,
    DBusFreeFunction);
dbus_bool_t dbus_connection_try_register_object_path(
    DBusConnection *, const char *, const DBusObjectPathVTable *, void *, DBusError *);
void dbus_connection_unref(DBusConnection *);
void dbus_error_free(DBusError *);
void dbus_error_init(DBusError *);
void dbus_free(void *);
const char *dbus_message_get_error_name(DBusMessage *);
const char *dbus_message_get_interface(DBusMessage *);
const char *dbus_message_get_member(DBusMessage *);
dbus_bool_t dbus_message_get_no_reply(DBusMessage *);
const char *dbus_message_get_path(DBusMessage *);
const char *dbus_message_get_sender(DBusMessage *);
const char *dbus_message_get_signature(DBusMessage *);
int dbus_message_get_type(DBusMessage *);
dbus_bool_t dbus_message_iter_append_basic(DBusMessageIter *, int, const void *);
dbus_bool_t dbus_message_iter_close_container(DBusMessageIter *, DBusMessageIter *);
int dbus_message_iter_get_arg_type(DBusMessageIter *);
void dbus_message_iter_get_basic(DBusMessageIter *, void *);
int dbus_message_iter_get_element_type(DBusMessageIter *);
char *dbus_message_iter_get_signature(DBusMessageIter *);
dbus_bool_t dbus_message_iter_init(DBusMessage *, DBusMessageIter *);
void dbus_message_iter_init_append(DBusMessage *, DBusMessageIter *);
dbus_bool_t dbus_message_iter_next(DBusMessageIter *);
dbus_bool_t dbus_message_iter_open_container(DBusMessageIter *, int, const char *, DBusMessageIter *);
void dbus_message_iter_recurse(DBusMessageIter *, DBusMessageIter *);
DBusMessage *dbus_message_new_error(DBusMessage *, const char *, const char *);
DBusMessage *dbus_message_new_method_call(const char *, const char *, const char *, const char *);
DBusMessage *dbus_message_new_method_return(DBusMessage *);
DBusMessage *dbus_message_new_signal(const char *, const char *, const char *);
DBusMessage *dbus_message_ref(DBusMessage *);
void dbus_message_set_auto_start(DBusMessage *, dbus_bool_t);
void dbus_message_set_no_reply(DBusMessage *, dbus_bool_t);
void dbus_message_unref(DBusMessage *);
void dbus_pending_call_cancel(DBusPendingCall *);
dbus_bool_t dbus_pending_call_get_completed(DBusPendingCall *);
DBusMessage *dbus_pending_call_steal_reply(DBusPendingCall *);
void dbus_pending_call_unref(DBusPendingCall *);
dbus_bool_t dbus_threads_init_default(void);
dbus_bool_t dbus_validate_bus_name(const char *, DBusError *);
dbus_bool_t dbus_validate_path(const char *, DBusError *);
dbus_bool_t dbus_watch_get_enabled(DBusWatch *);
unsigned int dbus_watch_get_flags(DBusWatch *);
int dbus_watch_get_unix_fd(DBusWatch *);
dbus_bool_t dbus_watch_handle(DBusWatch *, unsigned int);

/* Their names without "dbus_". */
#define CDBUS_FUNCTIONS(F)                                                                                             \
    F(parse_address) F(address_entry_get_value) F(address_entries_free)                                                \
    F(bus_set_unique_name) F(connection_add_filter) F(connection_close) F(connection_dispatch)                         \
    F(connection_get_dispatch_status) F(connection_get_is_connected) F(connection_get_outgoing_size)                   \
    F(connection_has_messages_to_send) F(connection_open_private) F(connection_send) F(connection_send_with_reply)     \
    F(connection_set_change_sigpipe) F(connection_set_exit_on_disconnect) F(connection_set_watch_functions)            \
    F(connection_try_register_object_path) F(connection_unref) F(error_free)                                           \
    F(error_init) F(free) F(message_get_error_name) F(message_get_interface) F(message_get_member)                     \
    F(message_get_no_reply) F(message_get_path) F(message_get_sender) F(message_get_signature) F(message_get_type)     \
    F(message_iter_append_basic) F(message_iter_close_container) F(message_iter_get_arg_type)                          \
    F(message_iter_get_basic) F(message_iter_get_element_type) F(message_iter_get_signature) F(message_iter_init)      \
    F(message_iter_init_append) F(message_iter_next) F(message_iter_open_container) F(message_iter_recurse)            \
    F(message_new_error) F(message_new_method_call) F(message_new_method_return) F(message_new_signal)                 \
    F(message_ref) F(message_set_auto_start) F(message_set_no_reply) F(message_unref) F(pending_call_cancel)           \
    F(pending_call_get_completed) F(pending_call_steal_reply) F(pending_call_unref) F(threads_init_default)            \
    F(validate_bus_name) F(validate_path) F(watch_get_enabled) F(watch_get_flags) F(watch_get_unix_fd) F(watch_handle)

/* A pointer to each function, with the type of its prototype. */
typedef struct {
#define F(name) __typeof__(dbus_##name) *name;
    CDBUS_FUNCTIONS(F)
#undef F
} CDBusFunctions;

/* Loads the library. Returns why it cannot be used; NULL if it can. */
static inline const char *cdbus_load(CDBusFunctions *functions) {
    extern void *dlopen(const char *, int), *dlsym(void *, const char *);
    extern char *dlerror(void);
    /* RTLD_NOW | RTLD_NODELETE: the header of these would make declarations of the C library part of this module. */
    void *library = dlopen("libdbus-1.so.3", 0x1002);
    if (!library) return dlerror();
#define F(name)                                                                                                        \
    if (!(functions->name = (__typeof__(dbus_##name) *)dlsym(library, "dbus_" #name))) return dlerror();
    CDBUS_FUNCTIONS(F)
#undef F
    return (const char *)0;
}
