extension BrokenFile {
    /// Files with syntax that other formats allow or define differently.
    static let habits: [BrokenFile] = [
        BrokenFile(
            "a setting with the name that check-config prints",
            "logFile.path: 7\n",
            "1:1: unknown key 'logFile.path'; write 'logFile: {path: …}'"
        ),
        BrokenFile(
            "a comment of another language on its own line",
            "// the delay\nstartDelay: 1\n",
            "2:11: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is none), the indentation is wrong, or a text with ': ' in it needs quotes"
        ),
        BrokenFile(
            "a comment of another language in JSON, and another mistake",
            "{\n  \"startDelay\": 1, // seconds\n  \"completionDelay\": /* soon */ \"x\"\n}\n",
            file: "indicator.json",
            "2:20: expected a string, found '/'"
        ),
        BrokenFile(
            "slashes in a JSON string, which are not a comment",
            "{\"logFile\": {\"path\": \"/a // b\", \"keep\": -1}}\n",
            file: "indicator.json",
            "1:41: 'keep': expected a whole number from 0 to 100, found '-1'"
        ),
        BrokenFile(
            "a comma after the last value in JSON",
            "{\"startDelay\": 1,}\n",
            file: "indicator.json",
            "1:18: expected a string, found '}'"
        ),
        BrokenFile(
            "a section below a setting that is a text",
            "terminalTitle:\n  format:\n    label: x\n",
            "3:5: 'format': expected a string, found a section ('key: value')"
        ),
        BrokenFile(
            "a byte order mark in the middle, where two files were joined",
            "startDelay: 1\n\u{FEFF}enabled: true\n",
            "2:1: the character U+FEFF is not allowed here; remove it"
        ),
    ]
}
