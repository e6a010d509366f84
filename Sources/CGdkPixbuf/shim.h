/*
 * Hand-written declarations of the parts of gdk-pixbuf and GLib that this package uses. GLib's own headers need the
 * compiler option -pthread and a folder that depends on the architecture. SwiftPM gets the folder from pkg-config, but
 * warns about the option on every build. These declarations have been stable for more than ten years; a test compiles
 * this file together with the real headers, which finds every difference.
 */
#pragma once

#if !__has_include(<gdk-pixbuf-2.0/gdk-pixbuf/gdk-pixbuf.h>)
#error "gdk-pixbuf is missing: apt-get install libgdk-pixbuf-2.0-dev"
#endif

#include <stddef.h>

typedef int gboolean;
typedef void *gpointer;

/* GLib */

typedef struct _GBytes GBytes;
typedef struct _GError GError;
#ifndef __G_ERROR_H__
struct _GError {
    unsigned int domain;
    int code;
    char *message;
};
#endif

GBytes *g_bytes_new(const void *, size_t);
void g_bytes_unref(GBytes *);
void g_error_free(GError *);
void g_free(gpointer);

/* GObject */

typedef struct _GClosure GClosure;
typedef void (*GCallback)(void);
typedef void (*GClosureNotify)(gpointer, GClosure *);

void g_object_unref(gpointer);

/* gdk-pixbuf */

typedef struct _GdkPixbuf GdkPixbuf;
typedef struct _GdkPixbufLoader GdkPixbufLoader;

unsigned int gdk_pixbuf_error_quark(void);

GdkPixbufLoader *gdk_pixbuf_loader_new_with_type(const char *, GError **);
gboolean gdk_pixbuf_loader_write(GdkPixbufLoader *, const unsigned char *, size_t, GError **);
gboolean gdk_pixbuf_loader_close(GdkPixbufLoader *, GError **);
void gdk_pixbuf_loader_set_size(GdkPixbufLoader *, int, int);
GdkPixbuf *gdk_pixbuf_loader_get_pixbuf(GdkPixbufLoader *);

int gdk_pixbuf_get_width(const GdkPixbuf *);
int gdk_pixbuf_get_height(const GdkPixbuf *);
int gdk_pixbuf_get_n_channels(const GdkPixbuf *);
int gdk_pixbuf_get_rowstride(const GdkPixbuf *);
int gdk_pixbuf_get_bits_per_sample(const GdkPixbuf *);
const unsigned char *gdk_pixbuf_read_pixels(const GdkPixbuf *);

#ifndef GDK_PIXBUF_H
enum {
    GDK_COLORSPACE_RGB = 0,
    GDK_PIXBUF_ERROR_UNKNOWN_TYPE = 3,
    GDK_PIXBUF_ERROR_INCOMPLETE_ANIMATION = 6,
};
#endif

/* Enumeration parameters are declared as `unsigned int`, the type that compilers give them. */
GdkPixbuf *gdk_pixbuf_new_from_bytes(GBytes *, unsigned int, gboolean, int, int, int, int);
gboolean gdk_pixbuf_save_to_bufferv(GdkPixbuf *, char **, size_t *, const char *, char **, char **, GError **);
unsigned long g_signal_connect_data(gpointer, const char *, GCallback, gpointer, GClosureNotify, unsigned int);
