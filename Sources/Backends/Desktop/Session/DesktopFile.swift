import BackendConfiguration
import IndicatorCore
import Foundation

/// The desktop files of installed apps, by their identifiers (Desktop Entry Specification, "Desktop File ID").
enum DesktopFile {
    static let suffix = ".desktop"
    static let expectation = "the name of a desktop file, such as org.example.my-app.desktop, without a folder"

    /// Whether a text is the identifier of a desktop file: a file name, not a path.
    ///
    /// A file in a subfolder of `applications` has the name of the folder and a `-` before its own.
    static func isIdentifier(_ text: String) -> Bool {
        let isPrintable = text.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 0x20 && $0.value < 0x7F }
        return isPrintable && text.hasSuffix(suffix) && text.utf8.count > suffix.utf8.count
            && text.utf8.count <= 255 && !text.contains("/")
    }

    /// Whether the file with an identifier is in the folder `applications` of one of the data folders (Desktop Base
    /// Directory Specification), or in a subfolder.
    static func isInstalled(_ identifier: String, in environment: [String: String]) -> Bool {
        var paths = [identifier]
        while let path = paths.last, let dash = path.firstIndex(of: "-") {
            paths.append(path.replacingCharacters(in: dash...dash, with: "/"))
        }
        return dataFolders(in: environment).contains { folder in
            paths.contains { FileManager.default.fileExists(atPath: "\(folder)/applications/\($0)") }
        }
    }

    /// The name of an app's desktop file without its extension; `nil` if none is installed.
    static func name(of applicationName: String, in environment: [String: String]) -> String? {
        if let identifier = environment["FLATPAK_ID"], !identifier.isEmpty { return identifier }
        guard !applicationName.contains(where: { $0 == "/" || $0 == "\0" }) else { return nil }
        return isInstalled(applicationName + suffix, in: environment) ? applicationName : nil
    }

    /// The identifier that an app's desktop file has, installed or not.
    static func standard(for applicationName: String, in environment: [String: String]) -> String {
        (name(of: applicationName, in: environment) ?? applicationName) + suffix
    }

    private static func dataFolders(in environment: [String: String]) -> [String] {
        func folders(_ name: String, _ standard: String) -> [String] {
            let value = environment[name].flatMap { $0.isEmpty ? nil : $0 } ?? standard
            return value.split(separator: ":").map(String.init)
        }
        return folders("XDG_DATA_HOME", "\(environment["HOME"] ?? "")/.local/share")
            + folders("XDG_DATA_DIRS", "/usr/local/share:/usr/share")
    }
}

extension SettingsReader {
    /// Reads the identifier of the app's desktop file.
    mutating func read(desktopFile property: inout String?, summary: String) {
        let example = "org.example.my-app.desktop"
        read("desktopFile", &property, .text, example: example, summary: summary) {
            DesktopFile.isIdentifier($0) ? nil : DesktopFile.expectation
        }
    }
}

/// The user's desktop, as the environment describes it.
struct DesktopSituation {
    static let noBus = "there is no session bus"

    var isPresent = false
    var hasJobs = false
    var reason = Self.noBus

    init(_ environment: [String: String]) {
        guard DBusAddress.session.mayExist(in: environment) else { return }
        func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        // A list, such as ubuntu:GNOME (Desktop Entry Specification, "OnlyShowIn").
        let names = (environment["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":")
        hasJobs = names.contains("KDE")
        isPresent = true
        if !names.isEmpty {
            reason = "the desktop is \(QuotedText.shortened(names.joined(separator: ":"))) (XDG_CURRENT_DESKTOP)"
        } else if isSet("WAYLAND_DISPLAY") || (isSet("DISPLAY") && !isSet("SSH_CONNECTION")) {
            reason = "there is a display (WAYLAND_DISPLAY, DISPLAY)"
        } else {
            isPresent = false
            reason = "there is no desktop: XDG_CURRENT_DESKTOP, WAYLAND_DISPLAY and DISPLAY do not name one"
        }
    }
}
