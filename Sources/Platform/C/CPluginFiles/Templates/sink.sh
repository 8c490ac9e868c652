# Writes each record of the type @TYPE@ into a file; README.md says how. A line that this prints is an answer.
#
# The program keeps no state: the hub knows which records were delivered, and repeats those without an answer.
IFS= read -r first # {"instance":…,"settings":{…},…}
folder=$(printf '%s\n' "$first" | jq -r .settings.folder)

# The file's name, made from the record's identity: the same for all its versions and its retraction.
file_of() {
    printf '%s\n' "$1" | jq -j '[.source.plugin, .source.device // "", .source.account // "", .key] | join("\n")' |
        sha256sum | cut -c1-32
}

# Writes the record into the folder, or removes it for a retraction; a repetition changes nothing.
store() {
    path=$folder/$(file_of "$1").json
    if [ "$(printf '%s\n' "$1" | jq -r .kind)" = retraction ]; then
        rm -f "$path"
    else
        printf '%s\n' "$1" > "$path.new" && sync "$path.new" && mv -f "$path.new" "$path"
    fi && sync "$folder"
}

while IFS= read -r line; do
    case $line in
    '{"delivery":'*) # {"delivery":7,"record":{…}}
        number=${line#*:} number=${number%%,*}
        record=${line#*'"record":'}
        if store "${record%\}}"; then
            printf '{"delivery":%s,"result":"delivered"}\n' "$number"
        else
            printf '{"delivery":%s,"result":"later","reason":"the folder cannot be written"}\n' "$number"
        fi ;;
    '{"stop":'*) exit 0 ;;
    esac
done
