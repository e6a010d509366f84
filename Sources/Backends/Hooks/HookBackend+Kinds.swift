import Foundation
import IndicatorCore

extension BackendKind {
    /// A program of the user.
    public static var command: BackendKind {
        BackendKind(
            name: "command",
            summary: "a program of yours, run when work is done or waits for you",
            settings: [
                BackendSetting(
                    "run",
                    .strings,
                    example: .list(["notify-phone", "{title}", "{text}"]),
                    summary: "the program and its arguments, which no shell reads; they may contain "
                        + HookText.placeholders.map { "{\($0)}" }.joined(separator: ", "),
                    isRequired: true,
                    validate: HookText.validate
                )
            ] + HookSettings.definitions,
            make: { context, settings in
                let words = settings.list("run") ?? []
                let timeLimit = settings.duration("timeLimit") ?? HookSettings.timeLimit
                return HookBackend(context, settings, check: { try HookCommand.check(words[0]) }) { event in
                    try HookCommand(arguments: words.map { HookText.filled($0, event) }, timeLimit: timeLimit).run()
                }
            },
            availability: { _, settings in
                await .of {
                    let program = settings.list("run")?.first ?? ""
                    try HookCommand.check(program)
                    return program
                }
            }
        )
    }

    /// A message to a web service, for example one that reaches a phone.
    public static var webhook: BackendKind {
        BackendKind(
            name: "webhook",
            summary: "a message to a web service such as ntfy, when work is done or waits for you",
            settings: [
                BackendSetting(
                    "url",
                    .string,
                    example: .string("https://ntfy.sh/my-topic"),
                    summary: "the address that gets the message; or 'urlFile'",
                    isSecret: true,
                    validate: { value in
                        guard case .string(let text) = value, !Webhook.isAddress(text) else { return nil }
                        return "an address that begins with https:// or http://, without spaces"
                    }
                ),
                BackendSetting(
                    "urlFile",
                    .path,
                    example: .string("~/.config/indicator/url"),
                    summary: "a file whose first line is the address, for services with a secret in the address"
                )
                .ofSecretFile,
                BackendSetting(
                    "tokenFile",
                    .path,
                    example: .string("~/.config/indicator/token"),
                    summary: "a file whose first line is a token, sent as 'Authorization: Bearer'"
                )
                .ofSecretFile,
                BackendSetting(
                    "format",
                    .choice(Webhook.Format.allCases.map(\.rawValue)),
                    default: .string(Webhook.Format.ntfy.rawValue),
                    summary:
                        "ntfy: the text, with the title and priority in headers; slack: JSON that Slack, Mattermost "
                        + "and others read; json: all values"
                ),
            ] + HookSettings.definitions,
            make: { context, settings in
                let webhook = try Webhook(settings)
                return HookBackend(context, settings, check: webhook.check) { try webhook.send($0) }
            },
            availability: { _, settings in
                await .of {
                    let webhook = try Webhook(settings)
                    try webhook.check()
                    return try webhook.host()
                }
            }
        )
    }
}

extension HookBackend {
    fileprivate convenience init(
        _ context: BackendContext,
        _ settings: BackendSettings,
        check: @escaping @Sendable () throws -> Void,
        run: @escaping @Sendable (HookEvent) async throws -> Void
    ) {
        self.init(
            name: context.name,
            applicationName: context.applicationName,
            settings: HookSettings(settings),
            timeLimit: settings.duration("timeLimit") ?? HookSettings.timeLimit,
            check: check,
            run: run
        )
    }
}

extension HookSettings {
    fileprivate static let standard = HookSettings()
    static let timeLimit = Duration.seconds(30)

    fileprivate static let definitions: [BackendSetting] = [
        BackendSetting(
            "events",
            .choices(HookEvent.Kind.allCases.map(\.rawValue)),
            default: .list(HookEvent.Kind.allCases.filter(standard.events.contains).map(\.rawValue)),
            summary: "what to tell: shown, hidden, finished (an activity has ended) or attention (one waits for you)"
        ),
        .whenDone(default: standard.whenDone),
        .after(default: standard.after),
        BackendSetting(
            "timeLimit",
            .seconds,
            default: .duration(timeLimit),
            summary: "after how long it is given up"
        ),
    ]

    fileprivate init(_ settings: BackendSettings) {
        self.init()
        if let names = settings.list("events") { events = Set(names.compactMap(HookEvent.Kind.init(rawValue:))) }
        if let whenDone = settings.string("whenDone").flatMap(WhenDone.init(rawValue:)) { self.whenDone = whenDone }
        if let after = settings.duration("after") { self.after = after }
    }
}

/// The placeholders of a program's arguments.
enum HookText {
    static let placeholders = ["event", "app", "title", "text", "outcome", "message", "seconds"]

    static func filled(_ template: String, _ event: HookEvent) -> String {
        var text = ""
        var rest = template[...]
        // In one pass: what is filled in may contain braces.
        while let open = rest.firstIndex(of: "{") {
            text += rest[..<open]
            rest = rest[open...]
            guard let close = rest.firstIndex(of: "}"), let value = value(rest[open...close], event) else {
                text.append(rest.removeFirst())
                continue
            }
            text += value
            rest = rest[rest.index(after: close)...]
        }
        return text + rest
    }

    private static func value(_ placeholder: Substring, _ event: HookEvent) -> String? {
        switch placeholder {
        case "{event}": event.kind.rawValue
        case "{app}": event.applicationName
        case "{title}": event.title
        case "{text}": event.text
        case "{outcome}": event.activity?.outcome.name ?? ""
        case "{message}": DisplayText.singleLine(event.activity?.outcome.message ?? "", limit: OutcomeNotice.textLimit)
        case "{seconds}": event.activity.map { "\($0.duration.components.seconds)" } ?? ""
        default: nil
        }
    }

    /// What a program with its arguments should be, if it is not.
    static func validate(_ value: BackendSettingValue) -> String? {
        guard case .list(let words) = value else { return nil }
        guard let program = words.first, !program.isEmpty else { return "a program and its arguments" }
        for word in words {
            for match in word.matches(of: /\{([a-z]+)\}/) where !placeholders.contains(String(match.1)) {
                let suggestion = NearestName.suggestion(
                    for: String(match.1),
                    among: placeholders,
                    listing: "known placeholders"
                )
                return "known placeholders instead of '{\(match.1)}'\(suggestion)"
            }
        }
        return nil
    }
}
