extension BrokenFile {
    /// Files with syntax that other formats allow or define differently.
    static let habits: [BrokenFile] = [
        BrokenFile(
            "a setting with the name that check-config prints",
            "logFile.path: 7\n",
            reports: [
                "indicator.yaml:1:1: error: unknown key 'logFile.path'; the settings of a backend are in its section: write 'logFile: {path: 7}'"
            ]
        ),
        BrokenFile(
            "a number for a path",
            "logFile:\n  path: 7\n",
            reports: [
                "indicator.yaml:2:9: error: 'path': expected the path of a file, found '7'; put it in quotes if the file has that name"
            ]
        ),
        BrokenFile(
            "a format that is only a placeholder, without quotes",
            "terminalTitle:\n  format: {label}\n",
            reports: [
                "indicator.yaml:2:11: error: 'format': expected a string, found a section ('key: value'); put quotes around a string that begins with '{'"
            ]
        ),
        BrokenFile(
            "a comment of another language on its own line",
            "// the delay\nstartDelay: 1\n",
            reports: [
                "indicator.yaml:1:1: error: a comment begins with '#', not with '//'"
            ]
        ),
        BrokenFile(
            "a comment of another language after a value",
            "startDelay: 1 // seconds\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found '1 // seconds'; a comment begins with '#', not with '//'"
            ]
        ),
        BrokenFile(
            "a comment of another language in JSON, and another mistake",
            "{\n  \"startDelay\": 1, // seconds\n  \"completionDelay\": /* soon */ \"x\"\n}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:2:20: error: expected a string, found '/'; JSON has no comments"
            ]
        ),
        BrokenFile(
            "a comment of another language before JSON",
            "/* mine */\n{\"startDelay\": 1}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:1:1: error: expected a value, found '/'; JSON has no comments"
            ]
        ),
        BrokenFile(
            "slashes in a JSON string, which are not a comment",
            "{\"logFile\": {\"path\": \"/a // b\", \"keep\": -1}}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:1:41: error: 'keep': expected a whole number from 0 to 100, found '-1'"
            ]
        ),
        BrokenFile(
            "a JSON comma at the end of a YAML line",
            "startDelay: 1,\nenabled: true,\n",
            reports: [
                "indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found '1,'; remove the comma at the end",
                "indicator.yaml:2:10: error: 'enabled': expected true or false, found 'true,'; remove the comma at the end",
            ]
        ),
        BrokenFile(
            "a comma after a list",
            "backends: [logFile],\n",
            reports: [
                "indicator.yaml:1:20: error: unexpected ','; remove it"
            ]
        ),
        BrokenFile(
            "a comma after the last value in JSON",
            "{\"startDelay\": 1,}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:1:18: error: expected a string, found '}'; remove the comma before it"
            ]
        ),
        BrokenFile(
            "a section below a setting that is a text",
            "terminalTitle:\n  format:\n    label: x\n",
            reports: [
                "indicator.yaml:3:5: error: 'format': expected a string, found a section ('key: value')"
            ]
        ),
        BrokenFile(
            "two commas in JSON",
            "{\"startDelay\": 1,, \"enabled\": true}\n",
            file: "indicator.json",
            reports: [
                "indicator.json:1:18: error: expected a string, found ','"
            ]
        ),
        BrokenFile(
            "a byte order mark in the middle, where two files were joined",
            "startDelay: 1\n\u{FEFF}enabled: true\n",
            reports: [
                "indicator.yaml:2:1: error: the character U+FEFF is not allowed here; remove it"
            ]
        ),
    ]
}
