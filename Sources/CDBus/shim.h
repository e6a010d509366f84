/*
 * The parts of libdbus that this package uses, under names of its own: an app may include the real headers, and a C
 * type has one definition for all that a compiler sees. Nothing is linked: libdbus brings libsystemd along, which every
 * start of a program would load. A test compares each type, value and function with the real headers.
 */
#pragma once

typedef struct CDBusAddressEntry CDBusAddressEntry;
typedef struct CDBusConnection CDBusConnection;
typedef struct CDBusMessage CDBusMessage;
typedef struct CDBusWatch CDBusWatch;
typedef struct {
    const char *name;
    const char *message;
    unsigned int bits;
    void *padding;
} CDBusError;
typedef struct {
    void *pointers[2];
    int numbers[10];
    void *padding[2];
} CDBusMessageIter;
/* Enumerations have the type that compilers give them. */
typedef unsigned int CDBusDispatchStatus, CDBusHandlerResult;
typedef struct {
    void (*unregister_function)(CDBusConnection *, void *);
    CDBusHandlerResult (*message_function)(CDBusConnection *, CDBusMessage *, void *);
    void (*padding[4])(void *);
} CDBusObjectPathVTable;
#define CDBUS_DISPATCH_DATA_REMAINS 0u
#define CDBUS_HANDLER_RESULT_HANDLED 0u
#define CDBUS_HANDLER_RESULT_NOT_YET_HANDLED 1u
#define CDBUS_WATCH_WRITABLE 2u
#define CDBUS_MESSAGE_TYPE_METHOD_CALL 1
#define CDBUS_MESSAGE_TYPE_ERROR 3
#define CDBUS_MESSAGE_TYPE_SIGNAL 4

/* F(result, name without "dbus_", arguments) */
#define CDBUS_FUNCTIONS(F)                                                                                             \
    F(unsigned int, parse_address, (const char *, CDBusAddressEntry ***, int *, CDBusError *))                         \
    F(const char *, address_entry_get_value, (CDBusAddressEntry *, const char *))                                      \
    F(void, address_entries_free, (CDBusAddressEntry **))                                                              \
    F(unsigned int, bus_set_unique_name, (CDBusConnection *, const char *))                                            \
    F(unsigned int, connection_add_filter,                                                                             \
      (CDBusConnection *, CDBusHandlerResult (*)(CDBusConnection *, CDBusMessage *, void *), void *, void (*)(void *))) \
    F(void, connection_close, (CDBusConnection *))                                                                     \
    F(CDBusDispatchStatus, connection_dispatch, (CDBusConnection *))                                                   \
    F(CDBusDispatchStatus, connection_get_dispatch_status, (CDBusConnection *))                                        \
    F(unsigned int, connection_get_is_connected, (CDBusConnection *))                                                  \
    F(long, connection_get_outgoing_size, (CDBusConnection *))                                                         \
    F(unsigned int, connection_get_unix_fd, (CDBusConnection *, int *))                                                \
    F(unsigned int, connection_has_messages_to_send, (CDBusConnection *))                                              \
    F(CDBusConnection *, connection_open_private, (const char *, CDBusError *))                                        \
    F(unsigned int, connection_read_write, (CDBusConnection *, int))                                                   \
    F(unsigned int, connection_send, (CDBusConnection *, CDBusMessage *, unsigned int *))                              \
    F(void, connection_set_change_sigpipe, (unsigned int))                                                             \
    F(void, connection_set_exit_on_disconnect, (CDBusConnection *, unsigned int))                                      \
    F(unsigned int, connection_set_watch_functions,                                                                    \
      (CDBusConnection *, unsigned int (*)(CDBusWatch *, void *), void (*)(CDBusWatch *, void *),                      \
       void (*)(CDBusWatch *, void *), void *, void (*)(void *)))                                                      \
    F(unsigned int, connection_try_register_object_path,                                                               \
      (CDBusConnection *, const char *, const CDBusObjectPathVTable *, void *, CDBusError *))                          \
    F(void, connection_unref, (CDBusConnection *))                                                                     \
    F(void, error_free, (CDBusError *))                                                                                \
    F(void, error_init, (CDBusError *))                                                                                \
    F(void, free, (void *))                                                                                            \
    F(const char *, message_get_error_name, (CDBusMessage *))                                                          \
    F(const char *, message_get_interface, (CDBusMessage *))                                                           \
    F(const char *, message_get_member, (CDBusMessage *))                                                              \
    F(unsigned int, message_get_no_reply, (CDBusMessage *))                                                            \
    F(const char *, message_get_path, (CDBusMessage *))                                                                \
    F(unsigned int, message_get_reply_serial, (CDBusMessage *))                                                        \
    F(const char *, message_get_sender, (CDBusMessage *))                                                              \
    F(const char *, message_get_signature, (CDBusMessage *))                                                           \
    F(int, message_get_type, (CDBusMessage *))                                                                         \
    F(unsigned int, message_iter_append_basic, (CDBusMessageIter *, int, const void *))                                \
    F(unsigned int, message_iter_close_container, (CDBusMessageIter *, CDBusMessageIter *))                            \
    F(int, message_iter_get_arg_type, (CDBusMessageIter *))                                                            \
    F(void, message_iter_get_basic, (CDBusMessageIter *, void *))                                                      \
    F(int, message_iter_get_element_type, (CDBusMessageIter *))                                                        \
    F(char *, message_iter_get_signature, (CDBusMessageIter *))                                                        \
    F(unsigned int, message_iter_init, (CDBusMessage *, CDBusMessageIter *))                                           \
    F(void, message_iter_init_append, (CDBusMessage *, CDBusMessageIter *))                                            \
    F(unsigned int, message_iter_next, (CDBusMessageIter *))                                                           \
    F(unsigned int, message_iter_open_container, (CDBusMessageIter *, int, const char *, CDBusMessageIter *))          \
    F(void, message_iter_recurse, (CDBusMessageIter *, CDBusMessageIter *))                                            \
    F(CDBusMessage *, message_new_error, (CDBusMessage *, const char *, const char *))                                 \
    F(CDBusMessage *, message_new_method_call, (const char *, const char *, const char *, const char *))               \
    F(CDBusMessage *, message_new_method_return, (CDBusMessage *))                                                     \
    F(CDBusMessage *, message_new_signal, (const char *, const char *, const char *))                                  \
    F(CDBusMessage *, message_ref, (CDBusMessage *))                                                                   \
    F(void, message_set_auto_start, (CDBusMessage *, unsigned int))                                                    \
    F(void, message_set_no_reply, (CDBusMessage *, unsigned int))                                                      \
    F(void, message_unref, (CDBusMessage *))                                                                           \
    F(unsigned int, threads_init_default, (void))                                                                      \
    F(unsigned int, validate_bus_name, (const char *, CDBusError *))                                                   \
    F(unsigned int, validate_path, (const char *, CDBusError *))                                                       \
    F(unsigned int, watch_get_enabled, (CDBusWatch *))                                                                 \
    F(unsigned int, watch_get_flags, (CDBusWatch *))

typedef struct {
#define F(result, name, arguments) result (*name) arguments;
    CDBUS_FUNCTIONS(F)
#undef F
} CDBusFunctions;

/* Looks the functions up with `find`, dlsym(3). Returns the name of one that the library lacks; NULL if it has all. */
static inline const char *cdbus_find(CDBusFunctions *functions, void *(*find)(void *, const char *), void *library) {
#define F(result, name, arguments)                                                                                     \
    if (!(functions->name = (result (*) arguments)find(library, "dbus_" #name))) return "dbus_" #name;
    CDBUS_FUNCTIONS(F)
#undef F
    return (const char *)0;
}
