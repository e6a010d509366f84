import Foundation
import NetworkKit
import Testing

@Suite struct JSONTests {
    @Test func theNumberOfElementsIsANumber() throws {
        let json = try JSONValue(parsing: #"{"items": [1, 2, 3], "names": {"a": 1}}"#)
        #expect(json.items.count == 3)
        #expect(json.names.count == 1)
        #expect(json.missing.count == 0)
    }
}
