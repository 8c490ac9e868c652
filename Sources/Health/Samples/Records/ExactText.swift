import Glibc

extension String {
    /// Whether both strings have the same UTF-8 bytes.
    ///
    /// `==` also equates `é` with `e` plus a combining accent. A source may use them for different facts, and a look-up would return the
    /// wrong one.
    /// This calls the C library, because iterating over the bytes takes ten times as long, which is a tenth of an import's time.
    package func hasSameBytes(as other: String) -> Bool {
        let answer = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                UnsafeRawBufferPointer(left).hasSameBytes(as: UnsafeRawBufferPointer(right))
            }
        }
        return (answer ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// Whether the string contains only the characters from space to `~`.
    ///
    /// It checks each byte without a branch, so that the compiler can check several at a time.
    package var isPrintableASCII: Bool {
        func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            var isPlain = true
            for byte in bytes { isPlain = isPlain && byte &- 0x20 < 0x5F }
            return isPlain
        }
        return utf8.withContiguousStorageIfAvailable(isPlain) ?? utf8.allSatisfy { $0 &- 0x20 < 0x5F }
    }
}

extension String? {
    /// Whether both are absent or have the same bytes.
    package func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (let left?, let right?): left.hasSameBytes(as: right)
        case (nil, nil): true
        default: false
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both buffers have the same bytes.
    package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let baseAddress, let start = other.baseAddress else { return true }
        return memcmp(baseAddress, start, count) == 0
    }
}
