import ScaleProtocols

/// One input of libFuzzer: the value of a characteristic, which the first byte chooses.
///
/// A value that was read must be the same after it is written and read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = bytes.first else { return 0 }
    let value = Array(bytes.dropFirst())
    switch first % 5 {
    case 0:
        if let weight = try? SIGWeight(value), let again = weight.bytes {
            precondition((try? SIGWeight(again)) == weight)
        }
    case 1: if let body = try? SIGBody(value), let again = body.bytes { precondition((try? SIGBody(again)) == body) }
    case 2:
        if let request = try? SIGUserRequest(value), let again = request.bytes {
            precondition((try? SIGUserRequest(again)) == request)
        }
    case 3:
        if let response = try? SIGUserResponse(value) {
            precondition((try? SIGUserResponse(response.bytes)) == response)
        }
    default:
        if let time = try? SIGCurrentTime(value), let again = time.bytes {
            precondition((try? SIGCurrentTime(again)) == time)
        }
    }
    return 0
}
