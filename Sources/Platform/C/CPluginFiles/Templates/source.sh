# Gives @TYPE@ from a text file; README.md describes the file. A line that this prints is a record.
#
# The program keeps no state between starts: the hub answers `duplicate` for records that it already has.
IFS= read -r first # {"instance":…,"settings":{…},…}
file=$(printf '%s\n' "$first" | jq -r .settings.file)
every=$(printf '%s\n' "$first" | jq -r .settings.every)

# The records of the lines after the first $1, which were read before. The key of each is its time, so a line that is read again is the
# same record.
records() {
    # Never log a person's values. awk writes to stderr, because versions of jq differ in that.
@quantity|    jq -cR --argjson before "$1" 'select(test("\\S")) | (capture("^\\s*(?<start>\\S+)\\s+((?<end>\\S+)\\s+)?(?<value>-?[0-9]{1,15}([.][0-9]{1,15})?)\\s*$") // null)
@quantity|        | if . == null then "line \($before + input_line_number) is left out: it is not a reading"
@quantity|          else {type: "@TYPE@", value: (.value | tonumber), unit: "@UNIT@", start, key: .start} + (if .end then {"end": .end} else {} end) end' |
@category|    jq -cR --argjson before "$1" 'select(test("\\S")) | (capture("^\\s*(?<start>\\S+)\\s+((?<end>\\S+)\\s+)?(?<value>\\S+)\\s*$") // null)
@category|        | if . == null then "line \($before + input_line_number) is left out: it is not a reading"
@category|          else {type: "@TYPE@", value, start, key: .start} + (if .end then {"end": .end} else {} end) end' |
        awk '/^[{]/ { print; next } { gsub(/"/, ""); print | "cat >&2" }'
}

# Reads only whole lines: an unfinished line waits.
look() {
    lines=0
    while :; do
        all=0
        [ -f "$file" ] && all=$(wc -l < "$file")
        [ "$all" -ge "$lines" ] || lines=0 # the file was rewritten from its beginning
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
