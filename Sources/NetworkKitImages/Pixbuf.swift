import CIndicatorGdkPixbuf
import Foundation
import IndicatorCore

// The only file that uses gdk-pixbuf.

/// gdk-pixbuf and the GLib below it, loaded when ``Pixbuf/problem`` is first read.
private let glib = Pixbuf.loaded.functions

enum Pixbuf {
    fileprivate static let loaded: (functions: CGdkPixbufFunctions, problem: String?) = {
        var functions = CGdkPixbufFunctions()
        let problem = load(&functions)
        return (functions, problem)
    }()

    /// Why gdk-pixbuf cannot be used. Only success is remembered: the process may have had no descriptor left.
    fileprivate static var problem: String? {
        var functions = CGdkPixbufFunctions()
        guard let problem = load(&functions) ?? loaded.problem else { return nil }
        return "gdk-pixbuf cannot be loaded: \(problem); run: apt-get install libgdk-pixbuf-2.0-0"
    }

    private static func load(_ functions: inout CGdkPixbufFunctions) -> String? {
        SharedLibrary.load("libgdk_pixbuf-2.0.so.0", &functions, cgdkpixbuf_find)
    }
}

/// Decodes with a loader, which rejects an image that is too large before allocating it, and stops between chunks when
/// the time is over.
enum PixbufDecoder {
    /// What the loader's signal handler is given.
    private final class Limit {
        let maximumPixels: Int
        var refused: (width: Int, height: Int)?

        init(maximumPixels: Int) {
            self.maximumPixels = maximumPixels
        }
    }

    /// Decodes on a thread of its own.
    static func decode(_ data: Data, maximumPixels: Int, timeLimit: Duration) async throws(ImageError) -> DecodedImage {
        try await withCheckedContinuation { continuation in
            let isStarted = ThreadStarter.start(named: "image") {
                continuation.resume(
                    returning: Result { () throws(ImageError) in
                        try decode(data, maximumPixels: maximumPixels, timeLimit: timeLimit)
                    }
                )
            }
            if isStarted { return }
            let problem = "could not create a thread: the process is at its limit"
            continuation.resume(returning: .failure(.unreadable(problem)))
        }.get()
    }

    /// Decodes on the caller's thread.
    static func decode(_ data: Data, maximumPixels: Int, timeLimit: Duration) throws(ImageError) -> DecodedImage {
        guard let format = ImageFormat(data) else {
            let reason = data.isEmpty ? "the data is empty" : "it is not a PNG, JPEG, GIF, BMP, ICO, TIFF or WebP"
            throw .unreadable(reason)
        }
        if let problem = format.problem(of: data) { throw .truncated(problem) }
        if let problem = Pixbuf.problem { throw .unreadable(problem) }
        let bytes = format == .gif ? ImageFormat.firstFrame(ofGIF: data) : data
        let limit = Limit(maximumPixels: maximumPixels)
        var error: UnsafeMutablePointer<CGdkPixbufError>?
        // Not by the bytes: the installed loaders of other formats would be asked, too.
        guard let loader = glib.gdk_pixbuf_loader_new_with_type(format.rawValue, &error) else {
            throw consume(error, format)
        }
        defer { glib.g_object_unref(UnsafeMutableRawPointer(loader)) }
        connect(limit, to: loader)
        let failure = withExtendedLifetime(limit) { load(bytes, into: loader, limit: limit, timeLimit) }
        if let refused = limit.refused {
            throw .tooLarge(width: refused.width, height: refused.height, maximumPixels: maximumPixels)
        }
        if let failure { throw failure }
        guard let pixbuf = glib.gdk_pixbuf_loader_get_pixbuf(loader) else {
            throw .unreadable("it contains no picture")
        }
        // As the camera was held.
        guard let upright = glib.gdk_pixbuf_apply_embedded_orientation(pixbuf) else {
            throw .unreadable("out of memory")
        }
        defer { glib.g_object_unref(UnsafeMutableRawPointer(upright)) }
        return try image(upright, maximumPixels: maximumPixels)
    }

    /// Small, because the time limit is only checked between chunks.
    private static var pieceSize: Int { 4096 }

    private static func connect(_ limit: Limit, to loader: OpaquePointer) {
        typealias SizePrepared =
            @convention(c) (OpaquePointer?, Int32, Int32, UnsafeMutableRawPointer?) -> Void
        let handler: SizePrepared = { loader, width, height, data in
            guard let data else { return }
            let limit = Unmanaged<Limit>.fromOpaque(data).takeUnretainedValue()
            let (pixels, overflows) = Int(width).multipliedReportingOverflow(by: Int(height))
            guard overflows || pixels > limit.maximumPixels else { return }
            limit.refused = (Int(width), Int(height))
            // A size of zero makes the loaders stop before they allocate.
            glib.gdk_pixbuf_loader_set_size(loader, 0, 0)
        }
        _ = glib.g_signal_connect_data(
            UnsafeMutableRawPointer(loader),
            "size-prepared",
            unsafeBitCast(handler, to: CGdkPixbufCallback.self),
            Unmanaged.passUnretained(limit).toOpaque(),
            nil,
            0
        )
    }

    /// Writes the bytes to the loader in chunks. Closes the loader in any case, as gdk-pixbuf requires.
    private static func load(
        _ data: Data,
        into loader: OpaquePointer,
        limit: Limit,
        _ timeLimit: Duration
    ) -> ImageError? {
        let begin = ContinuousClock.now
        var failure: ImageError?
        data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            var start = 0
            while start < bytes.count, failure == nil, limit.refused == nil {
                guard ContinuousClock.now - begin < timeLimit else {
                    failure = .tooSlow(limit: timeLimit)
                    return
                }
                let piece = bytes[start..<min(start + pieceSize, bytes.count)]
                var error: UnsafeMutablePointer<CGdkPixbufError>?
                let base = UnsafeRawBufferPointer(rebasing: piece).baseAddress?.assumingMemoryBound(to: UInt8.self)
                if glib.gdk_pixbuf_loader_write(loader, base, UInt(piece.count), &error) == 0 {
                    failure = consume(error)
                }
                start += piece.count
            }
        }
        var error: UnsafeMutablePointer<CGdkPixbufError>?
        if glib.gdk_pixbuf_loader_close(loader, &error) == 0 {
            let closing = consume(error)
            if failure == nil { failure = closing }
        }
        return failure
    }

    private static func consume(_ error: UnsafeMutablePointer<CGdkPixbufError>?, _ format: ImageFormat? = nil)
        -> ImageError
    {
        guard let error else { return .unreadable("no reason given") }
        defer { glib.g_error_free(error) }
        let reason = error.pointee.message.map { String(cString: $0) } ?? "no reason given"
        guard error.pointee.domain == glib.gdk_pixbuf_error_quark() else { return .unreadable(reason) }
        return switch error.pointee.code {
        case CGDKPIXBUF_ERROR_INCOMPLETE_ANIMATION: .truncated(reason)
        case CGDKPIXBUF_ERROR_UNKNOWN_TYPE where format == .webp:
            .unreadable("gdk-pixbuf has no loader for WebP; run: apt-get install webp-pixbuf-loader")
        default: .unreadable(reason)
        }
    }

    private static func image(_ pixbuf: OpaquePointer, maximumPixels: Int) throws(ImageError) -> DecodedImage {
        let width = Int(glib.gdk_pixbuf_get_width(pixbuf))
        let height = Int(glib.gdk_pixbuf_get_height(pixbuf))
        let channels = Int(glib.gdk_pixbuf_get_n_channels(pixbuf))
        let stride = Int(glib.gdk_pixbuf_get_rowstride(pixbuf))
        guard width * height <= maximumPixels else {
            throw .tooLarge(width: width, height: height, maximumPixels: maximumPixels)
        }
        guard let pixels = glib.gdk_pixbuf_read_pixels(pixbuf), channels == 3 || channels == 4,
            glib.gdk_pixbuf_get_bits_per_sample(pixbuf) == 8
        else { throw .unreadable("unsupported pixel format") }
        var rgba = Data(count: width * height * 4)
        rgba.withUnsafeMutableBytes { (buffer: UnsafeMutableRawBufferPointer) in
            guard var target = buffer.bindMemory(to: UInt8.self).baseAddress else { return }
            for row in 0..<height {
                var source = pixels + row * stride
                if channels == 4 {
                    target.update(from: source, count: width * 4)
                    target += width * 4
                    continue
                }
                for _ in 0..<width {
                    target.update(from: source, count: 3)
                    target[3] = 255
                    target += 4
                    source += 3
                }
            }
        }
        guard let image = DecodedImage(width: width, height: height, channels: channels, rgba: rgba) else {
            throw .unreadable("it has no pixels")
        }
        return image
    }
}

enum PixbufEncoder {
    /// - Parameters:
    ///   - format: gdk-pixbuf's name.
    ///   - quality: that of a JPEG, 0…100.
    static func data(_ image: DecodedImage, _ format: String, quality: Int? = nil) throws(ImageError) -> Data {
        guard image.width <= Int(Int32.max) / 4, image.height <= Int(Int32.max) else {
            throw .unwritable("it is too large")
        }
        if let problem = Pixbuf.problem { throw .unwritable(problem) }
        var pixels = image.rgba
        if image.channels == 3 {
            for pixel in 0..<(pixels.count / 4) { pixels[pixel * 4 + 3] = 255 }
        }
        let bytes = pixels.withUnsafeBytes { (buffer: UnsafeRawBufferPointer) in
            glib.g_bytes_new(buffer.baseAddress, UInt(buffer.count))
        }
        guard let bytes else { throw .unwritable("out of memory") }
        defer { glib.g_bytes_unref(bytes) }
        let width = Int32(image.width)
        guard
            let pixbuf = glib.gdk_pixbuf_new_from_bytes(
                bytes,
                CGDKPIXBUF_COLORSPACE_RGB,
                1,
                8,
                width,
                Int32(image.height),
                width * 4
            )
        else { throw .unwritable("gdk-pixbuf rejected it") }
        defer { glib.g_object_unref(UnsafeMutableRawPointer(pixbuf)) }
        var buffer: UnsafeMutablePointer<CChar>?
        var count: UInt = 0
        var error: UnsafeMutablePointer<CGdkPixbufError>?
        let key = quality.flatMap { _ in strdup("quality") }
        let value = quality.flatMap { strdup("\($0)") }
        defer { for text in [key, value] { free(text) } }
        var (keys, values) = ([key, nil], [value, nil])
        guard glib.gdk_pixbuf_save_to_bufferv(pixbuf, &buffer, &count, format, &keys, &values, &error) != 0, let buffer
        else {
            defer { if let error { glib.g_error_free(error) } }
            throw .unwritable(error?.pointee.message.map { String(cString: $0) } ?? "no reason given")
        }
        defer { glib.g_free(buffer) }
        return Data(bytes: buffer, count: Int(count))
    }
}
