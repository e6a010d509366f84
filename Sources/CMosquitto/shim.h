#pragma once
/* For POLLRDHUP. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <poll.h>
