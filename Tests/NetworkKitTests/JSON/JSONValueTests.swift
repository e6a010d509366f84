import Foundation
import NetworkKit
import TestSupport
import Testing

@Suite struct JSONValueTests {
    @Test func `Members are found by name and index`() throws {
        let json = try JSONValue(
            parsing: #"{"feed":{"entry":[{"im:name":{"label":"App"},"price":1.10,"count":3,"ok":true,"none":null}]}}"#
        )
        let entry = json.feed.entry[0]
        #expect(entry["im:name"].label.string == "App")
        #expect(entry.price.double == 1.1)
        #expect(entry.price.description == "1.10")
        #expect(entry.price.decimal == Decimal(string: "1.1"))
        #expect(entry["count"].int == 3)
        #expect(entry.ok.bool == true)
        #expect(entry.none == .null)
        #expect(json.feed.entry[1].nothing[7].at.all == .null)
        #expect(json.feed.string == nil)
        #expect(json.feed.entry.count == 1)
    }

    @Test func `Values are written as literals`() throws {
        let json: JSONValue = ["a": [1, 2.5, "x\n", true, nil], "b": [:], "c": []]
        #expect(json.description == #"{"a":[1,2.5,"x\n",true,null],"b":{},"c":[]}"#)
        // A value may be part of a codable type.
        #expect(try JSONDecoder().decode([JSONValue].self, from: JSONEncoder().encode([json])) == [json])
    }

    @Test func `Numbers keep their text`() throws {
        let text =
            "[0,-0,1.0,1.10,1e3,1E+3,-1.5e-10,123456789012345678901234567890,0.1000000000000000055511151231257827]"
        let json = try JSONValue(parsing: text)
        #expect(json.description == text)
        #expect(json[2].int == 1)
        #expect(json[4].int == 1000)
        #expect(json[3].int == nil)
        #expect(json[7].int == nil)
        #expect(json[7].double == 1.2345678901234568e29)
        #expect(JSONValue(Double.infinity) == .null)
        #expect(JSONValue(1e22).description == "1e+22")
    }

    @Test func `Keys are in a stable order`() throws {
        let json = try JSONValue(parsing: #"{"b":1,"a":2,"é":3,"B":4,"":5,"a":6}"#)
        #expect(json.description == #"{"":5,"B":4,"a":6,"b":1,"é":3}"#)
    }

    @Test(
        arguments: [
            "", " ", "{", "[", "[1,]", "{\"a\":1,}", "{a:1}", "01", "-", "1.", ".5", "1e", "+1", "tru", "nul", "NaN",
            "Infinity", "\"",
            "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\n\"", "[1] 2", "{\"a\"}",
            "{\"a\" 1}",
            "[1 2]", "'a'", "/**/1", "\u{FEFF}\u{FEFF}1", "0x1", "1.5.5", "--1", "[1}", "{1:2}",
        ]
    )
    func `Invalid jsonis an error`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test func `An error has its position`() {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: "{\n  \"a\": [1, 2\n  \"b\": 3 }") }
        #expect(error?.description == "not JSON: line 3, column 3: expected ',' or ']', found '\"'")
    }

    @Test func `Depth is limited`() throws {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: deep) }
        let good = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try JSONValue(parsing: good).description == good)
    }

    @Test func `Bytes that are not UTF-8 are an error`() {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Data([0x22, 0xFF, 0x22])) }
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Data([0x22, 0xED, 0xA0, 0x80, 0x22])) }
    }
}
