import JSON
import ScaleProtocols

/// One input of libFuzzer: lines of HSL/1, read one by one.
///
/// A line that was read must be the same after it is written and read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    for line in bytes.split(separator: 0x0A) {
        guard let json = JSONTree(Array(line)) else { continue }
        precondition(!json.bytes.contains(0x0A), "a value contains a line break")
        precondition(JSONTree(json.bytes) == json, "a value changes when it is written and read again")
        guard let message = try? HSLMessage(line: Array(line)) else { continue }
        guard let again = try? HSLMessage(line: Array(message.bytes.dropLast())) else {
            preconditionFailure("a message cannot be read back")
        }
        precondition(again.bytes == message.bytes, "a message changes when it is written and read again")
    }
    return 0
}
