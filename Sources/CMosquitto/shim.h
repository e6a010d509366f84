#pragma once
/* For POLLRDHUP. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mosquitto.h>
#include <mqtt_protocol.h>
/* What wakes the thread of a connection; Swift's Glibc module leaves it out. */
#include <poll.h>
#include <sys/eventfd.h>
