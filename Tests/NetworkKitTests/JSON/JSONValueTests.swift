import NetworkKit
import TestSupport

@Suite struct JSONValueTests {
    @Test func `Members are found by name and index`() throws {
        let json = try JSONValue(
            parsing: #"{"feed":{"entry":[{"im:name":{"label":"App"},"price":1.10,"count":3,"ok":true,"none":null}]}}"#
        )
        let entry = json.feed.entry[0]
        #expect(entry["im:name"].label.string == "App")
        #expect(entry.price.double == 1.1)
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

    @Test func `Numbers are exact up to 38 digits`() throws {
        let text = "[0,1e3,-1.5e-10,18446744073709551615,0.1000000000000000055511151231257827,1e300]"
        let json = try JSONValue(parsing: text)
        #expect(
            json.description == "[0,1000,-0.00000000015,18446744073709551615,0.1000000000000000055511151231257827,null]"
        )
        #expect(json.array?.map(\.int) == [0, 1000, nil, nil, nil, nil])
        #expect(json[3].double == 0x1p64)
        #expect(JSONValue(Double.infinity) == .null)
    }

    @Test func `Keys are in a stable order`() throws {
        let json = try JSONValue(parsing: #"{"b":1,"a":2,"é":3,"B":4,"":5,"x/y":6}"#)
        #expect(json.description == #"{"":5,"B":4,"a":2,"b":1,"x/y":6,"é":3}"#)
    }

    @Test(arguments: ["", "[", "{a:1}", "tru", "\"\n\"", "[1] 2", "'a'"], [1, 100_000])
    func `Invalid JSON is an error`(text: String, count: Int) {
        #expect(throws: DecodingError.self) { try JSONValue(parsing: String(repeating: text, count: count)) }
    }
}
