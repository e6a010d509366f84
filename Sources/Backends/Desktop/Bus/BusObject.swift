import IndicatorCore
import Foundation

/// An object on a bus: the properties of one interface, which everybody may read, and its signals.
///
/// A session makes it, and ``BusConnection/serve(_:)`` puts it on the bus, where it answers `Get`, `GetAll`, `Set` and
/// `Introspect`. Only used on the thread of the bus.
public final class BusObject {
    /// The object path.
    public let path: String
    /// The interface of the properties and the signals.
    public let interface: String
    /// What is read from now on: always the same properties with values of the same types. Nobody is notified before
    /// ``announce()``.
    public var properties: [BusProperty]

    static let propertiesInterface = "org.freedesktop.DBus.Properties"
    static let introspectableInterface = "org.freedesktop.DBus.Introspectable"

    private let writable: Set<String>
    private let signals: String
    private let onSet: (BusProperty) -> Void
    private var announced: [BusProperty]
    weak var bus: BusConnection?

    /// Makes an object, which is not yet on a bus.
    ///
    /// - Parameters:
    ///   - path: the object path.
    ///   - interface: the interface of the properties and the signals.
    ///   - properties: the properties, in the order of the introspection.
    ///   - writable: the properties that others may set; by default none.
    ///   - signals: the `signal` elements of the introspection (D-Bus specification, "Introspection Data Format").
    ///   - onSet: called when one of these is set, to a value of its type. What it changes is read after the answer.
    public init(
        path: String,
        interface: String,
        properties: [BusProperty],
        writable: Set<String> = [],
        signals: String = "",
        onSet: @escaping (BusProperty) -> Void = { _ in }
    ) {
        (self.path, self.interface, self.properties, announced) = (path, interface, properties, properties)
        (self.writable, self.signals, self.onSet) = (writable, signals, onSet)
    }

    /// Announces the properties that have changed since the last call, if some have, with `PropertiesChanged`.
    public func announce() {
        let changes = zip(announced, properties).filter(!=).map(\.1)
        guard !changes.isEmpty else { return }
        announced = properties
        bus?.send(
            .signal(
                path: path,
                interface: Self.propertiesInterface,
                member: "PropertiesChanged",
                [.string(interface), .properties(changes), .strings([])]
            )
        )
    }

    /// Sends a signal of the interface.
    public func emit(_ signal: String, _ arguments: [BusValue] = []) {
        bus?.send(.signal(path: path, interface: interface, member: signal, arguments))
    }

    // MARK: - Calls

    /// The methods, with their interfaces and the one-letter types of their arguments.
    private static let methods: [String: (interface: String, types: String)] = [
        "Get": (propertiesInterface, "ss"), "GetAll": (propertiesInterface, "s"),
        "Set": (propertiesInterface, "ssv"), "Introspect": (introspectableInterface, ""),
    ]

    /// Replies to a call.
    func answer(_ call: BusMessage) {
        let reply: BusMessage?
        do throws(BusError) { reply = call.reply(try values(for: call)) } catch { reply = call.reply(error) }
        bus?.send(reply)
    }

    private func values(for call: BusMessage) throws(BusError) -> [BusValue] {
        let member = call.member ?? ""
        guard let method = Self.methods[member], call.interface ?? method.interface == method.interface else {
            throw .standard("UnknownMethod", "The object has no method '\(member)' in this interface.")
        }
        // Decoded only if they have these types; too long ones are truncated.
        guard call.signature == method.types, case let arguments = call.arguments, arguments.count == method.types.count
        else {
            let expected = "arguments of types '\(method.types)' of at most \(BusDecoder.limit) bytes"
            throw .standard("InvalidArgs", "The method '\(member)' takes \(expected).")
        }
        if member == "Introspect" { return [.string(introspection)] }
        let name = arguments[0].text ?? ""
        if member == "GetAll", name.hasPrefix("org.freedesktop.DBus.") { return [.properties([])] }
        // An empty name means any interface that has the property (D-Bus specification,
        // "org.freedesktop.DBus.Properties").
        guard name.isEmpty || name == interface else {
            throw .standard("UnknownInterface", "The object has no properties of interface '\(Self.quoted(name))'.")
        }
        if member == "GetAll" { return [.properties(properties)] }
        let propertyName = arguments[1].text ?? ""
        guard let property = properties.first(where: { $0.name == propertyName }) else {
            let found = Self.quoted(propertyName)
            throw .standard("UnknownProperty", "The interface '\(interface)' has no property '\(found)'.")
        }
        if member == "Get" { return [.variant(property.value)] }
        guard writable.contains(property.name) else {
            throw .standard("PropertyReadOnly", "The property '\(property.name)' cannot be set.")
        }
        let value = arguments[2].unwrapped
        guard value.signature == property.value.signature else {
            let type = property.value.signature
            throw .standard("InvalidArgs", "The property '\(property.name)' is of type '\(type)'.")
        }
        onSet(BusProperty(property.name, value))
        return []
    }

    /// A caller's text for an error message.
    private static func quoted(_ text: String) -> String { SafeText.singleLine(text, limit: 100) }

    /// The answer to `Introspect` (D-Bus specification, "Introspection Data Format").
    private var introspection: String {
        let properties = properties.map { property in
            let access = writable.contains(property.name) ? "readwrite" : "read"
            return "<property name='\(property.name)' type='\(property.value.signature)' access='\(access)'/>"
        }
        return """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>
              <interface name="\(interface)">
            \(properties.joined(separator: "\n"))
            \(signals)
              </interface>
              <interface name="\(Self.introspectableInterface)">
                <method name="Introspect"><arg type="s" direction="out"/></method>
              </interface>
              <interface name="org.freedesktop.DBus.Peer">
                <method name="Ping"/>
                <method name="GetMachineId"><arg type="s" direction="out"/></method>
              </interface>
              <interface name="\(Self.propertiesInterface)">
                <method name="Get"><arg type="s"/><arg type="s"/><arg type="v" direction="out"/></method>
                <method name="GetAll"><arg type="s"/><arg type="a{sv}" direction="out"/></method>
                <method name="Set"><arg type="s"/><arg type="s"/><arg type="v"/></method>
                <signal name="PropertiesChanged"><arg type="s"/><arg type="a{sv}"/><arg type="as"/></signal>
              </interface>
            </node>
            """
    }
}
