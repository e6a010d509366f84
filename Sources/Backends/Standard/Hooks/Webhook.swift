import BackendConfiguration
import IndicatorCore
import Foundation

/// A message to a web service for an event of a ``HookBackend``.
///
/// The program `curl` sends it: it goes on when the app ends meanwhile, as an app often does when its work is done, and
/// no library for TLS comes with the package. Address and token are in its standard input, which others cannot see.
struct Webhook: Sendable {
    /// What services read.
    enum Format: String, Sendable, CaseIterable {
        /// A text, with title, priority and tags in headers (https://docs.ntfy.sh/publish).
        case ntfy
        /// `{"text": "…"}` (https://docs.slack.dev/messaging/formatting-message-text).
        case slack
        /// All values.
        case json
    }

    var url: String?
    var urlFile: String?
    var tokenFile: String?
    var format = Format.ntfy
    var settings = HookSettings()

    /// Throws if the settings have no address.
    func requireAddress() throws(Unavailability) {
        guard url == nil, urlFile == nil else { return }
        throw Unavailability(reason: "there is no address", help: "set 'url' or 'urlFile'")
    }

    static func isAddress(_ text: String) -> Bool {
        let start = ["https://", "http://"].first { text.hasPrefix($0) }
        return start.map { text.count > $0.count } ?? false
            && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value < 0x7F }
    }

    /// Throws if `curl`, the address or the token is missing.
    func check() throws(Unavailability) {
        try HelperProgram.check("curl")
        _ = try address()
        _ = try token()
    }

    /// The host, without what may be secret.
    func host() throws(Unavailability) -> String {
        let rest = try address().split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).dropFirst(2)
        let authority = rest.first?.prefix { $0 != "/" && $0 != "?" && $0 != "#" } ?? ""
        return String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "")
    }

    /// Sends the message. When the app ends meanwhile, nothing waits for the answer.
    func send(_ event: HookEvent, isEnding: () -> Bool) throws(Unavailability) {
        let limit = max(1, settings.timeLimit / .seconds(1))
        var lines = [
            // Without `globoff`, `[1-5]` and `{a,b}` in the address are several addresses.
            "globoff", "url = \(QuotedText.quoted(try address()))", "proto = \"=http,https\"",
            "max-time = \(limit)", "retry-max-time = \(Int(min(limit, 1e9)))",
            // After 1, 2 and 4 seconds, within the limit; not of what would fail again, nor of a slow answer.
            "retry = 3", "retry-connrefused", "fail", "silent", "show-error", "output = \"/dev/null\"",
            "write-out = \"%{http_code}\"",
            "data-raw = \(QuotedText.quoted(body(of: event)))",
        ]
        for header in headers(of: event) { lines.append("header = \(QuotedText.quoted(header))") }
        if let token = try token() { lines.append("header = \(QuotedText.quoted("Authorization: Bearer \(token)"))") }
        do throws(Unavailability) {
            // Without the user's own settings, which may print.
            let status = try HelperProgram(
                ["curl", "--disable", "--config", "-"],
                input: lines.joined(separator: "\n"),
                timeLimit: settings.timeLimit + .seconds(1)
            )
            .run(readsOutput: true, isEnding: isEnding)
            // The option `fail` accepts a redirect.
            if status.hasPrefix("3") {
                let reason = "the service answered with status \(status), a redirect, which is not followed"
                throw Unavailability(reason: reason, help: "give the address to which it leads")
            }
        } catch {
            throw Unavailability(reason: "\(try host()): \(error.reason)", help: error.help)
        }
    }

    private func address() throws(Unavailability) -> String {
        if let url { return url }
        try requireAddress()
        let text = try firstLine(of: urlFile ?? "", "address")
        guard Self.isAddress(text) else {
            let line = "the first line of '\(QuotedText.shortened(urlFile ?? ""))'"
            throw Unavailability(reason: "\(line) is no address that begins with https:// or http://")
        }
        return text
    }

    private func token() throws(Unavailability) -> String? {
        guard let tokenFile else { return nil }
        return try firstLine(of: tokenFile, "token")
    }

    private func firstLine(of path: String, _ what: String) throws(Unavailability) -> String {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        guard let line = text?.prefix(while: { !$0.isNewline }), (1..<4096).contains(line.utf8.count) else {
            let fault = access(path, R_OK) == 0 ? nil : "cannot be read: \(String(cString: strerror(errno)))"
            throw Unavailability(
                reason: "'\(QuotedText.shortened(path))' \(fault ?? "has no \(what) in its first line")",
                help: "check the path, and that this user may read the file"
            )
        }
        return String(line)
    }

    private func headers(of event: HookEvent) -> [String] {
        guard format == .ntfy else { return ["Content-Type: application/json"] }
        // RFC 2047, because a header is printable ASCII, and other texts that look so would be decoded.
        let isPlain = event.title.utf8.allSatisfy { (0x20..<0x7F).contains($0) } && !event.title.contains("=?")
        let title = isPlain ? event.title : "=?UTF-8?B?\(Data(event.title.utf8).base64EncodedString())?="
        let tags: [String] =
            switch event.kind {
            case .attention: ["Tags: question"]
            case .finished: ["Tags: \(event.isUrgent ? "x" : "white_check_mark")"]
            case .shown, .hidden: []
            }
        return [
            "Content-Type: text/plain; charset=utf-8", "Title: \(title)",
            "Priority: \(event.isUrgent ? "high" : "default")",
        ] + tags
    }

    private func body(of event: HookEvent) -> String {
        func json(_ values: [String: Any]) -> String {
            let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
            let data = try? JSONSerialization.data(withJSONObject: values, options: options)
            return String(decoding: data ?? Data(), as: UTF8.self)
        }
        switch format {
        case .ntfy: return event.text
        // The characters of links and mentions.
        case .slack: return json(["text": SafeText.markup("\(event.title): \(event.text)")])
        case .json:
            var values: [String: Any] = [
                "event": event.kind.rawValue, "app": event.applicationName, "title": event.title, "text": event.text,
            ]
            values["outcome"] = event.activity?.outcome.name
            values["message"] = event.activity?.outcome.message
            values["seconds"] = event.activity.map { $0.duration / .seconds(1) }
            return json(values)
        }
    }
}
