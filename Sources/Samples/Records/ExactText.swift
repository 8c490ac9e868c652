import Glibc

extension String {
    /// Whether both are the same bytes of UTF-8.
    ///
    /// `==` also calls `é` and `e` with a combining accent the same, which are different facts of a source, and would hand back the wrong one.
    /// Compared by the C library: byte after byte through an iterator takes ten times as long, which is a tenth of an import's time.
    package func hasSameBytes(as other: String) -> Bool {
        let answer = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                UnsafeRawBufferPointer(left).hasSameBytes(as: UnsafeRawBufferPointer(right))
            }
        }
        return (answer ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// Whether it has nothing but the characters from space to `~`.
    ///
    /// Each byte is looked at, without a branch for each, so that several are at a time.
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
    /// Whether both are absent, or the same bytes.
    package func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (let left?, let right?): left.hasSameBytes(as: right)
        case (nil, nil): true
        default: false
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both have the same bytes.
    package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let baseAddress, let start = other.baseAddress else { return true }
        return memcmp(baseAddress, start, count) == 0
    }
}
