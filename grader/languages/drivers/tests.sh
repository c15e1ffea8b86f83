run() {
    output=$("$@" 2>&1 < /dev/null)
    status=$?
    mapfile -t lines < <(grep . <<< "$output")
}
in_success() {
    if [[ $status == 0 ]]; then "$@"; else printf 'exit status %s' "$status"; fi
}
in_failure() {
    if [[ $status != 0 ]]; then "$@"; else printf 'exit status 0'; fi
}
status_of() { printf %s "$status"; }
output_of() { printf %s "$output"; }
any_output_of() { [[ -z $output ]] && printf no || printf yes; }
lines_of() { printf '\n%s\n.' "$output"; }
line_of() { printf %s "${lines[$1]}"; }
count_of() { printf %s "${#lines[@]}"; }
shown_for_tests() {
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//$'\n'/\\n}"
}
