package import ArgumentParser

/// `shell-init`: the code with which a shell reports long commands.
package struct ShellInitCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "shell-init",
        abstract: "Print code for a shell that leaves a notification for every long command.",
        discussion: """
            Add one of these lines to the end of the shell's startup file:

              eval "$(indicator shell-init bash)"      ~/.bashrc (bash 4.4 or later)
              eval "$(indicator shell-init zsh)"       ~/.zshrc
              indicator shell-init fish | source       ~/.config/fish/config.fish

            The label is the line without the assignments before its commands. Short commands start no process. \
            Editors, pagers, 'ssh' and the like are not reported; the environment variable \
            \(Self.ignoreVariable) names the commands to ignore instead, separated by spaces or colons.
            """
    )

    /// The environment variable with the commands that are not reported.
    package static let ignoreVariable = "INDICATOR_IGNORE"
    /// The environment variable with which the shell passes the line. Other users can read arguments.
    package static let lineVariable = "INDICATOR_TYPED_LINE"

    /// The shells for which there is code.
    package enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish
    }

    @Argument(help: "The shell: bash, zsh or fish.")
    var shell: Shell

    @Option(help: ArgumentHelp("Only report commands that lasted this long.", valueName: "seconds"))
    var after = 10

    package init() {}

    package func validate() throws {
        guard (0...1_000_000_000).contains(after) else {
            throw ValidationError("--after is '\(after)'; it must be a number of seconds, 0 or more")
        }
    }

    package func run() throws {
        try Output.standard.write(Self.code(for: shell, after: after))
    }

    /// - Parameter seconds: how long a command must have lasted.
    package static func code(for shell: Shell, after seconds: Int) -> String {
        let report = "indicator exec --lasted $lasted --after \(seconds) -- sh -c \"exit $result\""
        return switch shell {
        // An inherited variable would be evaluated as arithmetic, and could run a command.
        case .bash:
            #"""
            unset -v indicator_began
            indicator_done() {
                local result=$? lasted=$((SECONDS - ${indicator_began:-(SECONDS + 1)})) line
                indicator_began=
                if ((lasted >= \#(seconds))); then
                    line=$(HISTTIMEFORMAT= history 1)
                    line=${line#"${line%%[![:space:]]*}"}
                    line=${line#*[[:space:]]}
                    (\#(lineVariable)=$line \#(report) &) &>/dev/null
                fi
                return "$result"
            }
            if [[ ${PROMPT_COMMAND-} != *indicator_done* ]]; then
                PS0='${indicator_began:0:$((indicator_began = SECONDS, 0))}'${PS0-}
                PROMPT_COMMAND="indicator_done${PROMPT_COMMAND:+; $PROMPT_COMMAND}"
            fi

            """#
        case .zsh:
            #"""
            unset indicator_began indicator_line
            indicator_start() { typeset -g indicator_began=$SECONDS indicator_line=$1 }
            indicator_done() {
                local result=$? lasted
                [[ -n $indicator_began ]] || return 0
                lasted=$((${SECONDS%.*} - ${indicator_began%.*}))
                indicator_began=
                (( lasted >= \#(seconds) )) || return 0
                (\#(lineVariable)=$indicator_line \#(report) &) >/dev/null 2>&1
            }
            autoload -Uz add-zsh-hook
            add-zsh-hook preexec indicator_start
            add-zsh-hook precmd indicator_done

            """#
        case .fish:
            #"""
            function indicator_done --on-event fish_postexec
                set -l result $status
                test $CMD_DURATION -ge \#(seconds * 1000); or return
                set -l lasted (math "round($CMD_DURATION / 1000)")
                # Stopped, for example by Ctrl-Z, not ended.
                set -l job (jobs --last | string split \t)
                test "$job[4]" = stopped; and contains -- "$job[5]" $argv[1]; and return
                \#(lineVariable)=$argv[1] \#(report) >/dev/null 2>&1 &
                disown
            end

            """#
        }
    }
}
