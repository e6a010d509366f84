/// The header fields of a response. Names are compared without regard to case.
public struct ResponseHeaders: Hashable, Sendable, Codable {
    private var fields: [String: String]

    /// Makes header fields. Of names that differ in case only, the one that sorts last counts.
    public init(_ fields: [String: String] = [:]) {
        self.fields = [:]
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) { self[name] = value }
    }

    init(_ fields: [AnyHashable: Any]) {
        var strings: [String: String] = [:]
        for (name, value) in fields { strings["\(name)"] = "\(value)" }
        self.init(strings)
    }

    /// The value of a field; several of one name are joined by commas.
    public subscript(name: String) -> String? {
        get { fields[name.lowercased()] }
        set { fields[name.lowercased()] = newValue }
    }

    /// All fields, their names in lower case.
    public var all: [String: String] { fields }
}
