public import BackendConfiguration
import IndicatorCore
import Foundation

extension BackendKind {
    /// A program of the user.
    public static var command: BackendKind {
        BackendKind(
            name: "command",
            summary: "a program of yours, run when work is done or waits for you",
            settings: CommandHook.init(_:),
            make: { context, hook in
                HookBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: hook.settings,
                    logger: context.logger,
                    check: { try HelperProgram.check(hook.program) }
                ) { event, isEnding in
                    let arguments = ([hook.program] + hook.words.dropFirst()).map { HookText.filled($0, event) }
                    try HelperProgram(arguments, timeLimit: hook.settings.timeLimit).run(isEnding: isEnding)
                }
            },
            availability: { _, hook in
                try HelperProgram.check(hook.program)
                return hook.program
            }
        )
    }

    /// A message to a web service, for example one that reaches a phone.
    public static var webhook: BackendKind {
        BackendKind(
            name: "webhook",
            summary: "a message to a web service such as ntfy, when work is done or waits for you",
            settings: Webhook.init(_:),
            make: { context, webhook in
                try webhook.requireAddress()
                return HookBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: webhook.settings,
                    logger: context.logger,
                    check: webhook.check,
                    run: webhook.send
                )
            },
            availability: { _, webhook in
                try webhook.check()
                return try webhook.host()
            }
        )
    }
}

extension HookSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "events",
            &events,
            .choices(),
            summary: "what to tell: shown, hidden, finished (an activity has ended) or attention (one waits for you)"
        )
        values.read(whenDone: &whenDone)
        values.read(after: &after)
        values.read("timeLimit", &timeLimit, .time, summary: "after how long it is given up")
    }
}

/// The settings of a program of the user.
private struct CommandHook: Sendable {
    /// The program and its arguments.
    var words: [String] = []
    var settings: HookSettings
    var program: String { HomeFolder.expanding(words.first ?? "", in: ProcessInfo.processInfo.environment) }

    init(_ values: inout SettingsReader) {
        values.read(
            "run",
            &words,
            .texts,
            example: ["notify-phone", "{title}", "{text}"],
            summary: "the program and its arguments, which no shell reads; they may contain "
                + HookText.Field.allCases.map { "{\($0)}" }.joined(separator: ", "),
            isRequired: true,
            validate: HookText.validate
        )
        settings = HookSettings(&values)
    }
}

extension Webhook {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "url",
            &url,
            .secret,
            example: "https://ntfy.sh/my-topic",
            summary: "the address that gets the message; or 'urlFile'",
            validate: { address in
                Self.isAddress(address) ? nil : "an address that begins with https:// or http://, without spaces"
            }
        )
        values.read(
            "urlFile",
            &urlFile,
            .secretFile,
            example: "~/.config/indicator/url",
            summary: "a file whose first line is the address, for services with a secret in the address"
        )
        values.read(
            "tokenFile",
            &tokenFile,
            .secretFile,
            example: "~/.config/indicator/token",
            summary: "a file whose first line is a token, sent as 'Authorization: Bearer'"
        )
        values.read(
            "format",
            &format,
            .choice,
            summary: "what is sent; ntfy: the text, with the title and priority in headers; slack: JSON that "
                + "Slack, Mattermost and others read; json: all values"
        )
        settings = HookSettings(&values)
    }
}

/// The placeholders of a program's arguments.
enum HookText {
    enum Field: String, CaseIterable, Sendable { case event, app, title, text, outcome, message, seconds }

    /// An argument with its values. In one pass: what is filled in may contain braces.
    static func filled(_ template: String, _ event: HookEvent) -> String {
        let pieces = (try? FormatReader<Field>().pieces(of: template)) ?? [.literal(template)]
        return pieces.map { piece in
            switch piece {
            case .literal(let text): text
            case .placeholder(let field, _, _): value(field, event)
            }
        }.joined()
    }

    private static func value(_ field: Field, _ event: HookEvent) -> String {
        switch field {
        case .event: event.kind.rawValue
        case .app: event.applicationName
        case .title: event.title
        case .text: event.text
        case .outcome: event.activity?.outcome.name ?? ""
        case .message: event.activity?.outcome.message ?? ""
        case .seconds: event.activity.map { "\($0.duration.components.seconds)" } ?? ""
        }
    }

    /// What to write instead of a command line in one string; `nil` if it may be a program.
    private static func list(insteadOf line: String) -> String? {
        guard line.prefix(while: { $0 != "," }).contains(" "), !FileManager.default.fileExists(atPath: line) else {
            return nil
        }
        let words = line.matches(of: /"([^"]*)"|'([^']*)'|([^\s"']+)/).map { $0.1 ?? $0.2 ?? $0.3 ?? "" }
        let quoted = words.map { $0.contains { "{}[], ".contains($0) } ? "\"\($0)\"" : String($0) }
        return "[\(quoted.joined(separator: ", "))]"
    }

    /// What a program with its arguments should be, if it is not.
    static func validate(_ words: [String]) -> String? {
        guard let program = words.first, !program.isEmpty else { return "a program and its arguments" }
        // A text was split at its commas. A path may have spaces in it.
        let mayBePath = words.count > 1 && ["/", "~"].contains { program.hasPrefix($0) }
        if !mayBePath, let list = list(insteadOf: words.joined(separator: ", ")) { return "a list such as \(list)" }
        for word in words where !word.isEmpty {
            do throws(SnapshotFormatError) {
                _ = try FormatReader<Field>().pieces(of: word)
            } catch {
                return "arguments with known placeholders (\(error))"
            }
        }
        return nil
    }
}
