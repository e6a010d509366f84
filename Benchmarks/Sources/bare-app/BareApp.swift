import Foundation

/// An app that does not link the indicator, to compare the memory of one that does with: it waits until its input ends.
@main
struct BareApp {
    static func main() {
        print("ready \(ProcessInfo.processInfo.processIdentifier)")
        fflush(nil)
        while readLine() != nil {}
    }
}
