import NetworkKit
import TestSupport

@testable import NetworkKitImages

@Suite struct ImageTests {
    /// An image of 3 × 2 different pixels.
    private static let picture = DecodedImage(
        width: 3,
        height: 2,
        rgba: Data([255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 128, 0, 0, 0, 0, 10, 20, 30, 40])
    )!

    /// Creates an image of noise, which does not compress, in another format.
    private static func convert(to format: String, arguments: [String] = []) async throws -> Data {
        let folder = try TemporaryDirectory()
        let file = folder.appending("image.\(format)")
        let noise = ["-size", "64x48", "xc:gray", "-seed", "1", "+noise", "Random"] + arguments + [file]
        let result = try await Command.run("convert", noise, package: "imagemagick")
        #expect(result.status == 0, "\(result.error)")
        return try Data(contentsOf: URL(filePath: file))
    }

    @Test func `Pixels survive a round trip`() throws {
        let png = try Self.picture.pngData()
        let image = try DecodedImage(decoding: png)
        #expect(image == Self.picture)
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "icon.png")
        try image.writePNG(to: file)
        #expect(try DecodedImage(decoding: Data(contentsOf: file)) == image)
    }

    /// A loader of another format claims the beginning of every BMP, and would be the first to be asked.
    @Test(.needs(.images)) func `The loader is chosen by the format`() async throws {
        let folder = try TemporaryDirectory()
        let list = try await Command.run("pkg-config", ["--variable=gdk_pixbuf_cache_file", "gdk-pixbuf-2.0"])
        var loaders = try String(contentsOfFile: list.output.trimmingCharacters(in: .newlines), encoding: .utf8)
        // gdk-pixbuf asks GIO for the type, if it was built so.
        for (own, claimed) in [(#""/* XPM */""#, #""BM""#), (#""image/x-xpixmap""#, #""image/bmp""#)] {
            loaders.replaceSubrange(try #require(loaders.firstRange(of: own)), with: claimed)
        }
        let changed = try folder.write(loaders, to: "loaders.cache")
        let file = folder.url.appending(path: "image.bmp")
        try await Self.convert(to: "bmp").write(to: file)
        for variables in [[], ["GDK_PIXBUF_MODULE_FILE=\(changed)"]] {
            let arguments = [try Command.built("test-probe"), "network", "image", file.absoluteString, "-"]
            let result = try await Command.run("env", variables + arguments)
            #expect(result.output.hasPrefix("64 × 48\n"), "\(result.output)\(result.error)")
        }
    }

    @Test(.needs(.images), arguments: ["png", "jpg", "gif", "bmp", "tif"])
    func `Images that are truncated or too large are errors`(format: String) async throws {
        let data = try await Self.convert(to: format)
        let whole = try DecodedImage(decoding: data, maximumPixels: 64 * 48)
        #expect((whole.width, whole.height) == (64, 48))
        #expect(throws: ImageError.tooLarge(width: 64, height: 48, maximumPixels: 3071)) {
            try DecodedImage(decoding: data, maximumPixels: 3071)
        }
        for count in [
            data.count - 1, data.count - 20, data.count * 3 / 4, data.count / 2, data.count / 4, 100, 20, 4, 1,
        ] {
            // A TIFF may lack bytes after its last pixel.
            if format == "tif", count > data.count / 2 { continue }
            #expect(throws: ImageError.self, "\(format), \(count) of \(data.count) bytes") {
                try DecodedImage(decoding: data.prefix(count))
            }
        }
    }

    @Test(.needs(.images)) func `A JPEG is written and turned as its camera was held`() throws {
        let (red, blue): ([UInt8], [UInt8]) = ([250, 5, 5, 0], [5, 5, 250, 255])
        let pixels = (0..<64 * 48).flatMap { $0 < 64 * 24 ? red : blue }
        let picture = try #require(DecodedImage(width: 64, height: 48, rgba: Data(pixels)))
        let (small, large) = (try picture.jpegData(quality: 0), try picture.jpegData(quality: Double.infinity))
        #expect(small.count < large.count)
        #expect(try picture.jpegData(quality: Double.nan).starts(with: [0xFF, 0xD8]))
        let image = try DecodedImage(decoding: large)
        #expect((image.width, image.height, image.channels) == (64, 48, 3))
        #expect(image.rgba[0] > 200 && image.rgba[2] < 50 && image.rgba[3] == 255)
        // Orientation 6: the top is at the right.
        let entry: [UInt8] = [1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
        let exif = Data("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1] + entry
        let segment = Data([0xFF, 0xE1, 0, UInt8(exif.count + 2)]) + exif
        let turned = try DecodedImage(decoding: large.prefix(2) + segment + large.dropFirst(2))
        #expect((turned.width, turned.height) == (48, 64))
        #expect(turned.rgba[0] < 50 && turned.rgba[47 * 4] > 200)
    }

    @Test(.needs(.images)) func `A JPEG with a whole thumbnail may be truncated`() async throws {
        let thumbnail = try await Self.convert(to: "jpg", arguments: ["-resize", "16x12"])
        let size = thumbnail.count + 8
        let segment = Data([0xFF, 0xE1, UInt8(size >> 8), UInt8(size & 0xFF)]) + Data("Exif\0\0".utf8) + thumbnail
        let picture = try await Self.convert(to: "jpg")
        let data = picture.prefix(2) + segment + picture.dropFirst(2)
        #expect(try DecodedImage(decoding: data).width == 64)
        for count in [data.count - 2, data.count * 3 / 4, segment.count + 100, segment.count + 2, segment.count - 9] {
            #expect(throws: ImageError.self, "\(count) of \(data.count) bytes") {
                try DecodedImage(decoding: data.prefix(count))
            }
        }
    }

    @Test func `What is no image, or an SVG, is not decoded`() {
        for text in ["hello", "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'></svg>"] {
            #expect(throws: ImageError.unreadable("it is not a PNG, JPEG, GIF, BMP, ICO, TIFF or WebP")) {
                try DecodedImage(decoding: Data(text.utf8))
            }
        }
        #expect(throws: ImageError.unreadable("the data is empty")) { try DecodedImage(decoding: Data()) }
    }

    @Test(.needs(.images), arguments: 1...5 as ClosedRange<UInt64>)
    func `Damage never ends the process`(seed: UInt64) async throws {
        var generator = SplitMix(state: seed)
        var errorCount = 0
        for format in ["png", "jpg", "gif", "bmp"] {
            let data = try await Self.convert(to: format)
            for _ in 0..<10 {
                var damaged = data
                for _ in 0..<4 {
                    let place = Int.random(in: 0..<damaged.count, using: &generator)
                    damaged[place] = .random(in: 0...255, using: &generator)
                }
                if (try? DecodedImage(decoding: damaged, maximumPixels: 1_000_000)) == nil { errorCount += 1 }
            }
        }
        #expect(errorCount > 0)
    }

    @Test func `A decompression bomb is rejected before memory is allocated`() throws {
        // A PNG of 30 000 × 30 000 pixels, of which none follows.
        let text = "iVBORw0KGgoAAAANSUhEUgAAdTAAAHUwCAIAAADpRW/tAAAACElEQVR4nAMAAAAAAUgGidIAAAAASUVORK5CYII="
        let bomb = try #require(Data(base64Encoded: text))
        let limit = DecodedImage.defaultMaximumPixels
        #expect(throws: ImageError.tooLarge(width: 30_000, height: 30_000, maximumPixels: limit)) {
            try DecodedImage(decoding: bomb)
        }
    }

    @Test(.needs(.images)) func `Only the first frame of an animation is decoded`() async throws {
        let frames = (0..<20).flatMap { ["(", "-size", "64x48", "xc:rgb(\($0 * 10),0,0)", ")"] }
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "animation.gif")
        let result = try await Command.run("convert", frames + [file.path], package: "imagemagick")
        #expect(result.status == 0, "\(result.error)")
        let data = try Data(contentsOf: file)
        #expect(ImageFormat.firstFrame(ofGIF: data).count < data.count / 5)
        let image = try DecodedImage(decoding: data)
        #expect((image.width, image.height) == (64, 48))
        #expect(image.rgba.prefix(4) == Data([0, 0, 0, 255]))
        for count in 0..<data.count { _ = ImageFormat.firstFrame(ofGIF: data.prefix(count)) }
    }

    @Test(.needs(.noWebPLoader)) func `The error of a WebP names the package of its loader`() {
        let error = #expect(throws: ImageError.self) {
            try DecodedImage(decoding: Data("RIFF\u{10}\0\0\0WEBPVP8 ".utf8) + Data(count: 1000))
        }
        #expect("\(error as Any)".contains("apt-get install webp-pixbuf-loader"), "\(error as Any)")
    }

    @Test(.needs(.images)) func `Decoding has a time limit`() async throws {
        let data = try await Self.convert(to: "jpg", arguments: ["-resize", "3000x3000!"])
        for _ in 0..<20 {
            #expect(throws: ImageError.tooSlow(limit: .zero)) { try DecodedImage(decoding: data, timeLimit: .zero) }
        }
        #expect(try DecodedImage(decoding: data, timeLimit: .seconds(1e15)).width == 3000)
    }

    @Test(arguments: [UInt8(0), 1, 3]) func `A bitmap that claims more than it has is an error`(compression: UInt8) {
        var bmp = Data("BM".utf8) + [154, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0]
        bmp += [0x40, 0x1F, 0, 0, 0x40, 0x1F, 0, 0, 1, 0, compression == 1 ? 8 : 24, 0, compression, 0, 0, 0]
        bmp += Data(count: 154 - bmp.count)
        #expect(throws: ImageError.self) { try DecodedImage(decoding: bmp) }
    }

    /// Not by one of Swift's, which would delay other tasks.
    @Test(.needs(.images), .timeLimit(.minutes(5))) func `A response is decoded by a thread of its own`() async throws {
        let data = try await Self.convert(to: "jpg", arguments: ["-resize", "3000x3000!"])
        let response = NetworkResponse(url: URL(string: "http://h")!, status: 200, data: data)
        func hasThread() throws -> Bool {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").contains {
                (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) == "image\n"
            }
        }
        var isFound = false
        for _ in 0..<20 where !isFound {
            let isDecoded = Locked(false)
            let work = Task {
                defer { isDecoded.withLock { $0 = true } }
                return try await response.image(timeLimit: .seconds(60))
            }
            while !isFound, !isDecoded.withLock({ $0 }) {
                isFound = try hasThread()
                await Task.yield()
            }
            #expect(try await work.value.width == 3000)
        }
        #expect(isFound)
    }
}
