import Foundation

/// The supported formats, recognised by their first bytes. Their decoding time is proportional to the number of pixels.
/// gdk-pixbuf may have loaders for others, but a few kilobytes of SVG can take minutes.
enum ImageFormat: String {
    // gdk-pixbuf's names.
    case png, jpeg, gif, bmp, tiff, webp
    case icon = "ico"

    init?(_ data: Data) {
        let signatures: [(ImageFormat, [UInt8])] = [
            (.png, [0x89, 0x50, 0x4E, 0x47]), (.jpeg, [0xFF, 0xD8, 0xFF]), (.gif, Array("GIF8".utf8)),
            (.bmp, Array("BM".utf8)), (.icon, [0, 0, 1, 0]), (.tiff, Array("II*\0".utf8)), (.tiff, Array("MM\0*".utf8)),
        ]
        if data.starts(with: "RIFF".utf8), data.dropFirst(8).starts(with: "WEBP".utf8) {
            self = .webp
        } else if let known = signatures.first(where: { data.starts(with: $0.1) }) {
            self = known.0
        } else {
            return nil
        }
    }

    /// Why the image is incomplete, in formats that allow detecting it; `nil` when it is not. gdk-pixbuf accepts some
    /// truncated images and fills the rest with grey.
    func problem(of data: Data) -> String? {
        switch self {
        case .jpeg:
            let pixels = data.dropFirst(Self.jpegHeaderCount(data))
            return pixels.range(of: Data([0xFF, 0xD9]), options: .backwards) == nil
                ? "a JPEG without its end marker" : nil
        case .png:
            // The chunk's checksum comes after its name.
            let end = data.range(of: Data("IEND".utf8), options: .backwards)
            return end.map { data.endIndex - $0.upperBound < 4 } ?? true ? "a PNG without its end chunk" : nil
        case .gif:
            // Zeros after the trailer are common.
            return data.last { $0 != 0 } == 0x3B ? nil : "a GIF without its trailer"
        case .bmp:
            let size = Self.bitmapSize(data)
            return data.count < size ? "a BMP of \(data.count) bytes that should have at least \(size)" : nil
        case .icon, .tiff, .webp:
            return nil
        }
    }

    /// The length of the segments before the pixels of a JPEG: a thumbnail in one of them has an end marker, too.
    private static func jpegHeaderCount(_ data: Data) -> Int {
        let bytes = [UInt8](data)
        var position = 2
        while position + 3 < bytes.count, bytes[position] == 0xFF, bytes[position + 1] != 0xDA {
            // Any number of bytes fills the space before a marker.
            let isFill = bytes[position + 1] == 0xFF
            position += isFill ? 1 : 2 + (Int(bytes[position + 2]) << 8 | Int(bytes[position + 3]))
        }
        return position
    }

    /// The minimum length of a BMP in bytes, computed from its header.
    private static func bitmapSize(_ data: Data) -> Int {
        let bytes = [UInt8](data.prefix(54))
        func number(_ offset: Int, _ count: Int) -> Int {
            guard offset + count <= bytes.count else { return 0 }
            return bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let isOld = number(14, 4) == 12
        let width = isOld ? number(18, 2) : number(18, 4)
        let height = isOld ? number(20, 2) : abs(Int(Int32(truncatingIfNeeded: number(22, 4))))
        let bits = isOld ? number(24, 2) : number(28, 2)
        let isRunLength = !isOld && [1, 2].contains(number(30, 4))
        // A run-length encoded row has at least a two-byte end marker.
        let row = isRunLength ? 2 : (width * bits + 31) / 32 * 4
        let (pixels, overflows) = row.multipliedReportingOverflow(by: height)
        return overflows ? .max : max(number(2, 4), number(10, 4) &+ pixels)
    }

    /// Removes all frames but the first, because gdk-pixbuf would decode them too.
    static func firstFrame(ofGIF data: Data) -> Data {
        let bytes = [UInt8](data)
        var position = 13
        func byte(_ offset: Int) -> Int { offset < bytes.count ? Int(bytes[offset]) : 0 }
        func colors(_ flags: Int) -> Int { flags & 0x80 == 0 ? 0 : 3 << (flags & 7 + 1) }
        func skipBlocks() {
            while byte(position) > 0 { position += byte(position) + 1 }
            position += 1
        }
        position += colors(byte(10))
        while position < bytes.count {
            switch bytes[position] {
            case 0x21:
                position += 2
                skipBlocks()
            case 0x2C:
                position += 10 + colors(byte(position + 9)) + 1
                skipBlocks()
                return data.prefix(position) + [0x3B]
            default:
                return data
            }
        }
        return data
    }
}
