# Gives @TYPE@ from a text file; README.md says what the file looks like. A line that this prints is a record.
#
# Nothing is remembered from one start to the next: what the hub has already it calls a duplicate.
IFS= read -r first # {"instance":…,"settings":{…},…}
file=$(printf '%s\n' "$first" | jq -r .settings.file)
every=$(printf '%s\n' "$first" | jq -r .settings.every)

# The records of the lines after those that were read before, whose number is $1. The key of each is its time: the same line is the same
# record whenever it is read.
records() {
    # Of a person's values nothing belongs into the log. Versions of jq differ in how they write to stderr: awk does it.
@quantity|    jq -cR --argjson before "$1" 'select(test("\\S")) | (capture("^\\s*(?<start>\\S+)\\s+((?<end>\\S+)\\s+)?(?<value>-?[0-9]{1,15}([.][0-9]{1,15})?)\\s*$") // null)
@quantity|        | if . == null then "line \($before + input_line_number) is left out: it is not a reading"
@quantity|          else {type: "@TYPE@", value: (.value | tonumber), unit: "@UNIT@", start, key: .start} + (if .end then {"end": .end} else {} end) end' |
@category|    jq -cR --argjson before "$1" 'select(test("\\S")) | (capture("^\\s*(?<start>\\S+)\\s+((?<end>\\S+)\\s+)?(?<value>\\S+)\\s*$") // null)
@category|        | if . == null then "line \($before + input_line_number) is left out: it is not a reading"
@category|          else {type: "@TYPE@", value, start, key: .start} + (if .end then {"end": .end} else {} end) end' |
        awk '/^[{]/ { print; next } { gsub(/"/, ""); print | "cat >&2" }'
}

# Whole lines alone: the one that is being written waits.
look() {
    lines=0
    while :; do
        all=0
        [ -f "$file" ] && all=$(wc -l < "$file")
        [ "$all" -ge "$lines" ] || lines=0 # the file has been written once more, from its beginning
        [ "$all" -eq "$lines" ] || sed -n "$((lines + 1)),${all}p" "$file" | records "$lines"
        lines=$all
        sleep "$every" > /dev/null 2>&1
    done
}

look &
while IFS= read -r line; do
    case $line in
    '{"stop":'*) break ;;
    esac
done
kill $!
