/// The bus names of an indicator.
package enum IndicatorBusName {
    /// The prefix of all names.
    package static let prefix = "org.activityindicator.Indicator1."

    /// The longest app name in bytes, so that prefix, name and suffix are within the 255 bytes that D-Bus allows.
    static let longestElement = 190

    /// The element of a bus name for an app.
    ///
    /// Every Unicode scalar other than ASCII letters, digits, `_` and `-` becomes `_`. A name that begins with a digit
    /// gets the prefix `_`, and an empty one becomes `_`: an element must not be empty or begin with a digit (D-Bus
    /// specification, "Bus names"). The result is truncated to 190 bytes.
    package static func element(for name: String) -> String {
        var scalars = name.unicodeScalars.prefix(longestElement).map { scalar -> Unicode.Scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-": scalar
            default: "_"
            }
        }
        if ("0"..."9").contains(scalars.first ?? "0") { scalars.insert("_", at: 0) }
        return String(String.UnicodeScalarView(scalars.prefix(longestElement)))
    }

    /// The names to try, in order of preference: the app's; with a suffix for this process, if another process of the
    /// app has that; and with a number, for other indicators of this process and for processes that share the bus but
    /// not the PID namespace.
    package static func candidates(for name: String, processID: Int32) -> [String] {
        let own = prefix + element(for: name)
        let instance = "\(own).instance\(processID)"
        return [own, instance] + (2...32).map { "\(instance)_\($0)" }
    }
}
