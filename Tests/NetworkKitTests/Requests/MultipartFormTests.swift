import TestSupport

@testable import NetworkKit

@Suite struct MultipartFormTests {
    private func body(_ form: MultipartForm) throws -> Data {
        let body = try form.body()
        let reader = BodyReader(body)
        var data = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try reader.read(into: buffer), count > 0 { data.append(contentsOf: buffer[..<count]) }
        #expect(body.count == data.count)
        return data
    }

    @Test func `A form is exactly these bytes`() throws {
        var form = MultipartForm(boundary: "B")
        form.append("ä", name: "te\"xt")
        form.append(Data([0, 13, 10]), name: "data", fileName: "a.png")
        #expect(
            try body(form)
                == Data(
                    ("--B\r\nContent-Disposition: form-data; name=\"te\\\"xt\"\r\n\r\nä\r\n"
                        + "--B\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.png\"\r\n"
                        + "Content-Type: image/png\r\n\r\n\0\r\n\r\n--B--\r\n").utf8
                )
        )
    }

    @Test(.needs("python3", package: "python3")) func `Python parses the body`() async throws {
        let names = [
            "plain", "with space", "quo\"te", "back\\slash", "umlaut ä", "semi;colon", "日本.txt", "per%22cent", "a=b",
        ]
        var form = MultipartForm()
        for name in names { form.append(Data(name.utf8), name: name, fileName: name + ".txt") }
        form.append(
            Data((0...255).map { UInt8($0) }),
            name: "bytes",
            fileName: "b.bin",
            contentType: "application/x-own"
        )
        let folder = try TemporaryDirectory()
        let file = folder.url.appending(path: "big.bin")
        try Data(repeating: 42, count: 1_000_000).write(to: file)
        form.append(file: file, name: "file")
        let input = Data("MIME-Version: 1.0\r\nContent-Type: \(form.contentType)\r\n\r\n".utf8) + (try body(form))
        let output = try await Python.run(
            """
            import sys, json, hashlib, email, email.policy
            message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.HTTP)
            def text(s): return s.encode("utf-8", "surrogateescape").decode("utf-8")
            print(json.dumps([[
                text(part.get_param("name", header="content-disposition", unquote=True)),
                text(part.get_filename() or ""), part.get_content_type(),
                hashlib.sha256(part.get_payload(decode=True)).hexdigest(), len(part.get_payload(decode=True))
            ] for part in message.iter_parts()]))
            """,
            input: input
        )
        let parts = try JSONValue(parsing: output)
        #expect(parts.count == names.count + 2)
        for (index, name) in names.enumerated() {
            #expect(parts[index][0].string == name)
            #expect(parts[index][1].string == name + ".txt")
            #expect(parts[index][2].string == "text/plain")
            #expect(parts[index][4].int == name.utf8.count)
        }
        #expect(parts[names.count][2].string == "application/x-own")
        #expect(parts[names.count][4].int == 256)
        #expect(parts[names.count][3].string == "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880")
        #expect(parts[names.count + 1][1].string == "big.bin")
        #expect(parts[names.count + 1][4].int == 1_000_000)
    }

    @Test func `Names cannot add fields`() {
        #expect(MultipartForm.Part.quote("a\r\nX: y\0") == "a%0D%0AX: y%00")
        var form = MultipartForm()
        form.append(Data(), name: "a", contentType: "text/plain\r\nX: y")
        #expect(throws: NetworkError.self) { try form.body() }
    }

    @Test func `A file that cannot be read is an error`() {
        var form = MultipartForm()
        form.append(file: URL(filePath: "/nowhere/file"), name: "f")
        #expect(throws: NetworkError.self) { try form.body() }
        var folder = MultipartForm()
        folder.append(file: URL(filePath: "/tmp"), name: "f")
        #expect(throws: NetworkError.self) { try folder.body() }
    }

    @Test func `Types follow from path extensions`() {
        #expect(MIMEType.forPathExtension("PNG") == "image/png")
        #expect(MIMEType.forPathExtension("") == "application/octet-stream")
    }
}
