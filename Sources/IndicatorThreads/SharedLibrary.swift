import Foundation

/// A C library that is loaded when it is first used. Linking it would cost every start of a program.
package enum SharedLibrary {
    /// dlsym(3).
    package typealias Find =
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> UnsafeMutableRawPointer?

    /// Loads a library for the rest of the process.
    ///
    /// - Parameters:
    ///   - file: its name, such as `libdbus-1.so.3`.
    ///   - functions: what the C module of the library declares; pointers to all its functions afterwards.
    ///   - find: the C module's function that sets them, and returns the name of one that is missing.
    /// - Returns: why it cannot be used; `nil` if it can.
    package static func load<Functions>(
        _ file: String,
        _ functions: inout Functions,
        _ find: (UnsafeMutablePointer<Functions>?, Find?, UnsafeMutableRawPointer?) -> UnsafePointer<CChar>?
    ) -> String? {
        guard let library = dlopen(file, RTLD_NOW | RTLD_NODELETE) else {
            return dlerror().map { String(cString: $0) } ?? "\(file): no reason given"
        }
        let symbol: Find = { library, name in name.flatMap { dlsym(library, $0) } }
        return find(&functions, symbol, library).map { "\(file) lacks \(String(cString: $0))" }
    }
}
