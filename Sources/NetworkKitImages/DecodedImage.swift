public import Foundation
public import NetworkKit

/// The pixels of a decoded image.
///
/// gdk-pixbuf decodes PNG, JPEG, GIF and other animations (the first frame), BMP, ICO, TIFF, and WebP if a loader is
/// installed (Debian's `webp-pixbuf-loader`). A picture is turned as its EXIF orientation says. Other formats,
/// including SVG, are errors: a small file can take unlimited time to decode.
public struct DecodedImage: Hashable, Sendable {
    /// The default limit on the number of pixels: 64 million (256 MB).
    @usableFromInline package static let defaultMaximumPixels = 64_000_000

    /// The number of columns.
    public let width: Int
    /// The number of rows.
    public let height: Int
    /// The number of channels of the image file: 3 (red, green, blue), or 4 with alpha.
    public let channels: Int
    /// The pixels, row by row from the top left: red, green, blue and alpha (not premultiplied), one byte each.
    /// `width * height * 4` bytes.
    public let rgba: Data

    /// Creates an image from its pixels; `nil` when their number is not `width * height`.
    package init?(width: Int, height: Int, channels: Int = 4, rgba: Data) {
        guard width > 0, height > 0, channels == 3 || channels == 4 else { return nil }
        let (pixels, overflows) = width.multipliedReportingOverflow(by: height)
        guard !overflows, rgba.count.isMultiple(of: 4), rgba.count / 4 == pixels else { return nil }
        self.width = width
        self.height = height
        self.channels = channels
        self.rgba = rgba
    }

    /// Decodes an image. Blocks; ``NetworkKit/NetworkResponse/image(maximumPixels:timeLimit:)`` does not.
    ///
    /// - Parameters:
    ///   - data: the bytes of a file.
    ///   - maximumPixels: the maximum number of pixels. Default: 64 million. A larger image is rejected before its
    ///     memory is allocated.
    ///   - timeLimit: the maximum time; decoding stops after the next 4 KiB of the data. Default 10 s.
    /// - Throws: ``ImageError``.
    public init(
        decoding data: Data,
        maximumPixels: Int = defaultMaximumPixels,
        timeLimit: Duration = .seconds(10)
    ) throws(ImageError) {
        self = try PixbufDecoder.decode(data, maximumPixels: maximumPixels, timeLimit: timeLimit)
    }

    /// The image as a PNG file, with alpha when the image has four channels.
    ///
    /// - Throws: ``ImageError/unwritable(_:)``.
    public func pngData() throws(ImageError) -> Data {
        try PixbufEncoder.data(self, "png")
    }

    /// The image as a JPEG file, without alpha: the colors of transparent pixels are visible.
    ///
    /// - Parameter quality: 0…1. Default 0.8.
    /// - Throws: ``ImageError/unwritable(_:)``.
    public func jpegData(quality: Double = 0.8) throws(ImageError) -> Data {
        try PixbufEncoder.data(self, "jpeg", quality: Int(max(0, min(1, quality)) * 100))
    }

    /// Writes the image as a PNG file, for example to use it as the icon of a desktop notification.
    ///
    /// - Throws: ``ImageError/unwritable(_:)``, or what writing a file throws.
    public func writePNG(to url: URL) throws {
        try pngData().write(to: url, options: .atomic)
    }
}

/// Why an image cannot be decoded or written.
public enum ImageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The data is not an image in a supported format, or is damaged.
    case unreadable(String)
    /// The image ends before all of its pixels.
    case truncated(String)
    /// The image has more pixels than allowed.
    case tooLarge(width: Int, height: Int, maximumPixels: Int)
    /// The decoding took longer than allowed.
    case tooSlow(limit: Duration)
    /// The image cannot be written.
    case unwritable(String)

    /// What is wrong.
    public var description: String {
        switch self {
        case .unreadable(let reason): "the image cannot be read: \(reason)"
        case .truncated(let reason): "the image is incomplete: \(reason)"
        case .tooLarge(let width, let height, let maximumPixels):
            "the image has \(width) × \(height) pixels, and at most \(maximumPixels) are allowed; "
                + "raise maximumPixels to allow it"
        case .tooSlow(let limit): "the image took longer than \(limit) to decode; raise timeLimit to allow it"
        case .unwritable(let reason): "the image cannot be written: \(reason)"
        }
    }
}

extension NetworkResponse {
    /// The body as an image, which is decoded on a thread of its own.
    ///
    /// - Parameters:
    ///   - maximumPixels: the maximum number of pixels. Default: 64 million.
    ///   - timeLimit: the maximum time. Default 10 s.
    /// - Throws: ``ImageError``.
    public func image(
        maximumPixels: Int = DecodedImage.defaultMaximumPixels,
        timeLimit: Duration = .seconds(10)
    ) async throws(ImageError) -> DecodedImage {
        try await PixbufDecoder.decode(data, maximumPixels: maximumPixels, timeLimit: timeLimit)
    }
}
