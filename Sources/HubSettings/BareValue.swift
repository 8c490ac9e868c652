/// Whether the bytes are a TOML value that stands without quotes or brackets: a number, a boolean, a date or a time.
///
/// The grammar of TOML 1.0; whether a number fits and a date exists is not decided here.
func isBareValue(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count <= 128, bytes.allSatisfy({ $0 < 0x80 }) else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    switch text {
    case "true", "false", "inf", "+inf", "-inf", "nan", "+nan", "-nan": return true
    default: break
    }
    let decimal = /[+\-]?(0|[1-9](_?[0-9])*)(\.[0-9](_?[0-9])*)?([eE][+\-]?[0-9](_?[0-9])*)?/
    let other = /0x[0-9A-Fa-f](_?[0-9A-Fa-f])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*/
    let time = /[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?/
    let date =
        /[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+\-][0-9]{2}:[0-9]{2})?)?/
    return text.wholeMatch(of: decimal) != nil || text.wholeMatch(of: other) != nil
        || text.wholeMatch(of: date) != nil || text.wholeMatch(of: time) != nil
}
