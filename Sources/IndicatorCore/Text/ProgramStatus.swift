import Foundation

/// A report of the Program Status Protocol (OSC 7501): what a program says of its own work, or of a part of it.
///
/// Terminals read it from an escape sequence, and ``ProgramReports`` from a socket. It is what revisions 0.3 and 0.4 of
/// the specification share (superlogical.com/rex/docs/build/program-status).
package struct ProgramStatus: Sendable, Hashable {
    /// What the program is doing: nothing, its work, or waiting for the user; that its work has succeeded or failed; or
    /// that the record, and those below it, are removed.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case idle, working, blocked, done, error, clear
    }

    /// What a blocked program waits for.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case permission, question, auth
    }

    /// The longest sequence, and the longest datagram of ``ProgramReports``, in bytes.
    package static var sequenceLimit: Int { 4096 }
    private static var nameLimit: Int { 32 }
    private static var titleLimit: Int { 192 }
    private static var messageLimit: Int { 2048 }

    /// What the program is doing.
    package var state: State
    /// What it waits for, if ``state`` is `blocked`.
    package var kind: Kind?
    /// How much is done, in percent, if it is working or blocked.
    package var progress: Int?
    /// The part of the work that the report is about: names joined by `/`; `nil` for the program itself.
    package var id: String?
    /// The name of the program.
    package var app: String?
    /// What is being done, and more about it.
    package var title: String?
    package var message: String?

    /// Makes a report. ``body`` omits what a terminal would reject.
    package init(_ state: State, id: String? = nil) { (self.state, self.id) = (state, id) }

    /// Whether it is about work in progress.
    package var isOpen: Bool { state == .working || state == .blocked }

    // MARK: - Reading

    /// Reads a line of a datagram: a body that begins with the state, or the escape sequence, which ends with ST or
    /// BEL; `nil` for other lines, and if the report is discarded.
    ///
    /// A pair that is malformed or unknown is skipped. The last of equal keys counts; if its value is invalid, as none.
    /// A report without a known state, or with a limit exceeded, an invalid identifier or an invalid text is discarded.
    package init?(_ line: ArraySlice<UInt8>) {
        let isFramed = line.starts(with: "\u{1B}]7501;".utf8)
        guard isFramed || line.starts(with: "state=".utf8) else { return nil }
        let body = isFramed ? line.dropFirst(7).prefix { $0 != 0x1B && $0 != 0x07 } : line
        var state: State?
        for pair in body.split(separator: UInt8(ascii: ":")) {
            guard let separator = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let (key, value) = (Self.trimmed(pair[..<separator]), Self.trimmed(pair[separator...].dropFirst()))
            let (name, text) = (String(decoding: key, as: UTF8.self), String(decoding: value, as: UTF8.self))
            // A report of a part must never become one of the whole.
            if key.count > 16 || name == "id" && !Self.isPath(text) { return nil }
            let isText = name == "title" || name == "msg"
            guard !value.isEmpty, isText || value.allSatisfy({ Self.isNameCharacter($0) || ",/=".utf8.contains($0) })
            else { continue }
            switch name {
            case "state": state = State(rawValue: text)
            case "kind": kind = Kind(rawValue: text)
            case "progress":
                let isNumber = value.allSatisfy("0123456789".utf8.contains)
                progress = Int(text).flatMap { isNumber && $0 <= 100 ? $0 : nil }
            case "id": id = text
            case "app":
                if value.count > Self.nameLimit { return nil }
                app = Self.isName(value) ? text : nil
            case "title", "msg":
                let limit = name == "msg" ? Self.messageLimit : Self.titleLimit
                guard let decoded = Self.decoded(value, limit: limit) else { return nil }
                if name == "msg" { message = decoded } else { title = decoded }
            default: break
            }
        }
        guard let state else { return nil }
        self.state = state
        if state != .blocked { kind = nil }
        if !isOpen { progress = nil }
    }

    /// Without white space of ASCII at its ends.
    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let last = bytes.lastIndex(where: { !isSpace($0) }) else { return [] }
        return bytes[...last].drop(while: isSpace)
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        byte < 0x80 && isalnum(CInt(byte)) != 0 || "_.+-".utf8.contains(byte)
    }

    private static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        (1...nameLimit).contains(bytes.count) && bytes.allSatisfy(isNameCharacter)
    }

    /// Whether a text is an identifier: at most 128 bytes, and 8 names joined by `/`.
    package static func isPath(_ text: String) -> Bool {
        let names = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= 128 && names.count <= 8 && names.allSatisfy(isName)
    }

    /// The text of a value in base64, of which the padding is optional; `nil` if it is invalid.
    private static func decoded(_ value: ArraySlice<UInt8>, limit: Int) -> String? {
        let unpadded = Array(value.prefix { $0 != UInt8(ascii: "=") })
        let padded = unpadded + repeatElement(UInt8(ascii: "="), count: -unpadded.count & 3)
        // The decoder accepts padding within the value, too.
        guard value.count == unpadded.count || value.elementsEqual(padded),
            let data = Data(base64Encoded: Data(padded)), data.count <= limit,
            let text = String(validating: data, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        else { return nil }
        return text
    }

    // MARK: - Writing

    /// The pairs, joined by `:`. An identifier or a name of the program that is invalid is omitted. The texts are made
    /// safe, and what exceeds their limits is omitted.
    package var body: String {
        func encoded(_ text: String?, _ limit: Int) -> String? {
            var text = SafeText.singleLine(text ?? "", limit: limit)
            while text.utf8.count > limit { text.removeLast() }
            return text.isEmpty ? nil : Data(text.utf8).base64EncodedString()
        }
        let pairs = [
            ("state", state.rawValue),
            ("progress", isOpen ? progress.map { "\(min(max($0, 0), 100))" } : nil),
            ("kind", state == .blocked ? kind?.rawValue : nil),
            ("id", id.flatMap { Self.isPath($0) ? $0 : nil }),
            ("app", app.flatMap { Self.isName($0.utf8) ? $0 : nil }),
            ("title", encoded(title, Self.titleLimit)),
            ("msg", encoded(message, Self.messageLimit)),
        ]
        return pairs.compactMap { key, value in value.map { "\(key)=\($0)" } }.joined(separator: ":")
    }

    /// The escape sequence for a terminal.
    package var sequence: String { "\u{1B}]7501;\(body)\u{1B}\\" }
}
