import NetworkKit
import TestSupport

@Suite struct RouteParametersTests {
    private static let strings = [
        "", " ", "a b", "a+b", "a&b=c", "100%", "%41", "ä€😀", "e\u{301}", "/?#[]@!$&'()*+,;=:", "\"\\<>^`{|}", "-._~",
        "\r\n\t\0\u{7F}",
        "a/../b", "中文", "\u{FEFF}x", "'\"", "~user",
    ]

    @Test(.needs("python3", package: "python3")) func `Strings are encoded as by Python`() async throws {
        let input = String(decoding: try JSONEncoder().encode(Self.strings), as: UTF8.self)
        let expected = try await Command.python(
            """
            import json, sys
            from urllib.parse import quote, urlencode
            strings = json.loads(sys.argv[1])
            print(json.dumps([
                [quote(s, safe="") for s in strings],
                [urlencode({s: "v"}, quote_via=quote, safe="") for s in strings],
                [quote(s, safe="/:@!$&'()*+,;=") for s in strings],
            ]))
            """,
            input
        )
        let python = try JSONValue(parsing: expected)
        for (index, string) in Self.strings.enumerated() {
            let quoted = try #require(python[0][index].string)
            #expect(try RouteParameters(["v": JSONValue(string)]).encoded() == "v=\(quoted)")
            #expect(RoutePath("a/\(string)/b").encoded == "a/\(quoted)/b")
            #expect(try RouteParameters(.object([string: "v"])).encoded() == python[1][index].string)
            #expect(RoutePath(stringLiteral: string).encoded == python[2][index].string)
        }
    }

    /// As `parse_qsl` of Python reads them.
    @Test func `Nested parameters have brackets`() throws {
        let parameters: RouteParameters = [
            "z": 1, "a": ["b": 1, "x": ["y": "ä ö"]], "c": [2, "drei", true], "n": nil, "f": false, "d": 1.5,
        ]
        #expect(
            try parameters.encoded()
                == "a%5Bb%5D=1&a%5Bx%5D%5By%5D=%C3%A4%20%C3%B6&c%5B%5D=2&c%5B%5D=drei&c%5B%5D=1&d=1.5&f=0&z=1"
        )
        let lists: RouteParameters = ["a": ["b": [1, nil, 2]], "t": true, "s": " "]
        #expect(try lists.encoded(usesBrackets: false) == "a%5Bb%5D=1&a%5Bb%5D=2&s=%20&t=1")
        #expect(try lists.encoded() == "a%5Bb%5D%5B%5D=1&a%5Bb%5D%5B%5D=2&s=%20&t=1")
    }

    @Test func `Anything encodable is encoded`() throws {
        struct Search: Encodable {
            var term = "x & y"
            var limit = 10
            var since = Date(timeIntervalSince1970: 0)
            var nothing: Int?
            var big = UInt64.max
        }
        #expect(
            try RouteParameters.encoding(Search()).encoded()
                == "big=18446744073709551615&limit=10&since=1970-01-01T00%3A00%3A00Z&term=x%20%26%20y"
        )
    }

    @Test func `Values without names are errors`() {
        #expect(throws: NetworkError.self) { try RouteParameters.encoding([1, 2]).encoded() }
        #expect(throws: EncodingError.self) { try RouteParameters.encoding(["x": Double.nan]).encoded() }
    }
}
