import TestSupport

@testable import BackendConfiguration

@Suite("The text of a setting")
struct SettingFormTests {
    private enum Word: String, CaseIterable, Sendable { case shown, hidden, end }

    private func written<Value>(_ given: SettingValue, as form: SettingForm<Value>) throws -> SettingValue {
        let node = ConfigurationNode(given, at: .code(key: "test"))
        var faults: [String] = []
        let right = form.value(of: node, in: ["HOME": "/home/user"], { _ in nil }) { faults.append($1) }
        if let fault = faults.first { throw SettingFault(fault) }
        return form.write(try #require(right).value)
    }

    private func value<Value>(_ text: String, as form: SettingForm<Value>) -> SettingValue? {
        try? written(.string(text), as: form)
    }

    @Test func `A value in code may be an interpolated text, and whole seconds`() throws {
        let name = "app"
        #expect(try written("\(name).desktop", as: .text) == .string("app.desktop"))
        #expect(try written(60, as: .seconds) == 60)
        #expect(try written(0.5, as: .seconds) == "0.5")
        #expect(throws: SettingFault.self) { try written(-1, as: .seconds) }
        #expect(throws: SettingFault.self) { try written(true, as: .size) }
    }

    @Test(arguments: [",", "a,", ",a", "a,,b", " , "]) func `is no list of names with an empty one`(text: String) {
        #expect(value(text, as: .names()) == nil)
        #expect(value(text, as: .names(among: ["a", "b"])) == nil)
    }

    @Test(
        "may be a number of seconds",
        arguments: [
            ("0", Duration.zero), ("1", .seconds(1)), ("0.2", .milliseconds(200)), (".5", .milliseconds(500)),
            ("1.", .seconds(1)), ("+2", .seconds(2)), ("1e-3", .milliseconds(1)), ("1E1", .seconds(10)),
            ("0.0000004", .zero), ("0.0000006", .microseconds(1)), ("-0", .zero),
            ("3155760000", .seconds(3_155_760_000)), ("3155760001", .seconds(3_155_760_000)),
            ("1e300", .seconds(3_155_760_000)),
            ("0.12345649", .microseconds(123_456)), ("0.12345651", .microseconds(123_457)),
        ]
    )
    func seconds(text: String, duration: Duration) {
        #expect(SettingValue.string(text).seconds == duration && value(text, as: .seconds) != nil)
    }

    @Test(arguments: [
        "", " ", "1 ", "-0.001", "nan", ".nan", "NaN", "inf", ".inf", "-.inf", "infinity", "0x10", "0o17", "1_000",
        "1s", "1e400", "1,5", "1e", ".", "--1", "١",
    ])
    func `is not a number of seconds otherwise`(text: String) {
        #expect(value(text, as: .seconds) == nil && SettingValue.string(text).seconds == nil)
    }

    @Test(arguments: [
        ("0", 0), ("1048576", 1_048_576), ("512 kB", 512_000), ("512kB", 512_000), ("1 MiB", 1_048_576),
        ("1.5 KiB", 1536), ("2 GB", 2_000_000_000), ("1 b", 1), ("1 TiB", 1_099_511_627_776), ("3  mib", 3_145_728),
    ])
    func `may be a size`(text: String, bytes: Int) { #expect(value(text, as: .size) == .string("\(bytes)")) }

    @Test(arguments: ["", "B", "-1", "0.5", "1 XB", "1 MiB x", "1e3", "9999999999 TiB", "1 000", "nan"])
    func `is not a size otherwise`(text: String) { #expect(value(text, as: .size) == nil) }

    @Test func `may be a whole number within its range`() {
        let type = SettingForm.integer(in: 0...10)
        #expect(value("10", as: type) == 10)
        #expect(value("+3", as: type) == 3)
        for text in ["", "11", "-1", "1.0", "0x1", "1e1", "99999999999999999999", "+", "١"] {
            #expect(value(text, as: type) == nil)
        }
    }

    @Test func `may be a boolean, as YAML and shells spell it`() {
        for text in ["true", "True", "TRUE", "yes", "on", "1"] { #expect(value(text, as: .boolean) == true) }
        for text in ["false", "False", "no", "off", "0"] { #expect(value(text, as: .boolean) == false) }
        for text in ["", "y", "2", " true"] { #expect(value(text, as: .boolean) == nil) }
    }

    @Test func `may be a path, with the home folder for '~', and absolute: an app may change its folder`() {
        #expect(value("~/a", as: .path) == .string("/home/user/a"))
        #expect(value("~", as: .path) == .string("/home/user"))
        let folder = FileManager.default.currentDirectoryPath
        #expect(value("a/~/b", as: .path) == .string("\(folder)/a/~/b"))
        #expect(value("a", as: .secretFile) == .string("\(folder)/a"))
        #expect(value("~root/a", as: .path) == nil)
        #expect(value("", as: .path) == nil)
        #expect(value("a\0b", as: .path) == nil)
    }

    @Test func `may be a list of words, separated by commas in a variable`() {
        let type: SettingForm<Set<Word>> = .choices()
        #expect(value("end, shown", as: type) == .list(["shown", "end"]))
        #expect(value("", as: type) == .list([]))
        #expect(value("end,end", as: type) == nil)
        #expect(value("end,", as: type) == nil)
        #expect(value("ends", as: type) == nil)
    }
}
