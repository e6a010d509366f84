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
 * What wakes the thread of a connection; Swift's Glibc module leaves it out. A function of our own: of what several
 * modules include, such as EFD_CLOEXEC, Swift shows a file only the first.
 */
static inline int indicator_mqtt_make_event_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
