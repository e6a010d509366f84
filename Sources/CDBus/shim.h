#pragma once
#include <dbus/dbus.h>
/* eventfd, which wakes a connection's thread, is missing from Swift's Glibc module. */
#include <sys/eventfd.h>
