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
        let lines = [
            "--B", #"Content-Disposition: form-data; name="te\"xt""#, "", "ä", "--B",
            #"Content-Disposition: form-data; name="data"; filename="a.png""#, "Content-Type: image/png", "",
            "\0\r\n", "--B--", "",
        ]
        #expect(try body(form) == Data(lines.joined(separator: "\r\n").utf8))
    }

    @Test(.needs("python3", package: "python3")) func `Python parses the body`() async throws {
        let names = [
            "plain", "with space", "quo\"te", "back\\slash", "umlaut ä", "semi;colon", "日本.txt", "per%22cent", "a=b",
        ]
        var form = MultipartForm()
        for name in names { form.append(Data(name.utf8), name: name, fileName: name + ".txt") }
        form.append(Data(0...255), name: "bytes", fileName: "b.bin", contentType: "application/x-own")
        let folder = try TemporaryDirectory()
        let file = try folder.write(String(repeating: "*", count: 1_000_000), to: "big.bin")
        form.append(file: URL(filePath: file), name: "file")
        let input = Data("MIME-Version: 1.0\r\nContent-Type: \(form.contentType)\r\n\r\n".utf8) + (try body(form))
        let output = try await Python.run(
            """
            import sys, json, hashlib, email, email.policy
            message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.HTTP)
            def text(s): return s.encode("utf-8", "surrogateescape").decode("utf-8")
            print(json.dumps([", ".join([
                text(part.get_param("name", header="content-disposition", unquote=True)),
                text(part.get_filename() or ""), part.get_content_type(), str(len(part.get_payload(decode=True))),
                hashlib.sha256(part.get_payload(decode=True)).hexdigest()
            ]) for part in message.iter_parts()]))
            """,
            input: input
        )
        let hash = "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880"
        let expected =
            names.map { "\($0), \($0).txt, text/plain, \($0.utf8.count)" }
            + ["bytes, b.bin, application/x-own, 256, \(hash)", "file, big.bin, application/octet-stream, 1000000"]
        let parts = try #require(try JSONValue(parsing: output).array)
        #expect(parts.count == expected.count)
        for (part, expected) in zip(parts, expected) { #expect(part.string?.hasPrefix(expected) == true) }
    }

    @Test func `Names cannot add fields`() {
        #expect(MultipartForm.Part.quote("a\r\nX: y\0") == "a%0D%0AX: y%00")
        var form = MultipartForm()
        form.append(Data(), name: "a", contentType: "text/plain\r\nX: y")
        #expect(throws: NetworkError.self) { try form.body() }
    }

    @Test func `A file that cannot be read is an error`() {
        for path in ["/nowhere/file", "/tmp"] {
            var form = MultipartForm()
            form.append(file: URL(filePath: path), name: "f")
            #expect(throws: NetworkError.self) { try form.body() }
        }
    }

    @Test func `Types follow from path extensions`() {
        #expect(MIMEType.forPathExtension("PNG") == "image/png")
        #expect(MIMEType.forPathExtension("") == "application/octet-stream")
    }
}
