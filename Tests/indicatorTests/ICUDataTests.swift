import TestSupport

@Suite("ICU's data, which `Scripts/install` leaves out of `indicator`")
struct ICUDataTests {
    @Test("nothing that `indicator` is made of reads it")
    func sources() throws {
        // What silently gives another result without the data: `1234.4999999999998` for `1234.5.formatted()`.
        // The texts of NSError (`localizedDescription`) are no such thing.
        let readers =
            /\.formatted\(|(Date|Number|Count|Components)Formatter\b|NSRegular|\bCalendar\b|\.localized(?!Desc|Fail)/
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
        for folder in ["IndicatorCore", "Backends", "IndicatorCommands", "indicator"] {
            let files = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            for file in files where file.hasSuffix(".swift") {
                let text = try String(contentsOf: root.appending(path: "\(folder)/\(file)"), encoding: .utf8)
                for line in text.split(separator: "\n") {
                    let code = line.prefix { $0 != "/" }
                    let isReader = code.contains(readers)
                    #expect(!isReader, "\(file): \(line)")
                }
            }
        }
    }
}
