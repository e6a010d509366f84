#if DBus
/// The bus names that an indicator goes by.
package enum IndicatorBusName {
    /// What all of them begin with.
    package static let prefix = "org.activityindicator.Indicator1."

    /// How many bytes of the app's name are used, so that prefix, name and suffix stay under the 255 that D-Bus allows.
    static let longestElement = 190

    /// The element of a bus name that stands for an app.
    ///
    /// ASCII letters, digits, `_` and `-` stay as they are; every other Unicode scalar becomes `_`. A name that begins with a
    /// digit gets a `_` in front, and an empty one is `_`: an element is not empty and does not begin with a digit (D-Bus
    /// specification, "Bus names"). What is longer than 190 bytes is cut there.
    package static func element(for name: String) -> String {
        var scalars = name.unicodeScalars.prefix(longestElement).map { isAllowed($0) ? $0 : "_" }
        if ("0"..."9").contains(scalars.first ?? "0") { scalars.insert("_", at: 0) }
        return String(String.UnicodeScalarView(scalars.prefix(longestElement)))
    }

    /// The names to try, best first: the app's own; the same for this process, when another one of the app has that; and, for
    /// processes that share a bus and not their process identifiers, or indicators of one process, the same with a number.
    package static func candidates(for name: String, processID: Int32) -> [String] {
        let own = prefix + element(for: name)
        let instance = "\(own).instance\(processID)"
        return [own, instance] + (2...32).map { "\(instance)_\($0)" }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
        default: false
        }
    }
}
#endif
