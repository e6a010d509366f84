import Foundation

/// A report of the Program Status Protocol (OSC 7501): what a program says of its own work, or of a part of it.
///
/// Terminals read it from an escape sequence, and ``ProgramReports`` from a socket. It is what revisions 0.3 and 0.4 of
/// the specification share (superlogical.com/rex/docs/build/program-status). Its limits are in ``Limit``.
package struct ProgramStatus: Sendable, Hashable {
    /// What the program is doing.
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// It has nothing to do.
        case idle
        /// It is working.
        case working
        /// It waits for the user.
        case blocked
        /// Its work has succeeded.
        case done
        /// Its work has failed.
        case error
        /// The record, and those below it, are removed.
        case clear
    }

    /// What a blocked program waits for.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case permission, question, auth
    }

    /// The limits of the specification, in bytes; of ``id`` also in names. A report that exceeds one is discarded.
    package enum Limit {
        /// A whole sequence, and a datagram of ``ProgramReports``.
        package static var sequence: Int { 4096 }
        static var key: Int { 16 }
        static var name: Int { 32 }
        static var id: Int { 128 }
        static var levels: Int { 8 }
        static var title: Int { 192 }
        static var message: Int { 2048 }
    }

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
    package init(
        _ state: State,
        kind: Kind? = nil,
        progress: Int? = nil,
        id: String? = nil,
        app: String? = nil,
        title: String? = nil,
        message: String? = nil
    ) {
        (self.state, self.kind, self.progress, self.id) = (state, kind, progress, id)
        (self.app, self.title, self.message) = (app, title, message)
    }

    /// Whether it is about work in progress.
    package var isOpen: Bool { state == .working || state == .blocked }

    // MARK: - Reading

    /// Reads the body of a report; `nil` if it is discarded.
    ///
    /// A pair that is malformed or unknown is skipped. The last of equal keys counts; if its value is invalid, as none.
    /// A report without a known state, or with a limit exceeded, an invalid identifier or an invalid text is discarded.
    package init?(_ body: ArraySlice<UInt8>) {
        var state: State?
        for pair in body.split(separator: UInt8(ascii: ":")) {
            guard let separator = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let (key, value) = (Self.trimmed(pair[..<separator]), Self.trimmed(pair[separator...].dropFirst()))
            if key.count > Limit.key { return nil }
            let name = String(decoding: key, as: UTF8.self)
            let text = String(decoding: value, as: UTF8.self)
            // A report of a part must never become one of the whole.
            if name == "id", !Self.isPath(text) { return nil }
            let isText = name == "title" || name == "msg"
            guard !value.isEmpty, key.allSatisfy(Self.isNameCharacter),
                isText || value.allSatisfy({ Self.isNameCharacter($0) || ",/=".utf8.contains($0) })
            else { continue }
            switch name {
            case "state": state = State(rawValue: text)
            case "kind": kind = Kind(rawValue: text)
            case "progress":
                let number = text.utf8.allSatisfy("0123456789".utf8.contains) ? Int(text) : nil
                progress = number.flatMap { (0...100).contains($0) ? $0 : nil }
            case "id": id = text
            case "app":
                if value.count > Limit.name { return nil }
                app = value.allSatisfy(Self.isNameCharacter) ? text : nil
            case "title", "msg":
                let limit = name == "msg" ? Limit.message : Limit.title
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

    /// Whether a text is an identifier: names joined by `/`, within the limits.
    package static func isPath(_ text: String) -> Bool {
        guard text.utf8.count <= Limit.id else { return false }
        let names = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return names.count <= Limit.levels
            && names.allSatisfy { (1...Limit.name).contains($0.count) && $0.allSatisfy(isNameCharacter) }
    }

    /// The text of a value in base64, of which the padding is optional; `nil` if it is invalid.
    private static func decoded(_ value: ArraySlice<UInt8>, limit: Int) -> String? {
        let padding = UInt8(ascii: "=")
        let unpadded = value.prefix { $0 != padding }
        let rest = value.dropFirst(unpadded.count)
        let missing = -unpadded.count & 3
        guard !unpadded.isEmpty, unpadded.count <= (limit * 4 + 2) / 3, rest.isEmpty || rest.count == missing,
            rest.allSatisfy({ $0 == padding }),
            let data = Data(base64Encoded: Data(Array(unpadded) + repeatElement(padding, count: missing))),
            let text = String(validating: data, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        else { return nil }
        return text
    }

    // MARK: - Writing

    /// The pairs, joined by `:`. An identifier or a name of the program that is invalid is omitted. The texts are made
    /// safe, and what exceeds their limits is omitted.
    package var body: String {
        var pairs = ["state=\(state.rawValue)"]
        if let progress, isOpen { pairs.append("progress=\(min(max(progress, 0), 100))") }
        if let kind, state == .blocked { pairs.append("kind=\(kind.rawValue)") }
        if let id, Self.isPath(id) { pairs.append("id=\(id)") }
        if let app, app.utf8.count <= Limit.name, app.utf8.allSatisfy(Self.isNameCharacter), !app.isEmpty {
            pairs.append("app=\(app)")
        }
        for (key, text, limit) in [("title", title, Limit.title), ("msg", message, Limit.message)] {
            if let text = text.map({ Self.shortened($0, limit) }), !text.isEmpty {
                pairs.append("\(key)=\(Data(text.utf8).base64EncodedString())")
            }
        }
        return pairs.joined(separator: ":")
    }

    /// The escape sequence for a terminal.
    package var sequence: String { "\u{1B}]7501;\(body)\u{1B}\\" }

    private static func shortened(_ text: String, _ limit: Int) -> String {
        var text = SafeText.singleLine(text, limit: limit)
        while text.utf8.count > limit { text.removeLast() }
        return text
    }
}

/// A line of a datagram.
package enum ProgramReport: Sendable, Hashable {
    /// A report of the protocol.
    case status(ProgramStatus)
    /// `STATUS=` of sd_notify(3): what is being done; `nil` if it is empty.
    case label(String?)
    /// `X_INDICATOR_PROGRESS=`: how much is done, 0…1; `nil` if it is empty.
    case progress(Double?)

    /// The reports in a datagram, a line each. Everything else in it is ignored.
    package static func all(in datagram: some Collection<UInt8>) -> [ProgramReport] {
        if datagram.count > ProgramStatus.Limit.sequence { return [] }
        return ArraySlice(datagram).split(separator: UInt8(ascii: "\n")).compactMap { ProgramReport(line: $0) }
    }

    private init?(line: ArraySlice<UInt8>) {
        func text(after prefix: String) -> String? {
            line.starts(with: prefix.utf8) ? String(validating: line.dropFirst(prefix.utf8.count), as: UTF8.self) : nil
        }
        // A sequence ends with ST, or BEL.
        let isFramed = line.starts(with: "\u{1B}]7501;".utf8)
        let body = line.dropFirst(isFramed ? 7 : 0).prefix { !isFramed || $0 != 0x1B && $0 != 0x07 }
        if isFramed || line.starts(with: "state=".utf8) {
            guard let status = ProgramStatus(body) else { return nil }
            self = .status(status)
        } else if let text = text(after: "STATUS=") {
            self = .label(text.isEmpty ? nil : text)
        } else if let text = text(after: "X_INDICATOR_PROGRESS="), text.utf8.allSatisfy("0123456789.".utf8.contains),
            Double(text).map({ $0 <= 100 }) ?? text.isEmpty
        {
            self = .progress(Double(text).map { $0 / 100 })
        } else {
            return nil
        }
    }
}
