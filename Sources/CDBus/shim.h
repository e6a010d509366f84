#pragma once
#include <dbus/dbus.h>
/* What wakes the thread of a connection; Swift's Glibc module leaves it out. */
#include <sys/eventfd.h>
