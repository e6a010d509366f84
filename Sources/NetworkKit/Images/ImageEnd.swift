#if Images
import Foundation

/// Tells whether the end of an image is there, in the formats that say where it is: gdk-pixbuf's loaders take some images that were
/// cut for whole, and fill the rest with grey.
enum ImageEnd {
    /// What is missing; `nil` when nothing is, or the format is another.
    static func problem(of data: Data) -> String? {
        if data.starts(with: [0xFF, 0xD8, 0xFF]) {
            return data.range(of: Data([0xFF, 0xD9]), options: .backwards) == nil
                ? "a JPEG without its end marker" : nil
        }
        if data.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
            // The chunk's checksum comes after its name.
            let end = data.range(of: Data("IEND".utf8), options: .backwards)
            return end.map { data.endIndex - $0.upperBound < 4 } ?? true ? "a PNG without its end chunk" : nil
        }
        if data.starts(with: Data("GIF8".utf8)) {
            // Zeros after the trailer are common.
            return data.last { $0 != 0 } == 0x3B ? nil : "a GIF without its trailer"
        }
        if data.starts(with: Data("BM".utf8)), data.count >= 6 {
            let size = data.dropFirst(2).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            return data.count < size ? "a BMP of \(data.count) bytes that should have \(size)" : nil
        }
        return nil
    }
}
#endif
