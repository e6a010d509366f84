#include "CBusCalls.h"

#include <dbus/dbus.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

struct BusCaller {
    DBusConnection *connection;
};

enum { timeLimitInMilliseconds = 10000 };

BusCaller *bus_caller_open(const char *address) {
    DBusConnection *connection = dbus_connection_open_private(address, NULL);
    if (connection == NULL) return NULL;
    dbus_connection_set_exit_on_disconnect(connection, FALSE);
    BusCaller *caller = malloc(sizeof *caller);
    if (caller == NULL || !dbus_bus_register(connection, NULL)) {
        dbus_connection_close(connection);
        dbus_connection_unref(connection);
        free(caller);
        return NULL;
    }
    caller->connection = connection;
    return caller;
}

void bus_caller_close(BusCaller *caller) {
    dbus_connection_close(caller->connection);
    dbus_connection_unref(caller->connection);
    free(caller);
}

/* Sends copies of a call, and requires a reply to each. */
static bool repeat(BusCaller *caller, DBusMessage *call, long count) {
    for (long index = 0; index < count; index++) {
        DBusMessage *copy = dbus_message_copy(call);
        if (copy == NULL) return false;
        DBusMessage *reply =
            dbus_connection_send_with_reply_and_block(caller->connection, copy, timeLimitInMilliseconds, NULL);
        dbus_message_unref(copy);
        if (reply == NULL) return false;
        dbus_message_unref(reply);
    }
    return true;
}

bool bus_caller_ping(BusCaller *caller, const char *name, const char *path, long count) {
    DBusMessage *call = dbus_message_new_method_call(name, path, DBUS_INTERFACE_PEER, "Ping");
    if (call == NULL) return false;
    bool isAnswered = repeat(caller, call, count);
    dbus_message_unref(call);
    return isAnswered;
}

bool bus_caller_get(
    BusCaller *caller,
    const char *name,
    const char *path,
    const char *interface,
    const char *property,
    long count
) {
    DBusMessage *call = dbus_message_new_method_call(name, path, DBUS_INTERFACE_PROPERTIES, "Get");
    if (call == NULL) return false;
    bool isAnswered =
        dbus_message_append_args(
            call, DBUS_TYPE_STRING, &interface, DBUS_TYPE_STRING, &property, DBUS_TYPE_INVALID
        )
        && repeat(caller, call, count);
    dbus_message_unref(call);
    return isAnswered;
}

/* Gives a view or a lock: requestView of org.kde.JobViewServerV2, Inhibit of org.freedesktop.login1.Manager. */
static DBusHandlerResult give(DBusConnection *connection, DBusMessage *call, void *data) {
    (void)data;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    /* As Qt and systemd. */
    if (dbus_message_get_no_reply(call)) return DBUS_HANDLER_RESULT_HANDLED;
    DBusMessage *reply = dbus_message_new_method_return(call);
    if (reply == NULL) return DBUS_HANDLER_RESULT_NEED_MEMORY;
    const char *path = "/job";
    int ends[2];
    if (dbus_message_has_member(call, "requestView")) {
        dbus_message_append_args(reply, DBUS_TYPE_OBJECT_PATH, &path, DBUS_TYPE_INVALID);
    } else if (dbus_message_has_member(call, "Inhibit") && pipe(ends) == 0) {
        dbus_message_append_args(reply, DBUS_TYPE_UNIX_FD, &ends[1], DBUS_TYPE_INVALID);
        close(ends[0]);
        close(ends[1]);
    }
    dbus_connection_send(connection, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
}

bool bus_serve_desktop(const char *address) {
    BusCaller *server = bus_caller_open(address);
    if (server == NULL) return false;
    bool isReady = dbus_connection_add_filter(server->connection, give, NULL, NULL)
        && dbus_bus_request_name(server->connection, "org.kde.JobViewServer", 0, NULL) > 0
        && dbus_bus_request_name(server->connection, "org.freedesktop.login1", 0, NULL) > 0;
    while (isReady && dbus_connection_read_write_dispatch(server->connection, -1)) {}
    bus_caller_close(server);
    return isReady;
}
