import CMD5

/// The 32 hexadecimal digits of MD5 (RFC 1321), which the service published beside its exports.
func md5(_ bytes: [UInt8]) -> String {
    var digits = [CChar](repeating: 0, count: Int(MD5_DIGEST_LENGTH) * 2 + 1)
    MD5Data(bytes, bytes.count, &digits)
    return String(decoding: digits.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}
