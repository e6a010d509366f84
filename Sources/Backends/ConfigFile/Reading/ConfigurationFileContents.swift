import Foundation

/// The bytes of a config file, read without ever blocking, and then as text.
struct ConfigurationFileContents {
    /// A config file is a page of text; what is larger is not one.
    static let largestSize = 1 << 20

    /// What is wrong with a file as a whole, or with a byte of it.
    struct Failure: Error {
        var position = TextPosition(line: 1, column: 1)
        var message: String
    }

    /// The text, without a byte order mark.
    var text: String

    init(path: String) throws(Failure) {
        try self.init(bytes: Self.bytes(ofFileAt: path))
    }

    init(bytes: [UInt8]) throws(Failure) {
        var bytes = bytes[...]
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw Failure(message: "this file is UTF-16; save it as UTF-8")
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        text = try Self.decoded(bytes)
    }

    /// The bytes of a file. A folder, a device or a FIFO is an error, found before anything is opened that could block or
    /// that opening could change.
    static func bytes(ofFileAt path: String) throws(Failure) -> [UInt8] {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw Failure(message: "this is not a path of a file") }
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure(errno, path: path) }
        try requireRegular(status)
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw failure(errno, path: path) }
        defer { close(descriptor) }
        guard fstat(descriptor, &status) == 0 else { throw failure(errno, path: path) }
        try requireRegular(status)

        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= largestSize {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno != EINTR {
                throw failure(errno, path: path)
            }
        }
        throw Failure(message: "this file is larger than 1 MiB; a config file is a page of text")
    }

    private static func requireRegular(_ status: stat) throws(Failure) {
        let found: String
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: found = "a folder"
        case S_IFIFO: found = "a FIFO"
        case S_IFSOCK: found = "a socket"
        default: found = "a device"
        }
        throw Failure(message: "this is \(found); expected a file")
    }

    private static func failure(_ code: Int32, path: String) -> Failure {
        switch code {
        case ENOENT:
            var status = stat()
            if lstat(path, &status) == 0 { return Failure(message: "this is a link to a file that does not exist") }
            return Failure(message: "there is no such file")
        case ENOTDIR: return Failure(message: "there is no such file: a part of the path is not a folder")
        case EACCES: return Failure(message: "not allowed to read this file; check its permissions and its folder's")
        default: return Failure(message: "the file cannot be read: \(String(cString: strerror(code)))")
        }
    }

    /// Decodes strictly, so that a message can point at the first byte that is wrong.
    private static func decoded(_ bytes: ArraySlice<UInt8>) throws(Failure) -> String {
        var position = TextPosition(line: 1, column: 1)
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = bytes.startIndex
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .emptyInput:
                return String(decoding: bytes, as: UTF8.self)
            case .error:
                let byte = String(bytes[offset], radix: 16, uppercase: true)
                throw Failure(
                    position: position,
                    message: "the byte 0x\(byte) is not valid UTF-8 here; save the file as UTF-8"
                )
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                guard isAllowed(scalar) else {
                    throw Failure(
                        position: position,
                        message: "the control character \(scalar.codePointName) is not allowed; remove it"
                    )
                }
                offset += encoded.count
                position.advance(over: scalar, endsLine: scalar == "\n")
            }
        }
    }

    /// The characters of YAML 1.1, section 5.1.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF:
            true
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// Such as `U+001B`.
    var codePointName: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
