import IndicatorCore
import Foundation

/// The search for the config file, in the places that ``IndicatorConfiguration`` documents.
///
/// Empty variables, and relative paths in XDG variables, are ignored. Without the variables, the folders are
/// `~/.config` and `/etc/xdg` (XDG Base Directory Specification 0.8).
extension ConfigurationSource {
    /// The variable that names the config file.
    static let fileVariable = "INDICATOR_CONFIG"

    /// The path that the app or the variable gives; `nil` if the file may be at any of the usual places.
    var givenPath: String? {
        let variable = environment[Self.fileVariable] ?? ""
        return (path ?? (variable.isEmpty ? nil : variable)).map { HomeFolder.expanding($0, in: environment) }
    }

    /// The source with an absolute path, for an app that changes its folder while it follows changes of the file.
    package var withAbsolutePath: Self {
        var source = self
        let absolute = { HomeFolder.absolute($0, in: environment) }
        source.path = path.map(absolute)
        source.environment[Self.fileVariable] = environment[Self.fileVariable].map(absolute)
        return source
    }

    /// The paths where the file may be, in order.
    var fileCandidates: [String] {
        if let givenPath { return [givenPath] }
        let given = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = given ?? HomeFolder.path(in: environment).map { "\($0)/.config" }
        let others = (environment["XDG_CONFIG_DIRS"] ?? "").split(separator: ":").map(String.init)
            .filter { $0.hasPrefix("/") }
        let isFolderName = !["", ".", ".."].contains(applicationName) && !applicationName.contains("/")
        let names = (isFolderName ? [applicationName] : []) + ["indicator"]
        return ([home].compactMap(\.self) + (others.isEmpty ? ["/etc/xdg"] : others)).flatMap { base in
            names.flatMap { name in ["yaml", "yml", "json"].map { "\(base)/\(name)/indicator.\($0)" } }
        }
    }

    /// The path of the file, if there is one.
    package func locateFile() -> String? {
        givenPath ?? fileCandidates.first(where: Self.fileExists)
    }

    /// Whether there is a file at a path. A broken link counts, so that it is reported to the user.
    package static func fileExists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 || errno == EACCES
    }
}

/// Reads the text of a config file, without blocking.
enum ConfigurationFile {
    /// The largest size of a config file, in bytes. Real ones have about a page.
    static let largestSize = 128 << 10

    /// The text of a regular file that only the user and root can change.
    static func text(at path: String) throws(ConfigurationError) -> String {
        func problem(_ message: String) -> ConfigurationError { ConfigurationError(.file(path: path, nil), message) }
        func problem(_ code: CInt) -> ConfigurationError {
            problem("the file cannot be read: \(String(cString: strerror(code)))")
        }
        guard !path.isEmpty, !path.utf8.contains(0) else { throw problem("this is not the path of a file") }
        let descriptor = StandardStreams.excluding(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY))
        guard descriptor >= 0 else { throw problem(errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw problem(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw problem("this is not a file, but a folder or device")
        }
        // Who can replace the file, or a link to it, cannot make one that passes.
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            let expected = "expected \(geteuid()) or root (chown); it is not used"
            throw problem("this file belongs to user \(status.st_uid), \(expected)")
        }
        // A group with the user's own number has no other members (user private groups, as in Debian and Fedora).
        let isPrivateGroup = status.st_gid == geteuid() && status.st_gid == getegid()
        guard status.st_mode & (isPrivateGroup ? S_IWOTH : S_IWOTH | S_IWGRP) == 0 else {
            throw problem("this file can be written by other users (chmod go-w); it is not used")
        }
        // At every launch: `FileHandle` would load 0.2 MiB of code.
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 16 << 10))
        while bytes.count <= largestSize {
            let count = read(descriptor, &piece, piece.count)
            if count == 0 { return try text(of: bytes, path: path) }
            if count > 0 { bytes += piece[..<count] } else if errno != EINTR { throw problem(errno) }
        }
        throw problem("this file is larger than 128 KiB; a config file is a page of text")
    }

    /// The text without a byte order mark. Strict: a message points at the first invalid byte, which becomes U+FFFD, or
    /// at a character that no text has, and of which ``ConfigurationNode`` needs some.
    static func text(of bytes: [UInt8], path: String) throws(ConfigurationError) -> String {
        let text = String(decoding: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...], as: UTF8.self)
        let isForbidden = { (scalar: Unicode.Scalar) in
            scalar == "\u{FFFD}" || scalar == "\u{FEFF}" || scalar.properties.isNoncharacterCodePoint
                || scalar.properties.generalCategory == .control && !"\t\n\r\u{85}".unicodeScalars.contains(scalar)
        }
        guard let index = text.unicodeScalars.firstIndex(where: isForbidden) else { return text }
        let lines = text[..<index].split(omittingEmptySubsequences: false) { $0.isNewline }
        let position = TextPosition(line: lines.count, column: (lines.last?.unicodeScalars.count ?? 0) + 1)
        let scalar = text.unicodeScalars[index]
        let fault = "the character \(QuotedText.codePoint(scalar)) is not allowed here; remove it"
        let isInvalid = scalar == "\u{FFFD}" && String(validating: bytes, as: UTF8.self) == nil
        let message = isInvalid ? "this is not valid UTF-8; save the file as UTF-8" : fault
        throw ConfigurationError(.file(path: path, position), message)
    }
}
