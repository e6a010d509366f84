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

    /// Keeps OpenSSL, if a library uses it, from releasing its memory in `exit`, while threads use it. Counts only if
    /// it is the first initialisation of OpenSSL in the process.
    ///
    /// - Parameter file: the name of the library; `nil` for one that the program links.
    package static func keepOpenSSL(of file: String?) {
        guard let library = dlopen(file, RTLD_NOW | RTLD_NODELETE) else { return }
        guard let symbol = dlsym(library, "OPENSSL_init_crypto") else { return }
        typealias Initialise = @convention(c) (UInt64, UnsafeRawPointer?) -> Int32
        // OPENSSL_INIT_NO_ATEXIT, of OpenSSL 1.1.1 and later.
        _ = unsafeBitCast(symbol, to: Initialise.self)(0x0008_0000, nil)
    }
}
