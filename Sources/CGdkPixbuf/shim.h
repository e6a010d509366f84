/*
 * The parts of gdk-pixbuf, and of the GLib below it, that this package uses, under names of its own: an app may include
 * the real headers, and a C type has one definition for all that a compiler sees. Nothing is linked. A test compares
 * each type, value and function with the real headers.
 */
#pragma once

typedef struct CGdkPixbuf CGdkPixbuf;
typedef struct CGdkPixbufBytes CGdkPixbufBytes;
typedef struct CGdkPixbufClosure CGdkPixbufClosure;
typedef struct CGdkPixbufLoader CGdkPixbufLoader;
typedef __SIZE_TYPE__ CGdkPixbufSize;
typedef void (*CGdkPixbufCallback)(void);
typedef struct {
    unsigned int domain;
    int code;
    char *message;
} CGdkPixbufError;
#define CGDKPIXBUF_COLORSPACE_RGB 0u
#define CGDKPIXBUF_ERROR_UNKNOWN_TYPE 3
#define CGDKPIXBUF_ERROR_INCOMPLETE_ANIMATION 6

/* F(result, name, arguments). Enumerations have the type that compilers give them. */
#define CGDKPIXBUF_FUNCTIONS(F)                                                                                        \
    F(CGdkPixbufBytes *, g_bytes_new, (const void *, CGdkPixbufSize))                                                  \
    F(void, g_bytes_unref, (CGdkPixbufBytes *))                                                                        \
    F(void, g_error_free, (CGdkPixbufError *))                                                                         \
    F(void, g_free, (void *))                                                                                          \
    F(void, g_object_unref, (void *))                                                                                  \
    F(unsigned long, g_signal_connect_data,                                                                            \
      (void *, const char *, CGdkPixbufCallback, void *, void (*)(void *, CGdkPixbufClosure *), unsigned int))         \
    F(unsigned int, gdk_pixbuf_error_quark, (void))                                                                    \
    F(CGdkPixbufLoader *, gdk_pixbuf_loader_new_with_type, (const char *, CGdkPixbufError **))                         \
    F(int, gdk_pixbuf_loader_write, (CGdkPixbufLoader *, const unsigned char *, CGdkPixbufSize, CGdkPixbufError **))   \
    F(int, gdk_pixbuf_loader_close, (CGdkPixbufLoader *, CGdkPixbufError **))                                          \
    F(void, gdk_pixbuf_loader_set_size, (CGdkPixbufLoader *, int, int))                                                \
    F(CGdkPixbuf *, gdk_pixbuf_loader_get_pixbuf, (CGdkPixbufLoader *))                                                \
    F(CGdkPixbuf *, gdk_pixbuf_apply_embedded_orientation, (CGdkPixbuf *))                                             \
    F(int, gdk_pixbuf_get_width, (const CGdkPixbuf *))                                                                 \
    F(int, gdk_pixbuf_get_height, (const CGdkPixbuf *))                                                                \
    F(int, gdk_pixbuf_get_n_channels, (const CGdkPixbuf *))                                                            \
    F(int, gdk_pixbuf_get_rowstride, (const CGdkPixbuf *))                                                             \
    F(int, gdk_pixbuf_get_bits_per_sample, (const CGdkPixbuf *))                                                       \
    F(const unsigned char *, gdk_pixbuf_read_pixels, (const CGdkPixbuf *))                                             \
    F(CGdkPixbuf *, gdk_pixbuf_new_from_bytes, (CGdkPixbufBytes *, unsigned int, int, int, int, int, int))             \
    F(int, gdk_pixbuf_save_to_bufferv,                                                                                 \
      (CGdkPixbuf *, char **, CGdkPixbufSize *, const char *, char **, char **, CGdkPixbufError **))

typedef struct {
#define F(result, name, arguments) result (*name) arguments;
    CGDKPIXBUF_FUNCTIONS(F)
#undef F
} CGdkPixbufFunctions;

/* Looks the functions up with `find`, dlsym(3). Returns the name of one that the library lacks; NULL if it has all. */
static inline const char *
cgdkpixbuf_find(CGdkPixbufFunctions *functions, void *(*find)(void *, const char *), void *library) {
#define F(result, name, arguments)                                                                                     \
    if (!(functions->name = (result (*) arguments)find(library, #name))) return #name;
    CGDKPIXBUF_FUNCTIONS(F)
#undef F
    return (const char *)0;
}
