import IndicatorBackends
import Synchronization
import TestSupport

/// The settings of a kind of an app, with the API that an app has.
private struct StripSettings: Equatable {
    enum Color: String, CaseIterable { case red, green }
    struct Pin: Equatable { var number = 1 }

    var device = ""
    var length = 30
    var colors: Set<Color> = [.green]
    var fade = Duration.milliseconds(500)
    var pin = Pin()
    var token: String?

    init(_ values: inout SettingsReader) {
        values.read("device", &device, .path, example: "/dev/strip", summary: "the strip's device", isRequired: true)
        values.read("length", &length, .integer(in: 1...1000), summary: "how many lights") { length in
            length.isMultiple(of: 2) ? nil : "an even number"
        }
        values.read("colors", &colors, .choices(), summary: "the colors")
        values.read("fade", &fade, .seconds, summary: "how long a change takes")
        values.read("pin", &pin, .pin, summary: "the pin")
        values.read("token", &token, .secret, summary: "for the strip's service")
    }
}

extension SettingForm<StripSettings.Pin> {
    fileprivate static var pin: Self {
        text(
            read: { text in
                guard text.hasPrefix("P"), let number = Int(text.dropFirst()) else {
                    throw SettingFault("a pin such as P4")
                }
                return StripSettings.Pin(number: number)
            },
            text: { "P\($0.number)" }
        )
    }
}

@Suite final class CustomKindTests: Sendable {
    private let folder: TemporaryDirectory
    /// The settings with which a backend was made last.
    private let made = Mutex<StripSettings?>(nil)

    init() throws { folder = try TemporaryDirectory() }

    private func source(
        _ text: String,
        environment: [String: String] = [:],
        overrides: [String: SettingValue] = [:]
    ) throws -> ConfigurationSource {
        let file = try folder.save(text)
        var registry = BackendRegistry.standard
        registry.register(
            BackendKind(
                name: "ledStrip",
                summary: "the strip on the shelf",
                settings: StripSettings.init,
                make: { [unowned self] context, settings in
                    made.withLock { $0 = settings }
                    return InMemoryBackend(name: context.name)
                },
                availability: { _, settings in
                    if settings.length < 100 { return settings.device }
                    throw Unavailability(reason: "the strip has 99 lights", help: "set 'length' to 98")
                },
                automatic: { context, settings in
                    let replaced = ["terminalTitle": "the strip shows it"]
                    return AutomaticFit(
                        context.environment["SHELF"] != nil,
                        "\(settings.length) lights",
                        replaced: replaced
                    )
                }
            )
        )
        return ConfigurationSource(
            for: "my-app",
            path: file,
            environment: ["HOME": "/home/user"].merging(environment) { $1 },
            registry: registry,
            overrides: overrides
        )
    }

    private func mistakes(_ source: ConfigurationSource) -> String {
        let error = #expect(throws: ConfigurationError.self) { try IndicatorConfiguration.load(from: source) }
        return (error?.description ?? "").replacing("\(folder.path)/", with: "")
    }

    @Test func `Values of the file and of code are read into the kind's own type; others are its defaults`() throws {
        let text = "backends: [ledStrip]\nledStrip: {device: ~/strip, colors: [red], pin: P7, token: t}\n"
        let source = try source(text, overrides: ["ledStrip.fade": 2])
        let settings = try IndicatorConfiguration.load(from: source).settings
        let last = made.withLock(\.self)
        let strip = try #require(last)
        #expect(strip.device == "/home/user/strip" && strip.length == 30 && strip.colors == [.red])
        #expect(strip.fade == .seconds(2) && strip.pin.number == 7 && strip.token == "t")
        let texts = settings.filter { $0.key.hasPrefix("ledStrip.") }.map { "\($0.value ?? "-")" }
        #expect(texts == ["/home/user/strip", "30", "[red]", "2", "P7", "(hidden)"])
    }

    @Test func `Mistakes have the place and what was expected`() throws {
        #expect(
            try mistakes(source("backends: [ledStrip]\n"))
                == "indicator.yaml:1:12: error: 'ledStrip' needs 'device', the path of a file"
        )
        #expect(
            try mistakes(source("ledStrip:\n  length: 3\n  colors: [blue]\n  pin: 4\n")) == """
                indicator.yaml:2:11: error: 'length': expected an even number, found '3'
                indicator.yaml:3:12: error: 'colors': expected one of red, green, found 'blue'
                indicator.yaml:4:8: error: 'pin': expected a pin such as P4, found '4'
                """
        )
    }

    @Test func `It is listed with where it can run, why not and what to do, as the built-in kinds are`() async throws {
        func strip(_ text: String) async throws -> BackendAvailability? {
            try await source(text).availability().first { $0.kind == "ledStrip" }
        }
        let right = try #require(await strip("backends: [shelf]\nshelf: {kind: ledStrip, device: /dev/strip}\n"))
        #expect(right.name == "shelf" && right.isUsed && right.availability == .success("/dev/strip"))
        let wrong = try #require(await strip("backends: [logFile]\nledStrip: {device: /dev/strip, length: 100}\n"))
        let advice = Unavailability(reason: "the strip has 99 lights", help: "set 'length' to 98")
        #expect(!wrong.isUsed && wrong.availability == .failure(advice))
        let unset = try #require(await strip("{}"))
        let section = "add a section 'ledStrip' to the config file"
        #expect(unset.availability == .failure(Unavailability(reason: "it needs 'device'", help: section)))
    }

    @Test func `It is chosen by auto with its settings, in place of others, and checked where it is not`() throws {
        let text = "backends: auto\nledStrip: {device: /dev/strip, length: 8}\n"
        for isOnShelf in [true, false] {
            let source = try source(text, environment: isOnShelf ? ["SHELF": "yes"] : [:])
            let fits = Dictionary(source.automatic.map { ($0.kind, $0.fit) }) { first, _ in first }
            #expect(fits["ledStrip"]?.isChosen == isOnShelf && fits["ledStrip"]?.reason == "8 lights")
            #expect((fits["terminalTitle"]?.reason == "the strip shows it") == isOnShelf)
            #expect(try IndicatorConfiguration.load(from: source).warnings.isEmpty)
            #expect((made.withLock(\.self) != nil) == isOnShelf)
            made.withLock { $0 = nil }
        }
        #expect(
            try mistakes(source("backends: auto\nledStrip: {length: 3}\n"))
                == "indicator.yaml:2:20: error: 'length': expected an even number, found '3'"
        )
    }
}
