extension BrokenFile {
    static let values = cases(
        #"""
        # wrong values, each at its place
        startDelay: -1
        > 1:13: 'startDelay': expected a number of seconds, zero or more, found '-1'
        completionDelay:
        > 2:1: 'completionDelay': expected a number of seconds, zero or more, found nothing
        minimumVisibleTime: null
        > 3:21: 'minimumVisibleTime': expected a number of seconds, zero or more, found nothing
        observe: [indicator, alamofir]
        > 4:22: 'observe': expected one of indicator, alamofire, found 'alamofir', did you mean 'alamofire'?
        terminalTitle: {progress: always, title: Off}
        > 5:27: 'progress': expected one of auto, on, off, found 'always'
        > 5:42: 'title': expected one of auto, on, off, found 'Off', did you mean 'off'?
        # of two letters, which is nearly another word | terminalTitle: {title: no}
        > 1:24: 'title': expected one of auto, on, off, found 'no'
        # wrong numbers and sizes | logFile: {maxSize: 10 MByte, keep: 1001}
        > 1:20: 'maxSize': expected a number of bytes such as 1 MiB, found '10 MByte'
        > 1:36: 'keep': expected a whole number from 0 to 1000, found '1001'
        # wrong paths
        logFile: {path: ""}
        > 1:17: 'path': expected the path of a file, found an empty string
        tilde: {kind: logFile, path: ~}
        > 2:30: 'path': expected the path of a file, found nothing; put a text like this in quotes
        other-user: {kind: logFile, path: ~root/indicator.log}
        > 3:35: 'path': expected the path of a file, found '~root/indicator.log'
        list: {kind: logFile, path: [/tmp/a.log]}
        > 4:29: 'path': expected the path of a file, found a list; put a text like this in quotes
        # wrong texts
        terminalTitle: {format: "a\0b"}
        > 1:25: 'format': the text contains a NUL character (U+0000); remove it
        placeholder: {kind: terminalTitle, format: "{spiner} {label}"}
        > 2:44: 'format': expected a format with known placeholders (unknown placeholder '{spiner}' at character 1, \#
        did you mean '{spinner}'? For a brace, write '{{'), found '{spiner} {label}'
        bars: {kind: terminalProgress, template: "{label} {bar:40.cyna}"}
        > 3:42: 'template': expected a template with known placeholders (unknown style 'cyna' at \#
        character 17, did you mean 'cyan'?), found '{label} {bar:40.cyna}'
        braces: {kind: terminalTitle, format: {label}}
        > 4:39: 'format': expected a string, found a section ('key: value'); put a text like this in quotes
        below:
          kind: terminalTitle
          format:
            label: x
        > 8:5: 'format': expected a string, found a section ('key: value')
        # wrong commands
        command: {run: [sh, -c, "echo ${HOME}"], timeLimit: 0}  # a time that would end each program at once
        > 1:16: 'run': expected arguments with known placeholders (unknown placeholder '{HOME}' at character 7; \#
        known are {event} {app} {title} {text} {outcome} {message} {seconds}; write '{{' and '}}' for literal \#
        braces), found '[sh, -c, "echo ${HOME}"]'
        > 1:53: 'timeLimit': expected a number of seconds above zero, found '0'
        program: {kind: command, run: [awk, '{titel}']}
        > 2:31: 'run': expected arguments with known placeholders (unknown placeholder '{titel}' at character 1, \#
        did you mean '{title}'? For a brace, write '{{'), found '[awk, "{titel}"]'
        line: {kind: command, run: "notify-phone '{title}'"}
        > 3:28: 'run': expected a list such as [notify-phone, "{title}"], found 'notify-phone '{title}''
        comma: {kind: command, run: 'say "a, b" {title}'}
        > 4:29: 'run': expected a list such as [say, "a, b", "{title}"], found 'say "a, b" {title}'
        none: {kind: command, run: []}
        > 5:28: 'run': expected a program and its arguments, found '[]'
        # a required setting that is missing, beside another mistake
        backends: [command]
        command: {timeLimit: x}
        > 2:1: 'command' needs 'run', a string or a list of strings
        > 2:22: 'timeLimit': expected a number of seconds above zero, found 'x'
        # a required setting that is missing without a section | backends: [command]
        > 1:12: 'command' needs 'run', a string or a list of strings
        """#
    )

    static let structure = cases(
        #"""
        # unknown keys
        startdelay: 1
        > 1:1: unknown key 'startdelay', did you mean 'startDelay'?
        colour: red
        > 2:1: unknown key 'colour'; it is no section with a 'kind', and known keys are: enabled, startDelay, \#
        completionDelay and 17 more
        logFile: {fromat: text, colour: red}
        > 3:11: unknown key 'fromat' in 'logFile', did you mean 'format'?
        > 3:25: unknown key 'colour' in 'logFile'; settings of logFile: path, format, maxSize and 3 more
        path: /tmp/a.log
        > 4:1: unknown key 'path'; it is a setting of 'logFile', below which it must be indented
        logFile.path: 7  # as check-config prints it
        > 5:1: unknown key 'logFile.path'; write 'logFile: {path: …}'
        "start\e[2JDelay": 1
        > 6:1: unknown key 'start\u{001B}[2JDelay', did you mean 'startDelay'?
        # what may be a secret is not shown
        mqtt.password:hunter2: 1
        > 1:1: unknown key 'mqtt.password:…'; it is no section with a 'kind', and known keys are: enabled, \#
        startDelay, completionDelay and 17 more
        logFile: {path: /a.log, password:hunter2}
        > 2:25: unknown key 'password:…' in 'logFile'; settings of logFile: path, format, maxSize and 3 more
        # JSON: a text without quotes, which may be a secret | {"logFile": {"password": hunter2}}
        > 1:14: unknown key 'password' in 'logFile'; settings of logFile: path, format, maxSize and 3 more
        # wrong names of backends
        backends:
          - terminalTitle
          - terminalTitle
        > 3:5: 'backends': 'terminalTitle' is duplicated
          - telegraph
        > 4:5: unknown backend 'telegraph'; expected a section with a 'kind', or one of: terminalTitle, \#
        desktopNotification, dbusProperty and 11 more
          - logfile
        > 5:5: unknown backend 'logfile', did you mean 'logFile'?
          - audit
        > 6:5: unknown backend 'audit'; expected a section with a 'kind', or one of: terminalTitle, \#
        desktopNotification, dbusProperty and 11 more
          - [logFile]
        > 7:5: 'backends': expected a text, found a list
          - null
        > 8:5: 'backends': expected a text, found nothing
        logfile: {path: /tmp/a.log}
        > 9:1: unknown key 'logfile', did you mean 'logFile'?
        audit: {path: /tmp/a.log}
        > 10:1: unknown key 'audit'; it is no section with a 'kind', and known keys are: enabled, startDelay, \#
        completionDelay and 17 more
        other: {kind: logFile}
        # a map where a list of backends belongs
        backends:
          terminalTitle: true
        > 2:3: 'backends': expected a list of names, found a section ('key: value')
        # wrong kinds of sections
        backends: [command, audit]
        command: /bin/sh
        > 2:10: 'command': expected a section with the settings of command, found a text
        audit: {kind: logfile, path: /tmp/a.log}
        > 3:15: unknown kind 'logfile', did you mean 'logFile'?
        terminalTitle: {kind: logFile, path: /tmp/a.log}
        > 4:23: 'kind': a section named 'terminalTitle' is of that kind; give the other one another name
        list: {kind: [logFile]}
        > 5:14: 'kind': expected the name of a kind, found a list
        # wrong names of sections
        backends: [auto]
        auto: {kind: logFile, path: /a.log}
        > 2:1: 'auto' cannot name a backend; expected letters, digits, '-' and '_' after a letter, and not 'auto'
        my log!: {kind: logFile, path: /tmp/a.log}
        > 3:1: 'my log!' cannot name a backend; expected letters, digits, '-' and '_' after a letter, and not 'auto'
        # a list for the whole file
        - startDelay: 1
        > 1:1: expected lines such as 'startDelay: 1', found a list
        # no space after the only colon | startDelay:1
        > 1:1: expected lines such as 'startDelay: 1', found 'startDelay:…'
        # a no-break space after the only colon | startDelay:\#u{A0}1
        > 1:1: expected lines such as 'startDelay: 1', found 'startDelay:\u{00A0}…'
        # a duplicate key of a section, whose name is in another one, too
        logFile:
          keep: 1
        terminalTitle:
          title: on
          title: off
        > 5:3: the key 'title' is duplicated
        # a duplicate key in braces after another one that ends as it does | logFile: {path: /a, xpath: /c, path: /b}
        > 1:32: the key 'path' is duplicated
        # a duplicate key with an escape, after two others in other sections
        logFile: {path: /a, path: /b}
        > 1:21: the key 'path' is duplicated
        terminalTitle: {title: on, title: off}
        "\x73tartDelay": 1
        startDelay: 2
        # a duplicate key with an escape
        startDelay: 1
        "start\x44elay": 2
        > 2:1: the key 'startDelay' is duplicated
        # a duplicate key with a space and with quotes
        startDelay : 1
        "startDelay": 2
        > 2:1: the key 'startDelay' is duplicated
        # JSON: a duplicate key on one line | {"startDelay":1,"completionDelay":2,"startDelay":3}
        > 1:37: the key 'startDelay' is duplicated
        # JSON: an unknown key below tabs, which may be there
        {
        \#t"startDelay": "1",
        \#t"backend": []
        > 3:2: unknown key 'backend', did you mean 'backends'?
        }
        """#
    )

    /// What is not YAML, or YAML that a config file may not use.
    static let syntax = cases(
        #"""
        # a format without quotes that is not YAML | format: {spinner} {label}
        > 1:19: expected 'key: value' here; check the indentation of the line, and put quotes around a text with \#
        brackets or quotes in it
        # a syntax error, which hides the mistakes before and after it
        startdelay: 1
        format: busy: {label}
        > 2:13: unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is \#
        none), the indentation is wrong, or a text with ': ' in it needs quotes
        completionDelay: @
        enabled: maybe
        # a comment of another language
        // the delay
        startDelay: 1
        > 2:11: unexpected ':'…
        # a quote that is not closed
        startDelay: 1
        format: "busy
        > 2:9: this string has no closing quote
        startdelay: 2
        # an unknown escape | format: "a\qb"
        > 1:11: unknown escape after '\'; write '\\' for a backslash, or put the string in single quotes
        # a list in brackets that is not closed
        backends: [terminalTitle, logFile
        startDelay: 1
        > 2:11: expected ',' or the end of what begins with a bracket in line 1, column 11
        # a value that begins with an at sign | format: @app
        > 1:9: a value cannot begin with this character; put quotes around it
        # a line indented too little
        terminalTitle:
            progress: on
          format: x
        > 3:3: expected 'key: value' here…
        # a first line that is indented
          startDelay: 1
        completionDelay: 0.2
        > 2:1: expected 'key: value' here…
        # a tab after a space as indentation
        terminalTitle:
         \#tprogress: on
        > 2:2: found a tab; YAML is indented with spaces
        # a pattern that begins with an asterisk | path: *.log
        > 1:7: a value cannot begin with '*' or '!'; put quotes around it
        # an alias of an anchor, which may stand for billions of values
        one: &one [x, x]
        backends: [*one, *one]
        > 2:12: a value cannot begin with '*' or '!'; put quotes around it
        # an asterisk with a combining mark | path: *\#u{301}.log
        > 1:7: a value cannot begin with '*' or '!'; put quotes around it
        # a value with a tag | format: !secret title
        > 1:9: a value cannot begin with '*' or '!'; put quotes around it
        # a second document
        startDelay: 1
        ---
        > 2:1: syntax error: expected a single document in the stream: but found another document
        startDelay: 2
        # a key that is a list
        ? [a, b]
        : 1
        > 1:3: expected a name before ':'
        # a control character | format: a\#u{7}b
        > 1:10: the character U+0007 is not allowed here; remove it
        # the character that stands for an asterisk while the file is read | format: a\#u{10FFFF}b
        > 1:10: the character U+10FFFF is not allowed here; remove it
        # the character that an editor puts in place of invalid bytes, in valid UTF-8 | startDelay: 1 # \#u{FFFD}
        > 1:17: the character U+FFFD is not allowed here; remove it
        # a byte order mark in the middle, where two files were joined
        startDelay: 1
        \#u{FEFF}enabled: true
        > 2:1: the character U+FEFF is not allowed here; remove it
        # JSON: a text that is cut off
        {
          "startDelay": 1,
          "backends": ["logFile"
        > 4:1: expected ',' or the end of what begins with a bracket in line 3, column 15
        }
        # JSON: half of a surrogate pair | {"terminalTitle": {"format": "\ud83d"}}
        > 1:33: syntax error: while parsing a quoted scalar: found invalid Unicode character escape code
        # JSON: a comma after the last value, which may be there, and two of them
        {"startDelay": 1, "backends": ["terminalTitle",],, }
        > 1:50: expected a value here
        # JSON: no comma, below tabs, which may be there
        {
        \#t"startDelay": "1"
        \#t"enabled": true
        > 3:2: expected ',' or the end of what begins with a bracket in line 1, column 1
        }
        """#
    )
}
