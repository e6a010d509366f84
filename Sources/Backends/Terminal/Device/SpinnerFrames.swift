import DisplayText

/// The characters of an animation that shows that work is in progress.
enum SpinnerFrames {
    private static let braille = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
    private static let ascii = ["|", "/", "-", "\\"]

    /// The frames, in order.
    static func all(in charset: Charset) -> [String] { charset == .utf8 ? braille : ascii }
}
