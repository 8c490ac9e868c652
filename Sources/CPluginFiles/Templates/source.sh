# Gives @TYPE@ from a text file; README.md says what the file looks like. A line that this prints is a record.
#
# Nothing is remembered from one start to the next: what the hub has already it calls a duplicate.
IFS= read -r first # {"instance":…,"settings":{…},…}
file=$(printf '%s\n' "$first" | jq -r .settings.file)
every=$(printf '%s\n' "$first" | jq -r .settings.every)

# The records of lines. The key of each is its time: the same line is the same record whenever it is read.
records() {
    # Of a person's values nothing belongs into the log.
@quantity|    jq -cR 'select(test("\\S")) | (capture("^\\s*(?<start>\\S+)\\s+((?<end>\\S+)\\s+)?(?<value>-?[0-9]{1,15}([.][0-9]{1,15})?)\\s*$") // null)
@quantity|        | if . == null then ("a line is left out: it is not a reading\n" | stderr | empty)
@quantity|          else {type: "@TYPE@", value: (.value | tonumber), unit: "@UNIT@", start, key: .start} + (if .end then {"end": .end} else {} end) end'
@category|    jq -cR 'select(test("\\S")) | (capture("^\\s*(?<start>\\S+)\\s+((?<end>\\S+)\\s+)?(?<value>\\S+)\\s*$") // null)
@category|        | if . == null then ("a line is left out: it is not a reading\n" | stderr | empty)
@category|          else {type: "@TYPE@", value, start, key: .start} + (if .end then {"end": .end} else {} end) end'
}

# Whole lines alone: the one that is being written waits.
look() {
    lines=0
    while :; do
        all=0
        [ -f "$file" ] && all=$(wc -l < "$file")
        [ "$all" -ge "$lines" ] || lines=0 # the file has been written once more, from its beginning
        [ "$all" -eq "$lines" ] || sed -n "$((lines + 1)),${all}p" "$file" | records
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
