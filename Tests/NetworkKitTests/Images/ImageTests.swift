#if Images
import Foundation
import HTTPTypes
import NetworkKit
import Testing

@Suite struct ImageTests {
    /// An image of 3 × 2 pixels, each another.
    private static let picture = DecodedImage(
        width: 3,
        height: 2,
        rgba: Data([
            255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 128, 0, 0, 0, 0, 10, 20, 30, 40,
        ])
    )!

    /// Makes an image of noise, so that it does not compress, in another format (apt-get install imagemagick).
    private static func convert(to format: String, arguments: [String] = []) async throws -> Data {
        let folder = try TestFolder()
        let target = folder.url.appending(path: "image.\(format)")
        _ = try await Python.run(
            "import subprocess, sys; subprocess.run(\(["convert", "-size", "64x48", "xc:gray", "-seed", "1", "+noise", "Random"] + arguments + [target.path]), check=True)"
        )
        return try Data(contentsOf: target)
    }

    @Test func pixelsAndBack() throws {
        let png = try Self.picture.pngData()
        let image = try DecodedImage(decoding: png)
        #expect(image == Self.picture)
        let folder = try TestFolder()
        let file = folder.url.appending(path: "icon.png")
        try image.writePNG(to: file)
        #expect(try DecodedImage(decoding: Data(contentsOf: file)) == image)
    }

    @Test func aPNGThatAnotherProgramWrote() throws {
        // One red pixel, 8-bit RGB.
        let png = try #require(
            Data(
                base64Encoded:
                    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVQI12P4z8AAAAMBAQAY3Y2wAAAAAElFTkSuQmCC"
            )
        )
        let image = try DecodedImage(decoding: png)
        #expect((image.width, image.height, image.channels) == (1, 1, 3))
        #expect(image.rgba.count == 4)
        #expect(image.rgba[3] == 255)
    }

    @Test(arguments: ["png", "jpg", "gif", "bmp", "tif"])
    func truncatedImagesAreErrors(format: String) async throws {
        let data = try await Self.convert(to: format)
        let whole = try DecodedImage(decoding: data)
        #expect((whole.width, whole.height) == (64, 48))
        for count in [
            data.count - 1, data.count - 20, data.count * 3 / 4, data.count / 2, data.count / 4, 100, 20, 4, 1,
        ] {
            // A byte after the last pixel of a TIFF or of a JPEG's marker may be missing without loss of a pixel.
            if format == "tif", count > data.count / 2 { continue }
            #expect(throws: ImageError.self, "\(format), \(count) of \(data.count) bytes") {
                try DecodedImage(decoding: data.prefix(count))
            }
        }
    }

    @Test func aProgressiveJPEGThatIsTruncatedIsAnError() async throws {
        let data = try await Self.convert(to: "jpg", arguments: ["-interlace", "Plane"])
        #expect(try DecodedImage(decoding: data).width == 64)
        for count in [data.count - 2, data.count * 3 / 4, data.count / 2] {
            #expect(throws: ImageError.self) { try DecodedImage(decoding: data.prefix(count)) }
        }
    }

    @Test func malformedImagesAreErrors() async throws {
        #expect(throws: ImageError.self) { try DecodedImage(decoding: Data()) }
        #expect(throws: ImageError.self) { try DecodedImage(decoding: Data("hello, this is no image".utf8)) }
        #expect(throws: ImageError.self) { try DecodedImage(decoding: Data(repeating: 0xFF, count: 10_000)) }
        var damaged = try await Self.convert(to: "png")
        damaged[damaged.count / 2] ^= 0xFF
        #expect(throws: ImageError.self) { try DecodedImage(decoding: damaged) }
    }

    @Test func damageNeverEndsTheProcess() async throws {
        var generator = SystemRandomNumberGenerator()
        for format in ["png", "jpg", "gif", "bmp"] {
            let data = try await Self.convert(to: format)
            for _ in 0..<50 {
                var damaged = data
                for _ in 0..<4 { damaged[Int.random(in: 0..<damaged.count, using: &generator)] = .random(in: 0...255) }
                _ = try? DecodedImage(decoding: damaged, maximumPixels: 1_000_000)
            }
        }
    }

    @Test func imagesThatAreTooLargeAreErrors() async throws {
        for format in ["png", "jpg", "gif", "bmp", "tif"] {
            let data = try await Self.convert(to: format)
            #expect(throws: ImageError.tooLarge(width: 64, height: 48, maximumPixels: 3071), "\(format)") {
                try DecodedImage(decoding: data, maximumPixels: 3071)
            }
            #expect(try DecodedImage(decoding: data, maximumPixels: 3072).width == 64)
        }
    }

    @Test func aBombIsRefusedBeforeMemoryIsTaken() async throws {
        // 30 000 × 30 000 pixels in a file of some kilobytes.
        let script = """
            import base64, struct, sys, zlib
            def chunk(name, data):
                return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
            compressor = zlib.compressobj(9)
            row = bytes(1 + 30000 * 3)
            rows = b"".join(compressor.compress(row) for _ in range(300)) + compressor.flush()
            png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0))
            print(base64.b64encode(png + chunk(b"IDAT", rows) + chunk(b"IEND", b"")).decode())
            """
        let text = try await Python.run(script)
        let bomb = try #require(Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(throws: ImageError.tooLarge(width: 30_000, height: 30_000, maximumPixels: DecodedImage.defaultMaximumPixels)) {
            try DecodedImage(decoding: bomb)
        }
    }

    @Test func imagesOfResponses() throws {
        let response = NetworkResponse(url: URL(string: "http://h")!, status: 200, data: try Self.picture.pngData())
        #expect(try response.image() == Self.picture)
    }
}
#endif
