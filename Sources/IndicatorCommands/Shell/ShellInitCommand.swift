package import ArgumentParser

/// `shell-init`: the code with which a shell reports long commands.
package struct ShellInitCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "shell-init",
        abstract: "Print code for a shell that leaves a notification for every long command.",
        discussion: """
            Add one of these lines to the end of the shell's startup file:

              eval "$(indicator shell-init bash)"      ~/.bashrc (bash 4.4 or later)
              eval "$(indicator shell-init zsh)"       ~/.zshrc
              indicator shell-init fish | source       ~/.config/fish/config.fish

            The notification names the line's command, with a known subcommand as in 'cargo build', but nothing \
            that may be secret. Editors, pagers, 'ssh' and the like are not reported; \(Self.ignoreVariable) names \
            the commands to ignore instead: export \(Self.ignoreVariable)='vim less', or 'vim:git log'.
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

    // Unconditional: "-3" is a wrong number, not another option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only report commands that lasted this many whole seconds.", valueName: "seconds")
    )
    var after: UInt32 = 10

    package init() {}

    package func run() async throws {
        try Output.standard.write(Self.code(for: shell, after: after))
    }

    /// - Parameter seconds: how long a command must have lasted.
    package static func code(for shell: Shell, after seconds: UInt32) -> String {
        let bashStatuses = #""${indicator_statuses[@]}""#
        // The arguments of `sh` are the statuses of the commands of the last pipeline.
        func report(_ lasted: String, _ status: String, _ statuses: String) -> String {
            "indicator exec --lasted \(lasted) --after \(seconds) -- sh -c \"exit \(status)\" \(statuses)"
        }
        return switch shell {
        // An inherited variable would be evaluated as arithmetic, and could run a command. `$?` and PIPESTATUS are the
        // same for every element of PROMPT_COMMAND. Before bash 5.1, there is only one, which keeps `$?` for the user's
        // commands; and `\!`, the number of the next line in the history, is no number there. It is compared, because a
        // line may not be in the history; `indicator_last` is the last command of the last line that is. The head of a
        // `for` reads BASH_COMMAND, the last command, before it changes that. A prompt in the mode `posix` has no `!`.
        case .bash:
            #"""
            if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
                echo "indicator: 'shell-init' needs bash 4.4 or later" >&2
            elif ! (unset -v PS0 PROMPT_COMMAND ${!indicator_@} && unset -f indicator_done) 2>/dev/null; then
                echo "indicator: 'shell-init' cannot work: PS0, PROMPT_COMMAND or an 'indicator_' name is read-only" >&2
            elif ! shopt -q promptvars; then
                echo "indicator: 'shell-init' cannot work: it needs 'shopt -s promptvars'" >&2
            else
                unset -v ${!indicator_@}
                indicator_clock='${EPOCHREALTIME//[^0-9]/}' indicator_count='\!'
                if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then
                    indicator_clock='\D{%s}000000' indicator_count='$(builtin history 1)'
                fi
                indicator_began= indicator_number= indicator_command= indicator_last= indicator_jobs=()
                indicator_done() {
                    local indicator_result=$? indicator_statuses=("${PIPESTATUS[@]}") indicator_name
                    local indicator_lasted=${indicator_began//[!0-9]/}
                    local indicator_line indicator_key indicator_found= indicator_other= indicator_stopped=
                    local indicator_begin='?(*@([;&|({!]|do|then|else|time|if))' indicator_end='?([;&|)}<>]*)'
                    indicator_began=
                    if [[ -z $indicator_lasted ]]; then return "$indicator_result"; fi
                    indicator_lasted=$(((${indicator_clock@P} - indicator_lasted) / 1000000))
                    if ((indicator_result >= 147 && indicator_result <= 150)); then
                        indicator_stopped=$(builtin jobs -s 2>/dev/null)
                    fi
                    if ((indicator_lasted < \#(seconds))) && [[ -z $indicator_stopped ]]; then
                        return "$indicator_result"
                    fi
                    # Without its number. The operator `=~` would change the user's BASH_REMATCH.
                    indicator_line=$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null) && :
                    indicator_line=${indicator_line#*[0-9][* ][[:space:]]}
                    indicator_line=${indicator_line#"${indicator_line%%[![:space:]]*}"}
                    if [[ ${PROMPT_COMMAND[0]-} != 'for indicator_command '* ]]; then indicator_command=; fi
                    # A repeated line is not counted, and ends with the same command or another one of it; one that is
                    # not in the history at all is another one. That of a function is in its definition.
                    if [[ ${indicator_count@P} == "$indicator_number" && (-z $indicator_command ||
                        ! -o history || :${HISTCONTROL-}: != *:@(ignoredups|ignoreboth|erasedups):* ||
                        $indicator_command != "$indicator_last" && ${indicator_line//[[:space:]]/} != \
                        $indicator_begin"${indicator_command//[[:space:]]/}"$indicator_end &&
                        $(builtin declare -f -- "${indicator_line%%[[:space:]]*}") != *"$indicator_command"*) ]]; then
                        indicator_line=$indicator_command
                    fi
                    if [[ $indicator_line == @(fg|fg[[:space:]]*|%*) ]]; then
                        indicator_name=${indicator_line#fg} indicator_name=${indicator_name//[[:space:]]/}
                        indicator_name=${indicator_name#%}
                        for indicator_key in "${!indicator_jobs[@]}"; do
                            indicator_line=${indicator_jobs[indicator_key]}
                            case $indicator_name in
                            '' | [-+%]) [[ -n $indicator_line ]] || continue ;;
                            \?*) [[ ${indicator_line#* } == *"${indicator_name#?}"* ]] || continue ;;
                            *[!0-9]*) [[ ${indicator_line#* } == "$indicator_name"* ]] || continue ;;
                            *) [[ $indicator_line == "$indicator_name "* ]] || continue ;;
                            esac
                            indicator_other=$indicator_found indicator_found=$indicator_key
                        done
                        if [[ $indicator_name == - ]]; then indicator_found=${indicator_other:-$indicator_found}; fi
                        if [[ -z $indicator_found ]]; then return "$indicator_result"; fi
                        indicator_line=${indicator_jobs[indicator_found]#* }
                        unset -v "indicator_jobs[indicator_found]"
                    fi
                    if [[ -n $indicator_stopped ]]; then
                        indicator_name=$(builtin jobs %+ 2>/dev/null)
                        indicator_name=${indicator_name#[} indicator_name=${indicator_name%%]*}
                        indicator_jobs=("${indicator_jobs[@]/#"$indicator_name "*/}" "$indicator_name $indicator_line")
                    else
                        (\#(lineVariable)=$indicator_line \#(aliasesVariable)=$(builtin alias) \
                            \#(report("$indicator_lasted", "$indicator_result", bashStatuses)) &) &>/dev/null
                    fi
                    return "$indicator_result"
                }
                if [[ ${PROMPT_COMMAND[*]-} != *indicator_done* ]]; then
                    # A startup file that runs again has assigned the first element only.
                    if [[ ${PROMPT_COMMAND[*]-} == *indicator_number* ]]; then
                        PROMPT_COMMAND=("${PROMPT_COMMAND[0]}")
                    fi
                    if [[ ${PS0-} != *indicator_began* ]]; then
                        PS0='${indicator_began:0:$((indicator_began = '$indicator_clock', 0))}'${PS0-}
                    fi
                    PROMPT_COMMAND=('for indicator_command in "${BASH_COMMAND-}"; do indicator_done && :; done'
                        "${PROMPT_COMMAND[@]}" 'indicator_key=${indicator_count@P}
                        if [[ $indicator_key != "$indicator_number" ]]; then indicator_last=$indicator_command; fi
                        indicator_number=$indicator_key')
                    indicator_key=$(printf '%s\n' "${PROMPT_COMMAND[@]}")
                    if [[ $indicator_count != *! ]]; then unset -v PROMPT_COMMAND; PROMPT_COMMAND=$indicator_key; fi
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
                    case $job in
                    <->) ;;
                    -) job=${(k)jobstates[(r)*:-:*]} ;;
                    ''|[+%]) job=${(k)jobstates[(r)*:+:*]} ;;
                    \?*) job=${(k)jobtexts[(r)*${(b)job#?}*]} ;;
                    *) job=${(k)jobtexts[(r)${(b)job}*]} ;;
                    esac
                    indicator_line=${jobtexts[$job]:--}
                fi
            }
            indicator_done() {
                local -a result=($? $pipestatus)
                emulate -L zsh
                [[ -n ${indicator_began-} && $indicator_line != - ]] || return 0
                local -i lasted=$((EPOCHREALTIME - indicator_began))
                indicator_began=
                (( lasted >= \#(seconds) )) || return 0
                (( result[1] < 147 || result[1] > 150 )) || [[ -z ${(M)jobstates:#suspended*} ]] || return 0
                (\#(lineVariable)=$indicator_line \
                    \#(report("$lasted", "$result[1]", "$result[2,-1]")) &) >/dev/null 2>&1
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
                set -l result $status $pipestatus
                test $CMD_DURATION -ge \#(UInt64(seconds) * 1000); or return
                for id in (indicator_stopped)
                    contains -- $id $indicator_jobs; or return
                end
                test -n "$indicator_line"; or return
                # Whatever the job does: more statuses than commands are those of an unknown line.
                string match -qr '^\s*fg\b' -- $argv[1]; and set result 0 (seq 99)
                # Without the program there is no job to disown, and the last one is the user's.
                command -q indicator; or return
                set -l lasted (math "round($CMD_DURATION / 1000)")
                \#(lineVariable)=$indicator_line \#(aliasesVariable)=(alias | string collect) \
                    \#(report("$lasted", "$result[1]", "$result[2..-1]")) >/dev/null 2>&1 &
                disown $last_pid 2>/dev/null
            end

            """#
        }
    }
}
