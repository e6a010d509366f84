package import ArgumentParser

/// `shell-init`: the code with which a shell reports long commands.
package struct ShellInitCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "shell-init",
        abstract: "Print code for a shell that leaves a notification for every long command.",
        discussion: """
            Add one of these lines to the end of the shell's startup file:

              eval "$(indicator shell-init bash)"      ~/.bashrc (bash 5.1 or later)
              eval "$(indicator shell-init zsh)"       ~/.zshrc
              indicator shell-init fish | source       ~/.config/fish/config.fish

            The label is the name of the first command, with its first argument if that is a plain word. Short \
            commands start no process. Editors, pagers, 'ssh' and the like are not reported; the environment variable \
            \(Self.ignoreVariable) names the commands to ignore instead: export \(Self.ignoreVariable)='vim less', or \
            'vim:git log'.
            """
    )

    /// The environment variable with the commands that are not reported.
    package static let ignoreVariable = "INDICATOR_IGNORE"
    /// The environment variable with which the shell passes the line. Other users can read arguments.
    package static let lineVariable = "INDICATOR_TYPED_LINE"
    /// The environment variable with the definitions of the shell's aliases.
    package static let aliasesVariable = "INDICATOR_TYPED_ALIASES"

    /// The shells for which there is code.
    package enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish
    }

    @Argument(help: "The shell: bash, zsh or fish.")
    var shell: Shell

    @Option(help: ArgumentHelp("Only report commands that lasted this many whole seconds.", valueName: "number"))
    var after: UInt32 = 10

    package init() {}

    package func run() async throws {
        try await Output.guarding { try Output.standard.write(Self.code(for: shell, after: after)) }
    }

    /// - Parameter seconds: how long a command must have lasted.
    package static func code(for shell: Shell, after seconds: UInt32) -> String {
        let report = "indicator exec --lasted $lasted --after \(seconds) -- sh -c \"exit $result\""
        return switch shell {
        // An inherited variable would be evaluated as arithmetic, and could run a command. `$?` and PIPESTATUS are the
        // same for every element of PROMPT_COMMAND. The prompt's `\!`, the number of the next line in the history, is
        // compared, because a line may not be in there.
        case .bash:
            #"""
            if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then
                echo "indicator: 'shell-init' needs bash 5.1 or later" >&2
            else
                unset -v indicator_began indicator_number indicator_job indicator_jobs
                indicator_began= indicator_number= indicator_job= indicator_jobs=()
                indicator_done() {
                    local result=$? began=${indicator_began//[!0-9]/} number='\!' line= lasted
                    indicator_began=
                    if [[ -z $began ]]; then return 0; fi
                    lasted=$(((${EPOCHREALTIME//[!0-9]/} - began) / 1000000)) number=${number@P}
                    if ((lasted < \#(seconds) && (result < 147 || result > 150))); then return 0; fi
                    if [[ $number == "$((indicator_number + 1))" ]]; then
                        line=$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null)
                        # Without its number.
                        line=${line#"${line%%[![:space:]]*}"} line=${line#*[[:space:]]}
                        line=${line#"${line%%[![:space:]]*}"} line=${line%"${line##*[![:space:]]}"}
                    fi
                    if [[ $line == fg || $line == fg[[:space:]]* || $line == %* ]]; then
                        number=${line#fg} number=${number//[[:space:]%+]/} number=${number:-$indicator_job} line=
                        if [[ -n $number && -z ${number//[0-9]/} ]]; then
                            number=$((10#$number)) line=${indicator_jobs[number]-}
                            unset -v "indicator_jobs[number]"
                        fi
                        if [[ -z $line ]]; then return 0; fi
                    fi
                    if ((result >= 147 && result <= 150)); then
                        number=$(builtin jobs %+ 2>/dev/null)
                        number=${number#[} number=${number%%]*}
                        if [[ -n $number && -z ${number//[0-9]/} ]]; then
                            indicator_job=$number indicator_jobs[number]=$line
                        fi
                        return 0
                    fi
                    (\#(lineVariable)=$line \#(aliasesVariable)=$(builtin alias) \#(report) &) &>/dev/null
                    return 0
                }
                if [[ ${PROMPT_COMMAND[*]-} != *indicator_done* ]]; then
                    PS0='${indicator_began:0:$((indicator_began = ${EPOCHREALTIME//[!0-9]/}, 0))}'${PS0-}
                    PROMPT_COMMAND=(indicator_done "${PROMPT_COMMAND[@]}"
                        'indicator_number="\!"; indicator_number=${indicator_number@P}')
                fi
            fi

            """#
        // With the third argument of preexec, in which aliases are replaced.
        case .zsh:
            #"""
            zmodload zsh/datetime zsh/parameter
            unset indicator_began indicator_line
            indicator_start() {
                emulate -L zsh
                typeset -g indicator_began=$EPOCHREALTIME indicator_line=$3
                local -a words=(${(z)3})
                if [[ $words[1] == (fg|%*) ]]; then
                    local job=${${words[-1]#fg}#%}
                    [[ $job == <-> ]] || job=${(k)jobstates[(r)*:+:*]}
                    indicator_line=${jobtexts[$job]:--}
                fi
            }
            indicator_done() {
                local result=$?
                emulate -L zsh
                [[ -n ${indicator_began-} && $indicator_line != - ]] || return 0
                local -i lasted=$((EPOCHREALTIME - indicator_began))
                indicator_began=
                (( lasted >= \#(seconds) && (result < 147 || result > 150) )) || return 0
                (\#(lineVariable)=$indicator_line \#(report) &) >/dev/null 2>&1
            }
            autoload -Uz add-zsh-hook
            add-zsh-hook preexec indicator_start
            add-zsh-hook precmd indicator_done

            """#
        // A job that was not stopped before is that of the line: it has not ended.
        case .fish:
            #"""
            function indicator_stopped
                jobs | string match -r '^\d+(?=\t.*\tstopped\t)'
            end
            function indicator_start --on-event fish_preexec
                set -g indicator_line $argv[1]
                set -g indicator_jobs (indicator_stopped)
                if string match -qr '^\s*fg\b' -- $argv[1]
                    set -l id (string match -r '\d+' -- $argv[1])
                    test -n "$id"; or set id (jobs --last | string match -r '^\d+')
                    set -g indicator_line (jobs | string match -r "^(?:$id\\t.*|\\d+\\t$id\\t.*)" | string split \t)[-1]
                    test -n "$id"; and set -g indicator_jobs (string match -v -- $id $indicator_jobs)
                end
            end
            function indicator_done --on-event fish_postexec
                set -l result $status
                test $CMD_DURATION -ge \#(UInt64(seconds) * 1000); or return
                for id in (indicator_stopped)
                    contains -- $id $indicator_jobs; or return
                end
                test -n "$indicator_line"; or return
                # Without the program there is no job to disown, and the last one is the user's.
                command -q indicator; or return
                set -l lasted (math "round($CMD_DURATION / 1000)")
                \#(lineVariable)=$indicator_line \#(aliasesVariable)=(alias | string collect) \
                    \#(report) >/dev/null 2>&1 &
                disown $last_pid 2>/dev/null
            end

            """#
        }
    }
}
