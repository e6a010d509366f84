#pragma once
#include <stdbool.h>

/// A private connection to a message bus. Must not be used by several threads at the same time.
typedef struct BusCaller BusCaller;

/// Connects to the bus at an address. Returns `NULL` on failure.
BusCaller *bus_caller_open(const char *address);

/// Disconnects.
void bus_caller_close(BusCaller *caller);

/// Owns the names of Plasma's job views and of login1 on the bus at an address, and answers their calls on the calling
/// thread until the bus ends. Returns `false` if it cannot.
bool bus_serve_desktop(const char *address);

/// Calls `org.freedesktop.DBus.Peer.Ping` of the process with a bus name `count` times, each after the reply to the
/// previous call. Returns whether all calls were answered.
bool bus_caller_ping(BusCaller *caller, const char *name, const char *path, long count);

/// Calls `org.freedesktop.DBus.Properties.Get` in the same way.
bool bus_caller_get(
    BusCaller *caller,
    const char *name,
    const char *path,
    const char *interface,
    const char *property,
    long count
);
