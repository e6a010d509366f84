#pragma once
/* For POLLRDHUP. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
#include <sys/eventfd.h>

/*
 * The eventfd that wakes a connection's thread is missing from Swift's Glibc module. This is a function because Swift
 * exposes a macro that several modules include, such as EFD_CLOEXEC, to a file through the first of them only.
 */
static inline int indicator_mqtt_make_event_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
